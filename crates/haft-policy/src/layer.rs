//! One layer of config, compiled, and what it makes of one tool for one caller.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use haft_core::{Identity, Repeat, Risk, Source, ToolSpec};

use crate::binding::LayerBound;
use crate::config::{Autonomy, ToolPolicy, ToolPolicyChanges};
use crate::constraint::ModuleRules;
use crate::error::{PolicyError, did_you_mean};
use crate::judgement::{HookAction, RuleHit, Verdict};
use crate::path::Places;
use crate::pattern::{Groups, Names, Reading, ToolPattern, first_match};
use crate::profile::{self, DEFAULT_PROFILE, DEFAULTS, Profile};
use crate::rule::{Reader, Rule};
use crate::who::{Layer, Who};

/// Where things chosen on the command line say they come from.
const FLAGS: &str = "flags";
/// Where "always" rules say they come from.
const REMEMBERED: &str = "remembered";

#[derive(Debug)]
pub(crate) struct CompiledLayer {
    pub(crate) from: String,
    pub(crate) profiles: BTreeMap<String, Profile>,
    profile: Option<String>,
    allow: Vec<ToolPattern>,
    deny: Vec<ToolPattern>,
    /// Loudest first
    hooks: [(HookAction, Vec<ToolPattern>); 3],
    autonomy: Option<Autonomy>,
    rules: Arc<[Rule]>,
    agents: BTreeMap<String, Agent>,
    providers: BTreeMap<String, Provider>,
    modules: Vec<Arc<ModuleRules>>,
}

#[derive(Debug)]
struct Agent {
    profile: Option<String>,
    allow: Vec<ToolPattern>,
    deny: Vec<ToolPattern>,
    autonomy: Option<Autonomy>,
}

#[derive(Debug)]
struct Provider {
    allow: Option<Vec<ToolPattern>>,
    deny: Vec<ToolPattern>,
}

impl CompiledLayer {
    pub(crate) fn compile(layer: &Layer, places: &Places) -> Result<Self, PolicyError> {
        let from = layer.from.as_str();
        let tools = &layer.config.tools;
        let groups = Groups::new(&tools.groups, from)?;
        let list = |texts: &[String]| profile::patterns(texts, &groups, from);
        let profiles = profile::compile(&tools.profiles, &groups, from)?;
        let known = |name: &Option<String>| check_profile(name.as_deref(), &profiles, from);
        known(&tools.policy)?;

        let mut agents = BTreeMap::new();
        for (name, config) in &layer.config.agents {
            let changes = match &config.tool_policy {
                None => ToolPolicyChanges::default(),
                Some(ToolPolicy::Changes(changes)) => changes.clone(),
                Some(ToolPolicy::Profile(profile)) => ToolPolicyChanges {
                    profile: Some(profile.clone()),
                    ..ToolPolicyChanges::default()
                },
            };
            known(&changes.profile)?;
            let agent = Agent {
                allow: list(&changes.allow)?,
                deny: list(&changes.deny)?,
                profile: changes.profile,
                autonomy: config.autonomy,
            };
            agents.insert(name.clone(), agent);
        }
        let mut providers = BTreeMap::new();
        for (name, config) in &layer.config.providers {
            let provider = Provider {
                allow: config.allow.as_deref().map(list).transpose()?,
                deny: list(&config.deny)?,
            };
            providers.insert(name.clone(), provider);
        }
        let modules = tools
            .modules
            .iter()
            .map(|(key, module)| {
                ModuleRules::compile(key, &module.constraints, places, from).map(Arc::new)
            })
            .collect::<Result<_, _>>()?;
        let hooks = [
            (HookAction::Confirm, list(&tools.hooks.confirm)?),
            (HookAction::Log, list(&tools.hooks.log)?),
            (HookAction::Silent, list(&tools.hooks.silent)?),
        ];
        Ok(CompiledLayer {
            from: from.to_owned(),
            profile: tools.policy.clone(),
            allow: list(&tools.allow)?,
            deny: list(&tools.deny)?,
            hooks,
            autonomy: tools.autonomy,
            rules: rules(layer, &groups, places)?,
            agents,
            providers,
            modules,
            profiles,
        })
    }

    /// The profile's name in this layer for this caller, and who chose it.
    fn profile_for<'a>(&'a self, who: &'a Who) -> (&'a str, &'a str) {
        if let Some(name) = &who.profile {
            return (name, FLAGS);
        }
        let agent = self.agent(who).and_then(|agent| agent.profile.as_deref());
        match agent.or(self.profile.as_deref()) {
            Some(name) => (name, &self.from),
            None => (DEFAULT_PROFILE, DEFAULTS),
        }
    }

    pub(crate) fn agents(&self) -> impl Iterator<Item = &str> {
        self.agents.keys().map(String::as_str)
    }

    pub(crate) fn providers(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    pub(crate) fn level_for<'a>(&'a self, who: &Who) -> (Autonomy, &'a str) {
        let agent = self.agent(who).and_then(|agent| agent.autonomy);
        match (who.autonomy, agent.or(self.autonomy)) {
            (Some(level), _) => (level, FLAGS),
            (None, Some(level)) => (level, &self.from),
            (None, None) => (Autonomy::default(), DEFAULTS),
        }
    }

    fn agent(&self, who: &Who) -> Option<&Agent> {
        who.agent.as_ref().and_then(|name| self.agents.get(name))
    }

    fn provider(&self, who: &Who) -> Option<&Provider> {
        who.provider
            .as_ref()
            .and_then(|name| self.providers.get(name))
    }

    pub(crate) fn bind(&self, tool: &ToolSpec, who: &Who, places: &Places) -> LayerBound {
        let names = Names::of(tool);
        let named: Vec<bool> = self
            .rules
            .iter()
            .map(|rule| {
                let reading = match rule.effect {
                    Verdict::Allow => Reading::Exact,
                    Verdict::Ask | Verdict::Deny => Reading::Loose,
                };
                rule.tool.matches(&names, reading)
            })
            .collect();
        let modules: Vec<_> = self
            .modules
            .iter()
            .filter(|module| who.identity == Identity::Agent && module.bind(tool))
            .cloned()
            .collect();
        let mut denied = self.denied(tool, &names, who);
        for module in &modules {
            if let Some(constraint) = module.refuses(tool) {
                let rule = module.rule(constraint);
                denied.push(RuleHit::new(rule, self.from.as_str(), Verdict::Deny));
            }
        }
        let bare = |effect: Verdict| {
            self.rules
                .iter()
                .zip(&named)
                .filter(|(rule, named)| **named && rule.effect == effect && rule.argument.is_none())
                .map(|(rule, _)| rule.hit())
                .collect::<Vec<_>>()
        };
        denied.extend(bare(Verdict::Deny));
        let granted = match self.granted(tool, &names, who) {
            Ok(hits) => hits,
            Err(hit) => {
                denied.push(hit);
                Vec::new()
            }
        };
        let (level, level_from) = self.level_for(who);
        let outside = matches!(tool.source, Source::Mcp(_) | Source::Node(_));
        LayerBound {
            from: self.from.as_str().into(),
            denied,
            granted,
            hook: self.hook(&names),
            level,
            level_from: level_from.into(),
            always_asks: bare(Verdict::Ask),
            whole_tool: bare(Verdict::Allow).into_iter().next(),
            rules: self.rules.clone(),
            named: named.into(),
            modules,
            reads_only: tool.repeat == Repeat::Read || tool.is_meta(),
            dangerous: tool.risk == Risk::High || (outside && tool.repeat != Repeat::Read),
            workspace: places.workspace.as_path().into(),
            own: places.own.clone(),
        }
    }

    /// Everything that takes the tool away, whatever allows it.
    fn denied(&self, tool: &ToolSpec, names: &Names, who: &Who) -> Vec<RuleHit> {
        let mut denied = Vec::new();
        let mut look = |patterns: &[ToolPattern], place: Place<'_>, from: &str| {
            if let Some(pattern) = first_match(patterns, names, Reading::Loose) {
                let rule = format!("{place}: deny {}", pattern.text);
                denied.push(RuleHit::new(rule, from, Verdict::Deny));
            }
        };
        let (name, _) = self.profile_for(who);
        look(&self.deny, Place::Tools, &self.from);
        if let Some(profile) = self.profiles.get(name) {
            look(&profile.deny, Place::Profile(name), &profile.from);
        }
        if let (Some(agent), Some(name)) = (self.agent(who), &who.agent) {
            look(&agent.deny, Place::Agent(name), &self.from);
        }
        if let (Some(provider), Some(name)) = (self.provider(who), &who.provider) {
            look(&provider.deny, Place::Provider(name), &self.from);
            let outside = provider
                .allow
                .as_ref()
                .is_some_and(|allow| first_match(allow, names, Reading::Exact).is_none());
            if outside {
                let rule = format!("provider {name}: allow does not list {}", tool.name);
                denied.push(RuleHit::new(rule, self.from.as_str(), Verdict::Deny));
            }
        }
        denied
    }

    /// What lets the tool in, or the profile that leaves it out.
    fn granted(&self, tool: &ToolSpec, names: &Names, who: &Who) -> Result<Vec<RuleHit>, RuleHit> {
        let (name, chosen) = self.profile_for(who);
        let Some(profile) = self.profiles.get(name) else {
            let rule = format!("unknown profile {name}");
            return Err(RuleHit::new(rule, chosen, Verdict::Deny));
        };
        let allowed = |patterns: &[ToolPattern], place: Place<'_>, from: &str| {
            first_match(patterns, names, Reading::Exact).map(|pattern| {
                let rule = format!("{place}: allow {}", pattern.text);
                RuleHit::new(rule, from, Verdict::Allow)
            })
        };
        let by_agent = self.agent(who).zip(who.agent.as_ref());
        let hits: Vec<RuleHit> = [
            allowed(&profile.allow, Place::Profile(name), &profile.from),
            allowed(&self.allow, Place::Tools, &self.from),
            by_agent
                .and_then(|(agent, name)| allowed(&agent.allow, Place::Agent(name), &self.from)),
            tool.always_include
                .then(|| RuleHit::new("always included", DEFAULTS, Verdict::Allow)),
        ]
        .into_iter()
        .flatten()
        .collect();
        if hits.is_empty() {
            let rule = format!("profile {name}: allow does not list {}", tool.name);
            let from = if chosen == FLAGS {
                FLAGS
            } else {
                &profile.from
            };
            return Err(RuleHit::new(rule, from, Verdict::Deny));
        }
        Ok(hits)
    }

    fn hook(&self, names: &Names) -> (HookAction, Option<RuleHit>) {
        for (action, patterns) in &self.hooks {
            if let Some(pattern) = first_match(patterns, names, Reading::Loose) {
                let rule = format!("hooks.{}: {}", action.as_str(), pattern.text);
                let effect = match action {
                    HookAction::Deny => Verdict::Deny,
                    HookAction::Confirm => Verdict::Ask,
                    HookAction::Log | HookAction::Silent => Verdict::Allow,
                };
                return (
                    *action,
                    Some(RuleHit::new(rule, self.from.as_str(), effect)),
                );
            }
        }
        (HookAction::Silent, None)
    }

    /// Every pattern that names tools, with the place it stands in. What is built in names tools
    /// that may not be there.
    pub(crate) fn patterns(&self) -> Vec<(String, &ToolPattern)> {
        let mut found = Vec::new();
        let mut list = |place: String, patterns| {
            let patterns: &[ToolPattern] = patterns;
            found.extend(patterns.iter().map(|pattern| (place.clone(), pattern)));
        };
        list("tools.allow".to_owned(), &self.allow);
        list("tools.deny".to_owned(), &self.deny);
        for (action, patterns) in &self.hooks {
            list(format!("tools.hooks.{}", action.as_str()), patterns);
        }
        for (name, profile) in self.profiles.iter().filter(|(_, one)| one.from != DEFAULTS) {
            list(format!("tools.profiles.{name}"), &profile.allow);
            list(format!("tools.profiles.{name}"), &profile.deny);
        }
        for (name, agent) in &self.agents {
            list(format!("agents.{name}"), &agent.allow);
            list(format!("agents.{name}"), &agent.deny);
        }
        for (name, provider) in &self.providers {
            list(
                format!("providers.{name}"),
                provider.allow.as_deref().unwrap_or_default(),
            );
            list(format!("providers.{name}"), &provider.deny);
        }
        for rule in self.rules.iter().filter(|rule| rule.from == self.from) {
            let place = format!("tools.rules.{}", rule.effect);
            list(place, std::slice::from_ref(&rule.tool));
        }
        found
    }

    /// Everything that this layer says about this caller's calls, one line each.
    pub(crate) fn in_force(&self, who: &Who) -> Vec<RuleHit> {
        let mut lines = Vec::new();
        let mut line = |rule: String, from: &str, effect: &str| {
            lines.push(RuleHit {
                rule,
                from: from.to_owned(),
                effect: effect.to_owned(),
            });
        };
        let (name, chosen) = self.profile_for(who);
        line(format!("profile {name}"), chosen, "profile");
        let mut list = |place: &str, from: &str, effect: &str, patterns: &[ToolPattern]| {
            for pattern in patterns {
                line(format!("{place}: {effect} {}", pattern.text), from, effect);
            }
        };
        if let Some(profile) = self.profiles.get(name) {
            list(
                &format!("profile {name}"),
                &profile.from,
                "allow",
                &profile.allow,
            );
            list(
                &format!("profile {name}"),
                &profile.from,
                "deny",
                &profile.deny,
            );
        }
        list("tools", &self.from, "allow", &self.allow);
        list("tools", &self.from, "deny", &self.deny);
        if let (Some(agent), Some(name)) = (self.agent(who), &who.agent) {
            list(&format!("agent {name}"), &self.from, "allow", &agent.allow);
            list(&format!("agent {name}"), &self.from, "deny", &agent.deny);
        }
        if let (Some(provider), Some(name)) = (self.provider(who), &who.provider) {
            let allow = provider.allow.as_deref().unwrap_or_default();
            list(&format!("provider {name}"), &self.from, "allow", allow);
            list(
                &format!("provider {name}"),
                &self.from,
                "deny",
                &provider.deny,
            );
        }
        for (action, patterns) in &self.hooks {
            list("hooks", &self.from, action.as_str(), patterns);
        }
        if who.identity == Identity::Agent {
            for module in &self.modules {
                lines.extend(module.keys().map(|key| RuleHit {
                    rule: module.rule(key),
                    from: self.from.clone(),
                    effect: "constraint".to_owned(),
                }));
            }
        }
        lines.extend(self.rules.iter().map(|rule| rule.hit()));
        let (level, from) = self.level_for(who);
        lines.push(RuleHit {
            rule: format!("autonomy {level}"),
            from: from.to_owned(),
            effect: "level".to_owned(),
        });
        lines
    }
}

/// Where a list of patterns stands in the config; put into words only when one of them matched.
#[derive(Clone, Copy)]
enum Place<'a> {
    Tools,
    Profile(&'a str),
    Agent(&'a str),
    Provider(&'a str),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Tools => f.write_str("tools"),
            Place::Profile(name) => write!(f, "profile {name}"),
            Place::Agent(name) => write!(f, "agent {name}"),
            Place::Provider(name) => write!(f, "provider {name}"),
        }
    }
}

fn rules(layer: &Layer, groups: &Groups, places: &Places) -> Result<Arc<[Rule]>, PolicyError> {
    let reader = Reader { groups, places };
    let given = &layer.config.tools.rules;
    let lists = [
        (&given.deny, layer.from.as_str(), Verdict::Deny),
        (&given.ask, layer.from.as_str(), Verdict::Ask),
        (&given.allow, layer.from.as_str(), Verdict::Allow),
        (&layer.config.remembered, REMEMBERED, Verdict::Allow),
    ];
    let mut rules = Vec::new();
    for (texts, from, effect) in lists {
        for text in texts {
            rules.push(reader.rule(text, from, effect)?);
        }
    }
    Ok(rules.into())
}

fn check_profile(
    name: Option<&str>,
    profiles: &BTreeMap<String, Profile>,
    from: &str,
) -> Result<(), PolicyError> {
    match name {
        Some(name) if !profiles.contains_key(name) => {
            Err(PolicyError::new(from, format!("unknown profile: `{name}`"))
                .about(name)
                .hint(did_you_mean(name, profiles.keys().map(String::as_str))))
        }
        _ => Ok(()),
    }
}
