//! One tool for one caller, with everything settled that does not depend on the arguments; and
//! the judgement of one call. deny > ask > allow, and the strictest layer wins.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_core::{Access, Capability, ClosedPaths, Effects, Repeat, Risk, Source, ToolSpec};

use crate::binding::{LayerBound, Subject};
use crate::call::CallFacts;
use crate::closed::Closed;
use crate::config::Autonomy;
use crate::coverage::Coverage;
use crate::judgement::{Decision, HookAction, Judgement, RuleHit, Verdict};
use crate::profile::DEFAULTS;
use crate::remember;

/// What policy says about one tool for one caller. Listing needs only `visible`; judgements that
/// do not depend on arguments are made when they are first asked for.
#[derive(Debug)]
pub struct Bound {
    subject: Subject,
    layers: Vec<LayerBound>,
    visible: bool,
    /// It has the means to run commands, and more to do with them than reading or tidying up
    runs_commands: bool,
    /// Some rule or constraint looks at paths
    minds_paths: bool,
    /// What `~` stands for
    home: Option<PathBuf>,
    /// Before arguments are known
    tool: OnceLock<Judgement>,
    /// Of a call that touches nothing, and of one that may touch anything
    nothing: OnceLock<Judgement>,
    anything: OnceLock<Judgement>,
    closed: OnceLock<Option<Arc<Closed>>>,
}

impl Bound {
    pub(crate) fn new(spec: &ToolSpec, layers: Vec<LayerBound>, home: Option<PathBuf>) -> Self {
        Bound {
            subject: Subject {
                name: spec.name.clone(),
                built_in: spec.source == Source::Builtin,
                requires_approval: spec.requires_approval,
                redefined: spec.redefined,
            },
            visible: layers.iter().all(|layer| layer.denied.is_empty()),
            runs_commands: spec.capabilities.contains(&Capability::ShellExec)
                && spec.repeat != Repeat::Read
                && spec.risk != Risk::Low,
            minds_paths: layers.iter().any(LayerBound::minds_paths),
            layers,
            home,
            tool: OnceLock::new(),
            nothing: OnceLock::new(),
            anything: OnceLock::new(),
            closed: OnceLock::new(),
        }
    }

    /// Whether the caller may know of the tool at all.
    pub fn visible(&self) -> bool {
        self.visible
    }

    /// The same call, refused by something else than a rule.
    pub fn refused(&self, by: &str, reason: String) -> Judgement {
        Judgement {
            verdict: Verdict::Deny,
            rules: vec![RuleHit::new(by, DEFAULTS, Verdict::Deny)],
            remember: None,
            decision: Decision {
                action: HookAction::Deny,
                overridden: true,
                reason: reason.clone(),
                level: self.tool_verdict().decision.level,
            },
            reason,
        }
    }

    /// The same call, asked about because it may read keys in this place and nothing hides them.
    pub fn exposing(&self, judgement: &Judgement, place: &Path) -> Judgement {
        let mut asked = judgement.clone();
        asked.reason = format!(
            "it may read keys or passwords in `{}`, and no sandbox hides them from it",
            place.display()
        );
        asked.verdict = asked.verdict.max(Verdict::Ask);
        let hit = RuleHit::new("protected name", DEFAULTS, Verdict::Ask);
        asked.rules.push(hit);
        asked.remember = None;
        asked.decision = Decision {
            action: asked.decision.action.max(HookAction::Confirm),
            overridden: asked.decision.action < HookAction::Confirm,
            reason: asked.reason.clone(),
            level: asked.decision.level,
        };
        asked
    }

    /// The folders in which the commands of a call read whatever they come upon.
    pub fn walked(
        &self,
        effects: &Effects,
        resolve: &dyn Fn(&Path, &str) -> PathBuf,
    ) -> Vec<PathBuf> {
        if effects.commands.is_empty() {
            return Vec::new();
        }
        CallFacts::new(effects, resolve, self.home.as_deref()).walked()
    }

    /// The judgement before arguments are known.
    pub fn tool_verdict(&self) -> &Judgement {
        self.tool
            .get_or_init(|| self.unseen(&Effects::none(), self.runs_commands))
    }

    fn nothing(&self) -> &Judgement {
        self.nothing
            .get_or_init(|| self.unseen(&Effects::none(), false))
    }

    fn anything(&self) -> &Judgement {
        self.anything
            .get_or_init(|| self.unseen(&Effects::anything(), false))
    }

    /// A judgement for which no path has to be looked up.
    fn unseen(&self, effects: &Effects, commands_expected: bool) -> Judgement {
        let unresolved = |_: &Path, path: &str| PathBuf::from(path);
        let call = CallFacts::new(effects, &unresolved, None);
        self.strictest(&call, commands_expected)
    }

    fn strictest(&self, call: &CallFacts<'_>, commands_expected: bool) -> Judgement {
        let judged = |layer: &LayerBound| layer.judge(&self.subject, call, commands_expected);
        strictest(self.layers.iter().map(judged).collect())
    }

    /// The paths that rules deny, for whoever opens files that no effect names.
    pub fn closed(&self) -> Option<Arc<dyn ClosedPaths>> {
        if !self.minds_paths {
            return None;
        }
        let closed = self
            .closed
            .get_or_init(|| Closed::of(&self.layers).map(Arc::new));
        closed.clone().map(|closed| closed as _)
    }

    /// The judgement of one call. `resolve` turns a path as the shell would read it, in a folder,
    /// into the absolute path it means, links resolved.
    pub fn judge(
        &self,
        effects: &Effects,
        resolve: &dyn Fn(&Path, &str) -> PathBuf,
    ) -> Cow<'_, Judgement> {
        if !self.visible {
            return Cow::Borrowed(self.tool_verdict());
        }
        if effects.commands.is_empty() && !effects.only_looks {
            let settled = if effects.anything {
                self.anything()
            } else {
                self.nothing()
            };
            let rememberable = settled.verdict == Verdict::Ask;
            let protected = |access: &Access| access.resource.as_protected().is_some();
            let minds = self.minds_paths || effects.accesses.iter().any(protected);
            if effects.accesses.is_empty() || (!minds && !rememberable) {
                return Cow::Borrowed(settled);
            }
        }
        let call = CallFacts::new(effects, resolve, self.home.as_deref());
        Cow::Owned(self.strictest(&call, false))
    }
}

/// Invariant: there is always a layer, so this never falls back; if it did, it would deny.
fn strictest(judgements: Vec<Judgement>) -> Judgement {
    Judgement::strictest(judgements).unwrap_or_else(|| Judgement {
        verdict: Verdict::Deny,
        rules: Vec::new(),
        reason: "there is no policy".to_owned(),
        remember: None,
        decision: Decision {
            action: HookAction::Deny,
            overridden: false,
            reason: "there is no policy".to_owned(),
            level: Autonomy::Supervised,
        },
    })
}

/// Rules were made for what a tool was: none of them speaks for what it has become.
fn redefined(subject: &Subject) -> Option<(RuleHit, String)> {
    subject.redefined.then(|| {
        let hit = RuleHit::new("changed definition", DEFAULTS, Verdict::Ask);
        let reason = format!("`{}` is not what was agreed to", subject.name);
        (hit, reason)
    })
}

/// One thing that asks, and whether saying "always" could settle it.
struct Asks {
    hit: RuleHit,
    reason: String,
    can_be_remembered: bool,
}

impl LayerBound {
    /// `commands_expected` stands for a call whose command is not known yet.
    fn judge(&self, subject: &Subject, call: &CallFacts<'_>, commands_expected: bool) -> Judgement {
        let mut denies = self.denied.clone();
        if denies.is_empty() {
            denies = self.closed(call, Verdict::Deny);
            denies.extend(self.constrained(call));
            denies.extend(self.own_places(call));
            denies.extend(call.classics(Verdict::Deny));
            if let Some(limit) = call.over() {
                denies.push(RuleHit::new(limit, DEFAULTS, Verdict::Deny));
            }
        }
        if let Some(first) = denies.first() {
            let reason = format!("denied by `{}` ({})", first.rule, first.from);
            return Judgement {
                verdict: Verdict::Deny,
                rules: denies,
                remember: None,
                decision: Decision {
                    action: HookAction::Deny,
                    overridden: true,
                    reason: reason.clone(),
                    level: self.level,
                },
                reason,
            };
        }
        let coverage = self.coverage(call, commands_expected);
        let asks = self.asks(subject, call, &coverage, commands_expected);
        let decision = self.decision(asks.first());
        let mut rules = self.granted.clone();
        if let Coverage::Full(hits) = &coverage {
            rules.extend(hits.iter().cloned());
        }
        let Some(first) = asks.first() else {
            let reason = match rules.last() {
                Some(hit) => format!("allowed by `{}` ({})", hit.rule, hit.from),
                None => "nothing stands against it".to_owned(),
            };
            rules.extend(self.hook.1.clone());
            return Judgement {
                verdict: Verdict::Allow,
                rules,
                reason,
                remember: None,
                decision,
            };
        };
        let remember = asks.iter().all(|ask| ask.can_be_remembered);
        let reason = first.reason.clone();
        rules.extend(asks.into_iter().map(|ask| ask.hit));
        Judgement {
            verdict: Verdict::Ask,
            rules,
            reason,
            remember: remember
                .then(|| remember::rule(subject, call, &self.workspace))
                .flatten(),
            decision,
        }
    }

    fn asks(
        &self,
        subject: &Subject,
        call: &CallFacts<'_>,
        coverage: &Coverage,
        commands_expected: bool,
    ) -> Vec<Asks> {
        let mut asks = Vec::new();
        let mut ask = |hit: RuleHit, reason: String, can_be_remembered: bool| {
            asks.push(Asks {
                hit,
                reason,
                can_be_remembered,
            });
        };
        if let (HookAction::Confirm, Some(hit)) = &self.hook {
            ask(hit.clone(), format!("`{}` ({})", hit.rule, hit.from), false);
        }
        for hit in self
            .always_asks
            .iter()
            .cloned()
            .chain(self.closed(call, Verdict::Ask))
        {
            let reason = format!("asked by `{}` ({})", hit.rule, hit.from);
            ask(hit, reason, false);
        }
        for path in call
            .accesses()
            .filter_map(|access| access.resource.as_protected())
        {
            let hit = RuleHit::new("protected name", DEFAULTS, Verdict::Ask);
            ask(hit, format!("`{path}` is a protected name"), false);
        }
        for shown in self.protected(call) {
            let hit = RuleHit::new("protected name", DEFAULTS, Verdict::Ask);
            let reason = format!("`{shown}` is or finds a protected name");
            ask(hit, reason, false);
        }
        if let Some(word) = self.may_find_own(call) {
            let hit = RuleHit::new("haft's own files", DEFAULTS, Verdict::Ask);
            ask(hit, format!("`{word}` may find haft's own files"), false);
        }
        for hit in call.classics(Verdict::Ask) {
            let reason = format!("asked by `{}`", hit.rule);
            ask(hit, reason, false);
        }
        if let Some((hit, reason)) = redefined(subject) {
            ask(hit, reason, false);
        }
        let looks = call.effects.changes_nothing();
        let level = || {
            let rule = format!("autonomy {}", self.level);
            RuleHit::new(rule, &*self.level_from, Verdict::Ask)
        };
        if self.level == Autonomy::Supervised && !self.reads_only && !looks {
            let reason = "autonomy `supervised` confirms every effect".to_owned();
            ask(level(), reason, false);
        }
        let covered = matches!(coverage, Coverage::Full(_));
        if let Coverage::Missing(why) = coverage {
            let hit = RuleHit::new("no allow rule matches", DEFAULTS, Verdict::Ask);
            ask(hit, why.clone(), true);
        } else if commands_expected && !covered {
            let hit = RuleHit::new("no allow rule matches", DEFAULTS, Verdict::Ask);
            let why = "a command that no rule allows is asked about";
            ask(hit, why.to_owned(), true);
        }
        if self.level == Autonomy::Standard && self.dangerous && !looks && !covered {
            let reason = format!("autonomy `standard` confirms `{}`", subject.name);
            ask(level(), reason, true);
        }
        if subject.requires_approval && !covered {
            let hit = RuleHit::new("requires approval", DEFAULTS, Verdict::Ask);
            ask(hit, format!("`{}` requires approval", subject.name), true);
        }
        asks
    }

    /// Hooks, level and rules as one decision.
    fn decision(&self, asked: Option<&Asks>) -> Decision {
        let (action, overridden, reason) = match (asked, &self.hook) {
            (Some(ask), (hook, _)) => (
                HookAction::Confirm,
                *hook != HookAction::Confirm,
                ask.reason.clone(),
            ),
            (None, (hook, Some(hit))) => (*hook, false, format!("`{}` ({})", hit.rule, hit.from)),
            (None, (hook, None)) => (*hook, false, "no hook matches".to_owned()),
        };
        Decision {
            action,
            overridden,
            reason,
            level: self.level,
        }
    }
}
