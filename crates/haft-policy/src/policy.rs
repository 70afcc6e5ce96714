//! Several layers of config, each compiled to a policy of its own; the strictest verdict wins.
//! That is how a project file which nobody trusts yet can narrow and never widen.

use std::cell::LazyCell;
use std::path::PathBuf;

use haft_core::{Effects, ToolSpec};

use crate::bound::Bound;
use crate::call::Resolve;
use crate::config::PolicyConfig;
use crate::error::{PolicyError, did_you_mean};
use crate::judgement::RuleHit;
use crate::layer::CompiledLayer;
use crate::path::Places;
use crate::pattern::{Names, Reading};
use crate::programs;
use crate::who::{Layer, Who};

/// A rule in force, for `haft doctor`.
pub type RuleLine = RuleHit;

/// All layers, compiled. Immutable.
#[derive(Debug)]
pub struct Policy {
    layers: Vec<CompiledLayer>,
    places: Places,
    revision: String,
}

impl Policy {
    /// A broken layer is an error: there is no policy to run with then.
    pub fn compile(layers: Vec<Layer>, places: Places) -> Result<Policy, PolicyError> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("{places:?}").as_bytes());
        let mut compiled = Vec::new();
        for layer in &layers {
            hasher.update(format!("{layer:?}").as_bytes());
            compiled.push(CompiledLayer::compile(layer, &places)?);
        }
        if compiled.is_empty() {
            // No config at all still has the defaults.
            let layer = Layer {
                from: crate::profile::DEFAULTS.to_owned(),
                config: PolicyConfig::default(),
            };
            compiled.push(CompiledLayer::compile(&layer, &places)?);
        }
        Ok(Policy {
            layers: compiled,
            places,
            revision: hasher.finalize().to_hex().to_string(),
        })
    }

    /// A digest of everything compiled: an approval given under another one does not count.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// Whether every layer knows the profile that was asked for, and no agent or provider is
    /// misspelled. A caller without its profile is denied everything, so say it early; a misspelled
    /// agent would not be held to what the config says of it.
    pub fn check_who(&self, who: &Who) -> Result<(), PolicyError> {
        let agents = self.layers.iter().flat_map(CompiledLayer::agents);
        no_slip("agent", who.agent.as_deref(), agents)?;
        let providers = self.layers.iter().flat_map(CompiledLayer::providers);
        no_slip("provider", who.provider.as_deref(), providers)?;
        let Some(profile) = &who.profile else {
            return Ok(());
        };
        for layer in &self.layers {
            if !layer.profiles.contains_key(profile) {
                let known: Vec<&str> = layer.profiles.keys().map(String::as_str).collect();
                let hint = did_you_mean(profile, known.iter().copied())
                    .unwrap_or_else(|| format!("there are {}", known.join(", ")));
                return Err(
                    PolicyError::new(&layer.from, format!("unknown profile: `{profile}`"))
                        .hint(Some(hint)),
                );
            }
        }
        Ok(())
    }

    /// Files of the workspace whose content decides what the commands of these effects do.
    pub fn own_programs(&self, effects: &Effects, resolve: Resolve<'_>) -> Vec<PathBuf> {
        let places = &self.places;
        programs::own_programs(effects, &places.workspace, places.home.as_deref(), resolve)
    }

    /// Everything about one tool for one caller; do it once and keep it.
    pub fn bind(&self, tool: &ToolSpec, who: &Who) -> Bound {
        let layers = self
            .layers
            .iter()
            .map(|layer| layer.bind(tool, who, &self.places))
            .collect();
        Bound::new(tool, layers, self.places.home.clone())
    }

    /// Patterns that name none of these tools, one line each: a typo in a deny protects nothing.
    pub fn name_nothing<'a>(&self, tools: impl IntoIterator<Item = &'a ToolSpec>) -> Vec<String> {
        // Most configs have no pattern at all.
        let known: LazyCell<Vec<Names>, _> =
            LazyCell::new(|| tools.into_iter().map(Names::of).collect());
        let mut lines: Vec<String> = Vec::new();
        for layer in &self.layers {
            for (place, pattern) in layer.patterns() {
                let names_one = |names: &Names| pattern.matches(names, Reading::Loose);
                if pattern.is_about_guests() || known.iter().any(names_one) {
                    continue;
                }
                let names = known.iter().flat_map(Names::iter);
                let hint = did_you_mean(&pattern.text, names)
                    .map_or_else(String::new, |hint| format!("; {hint}"));
                let line = format!(
                    "`{}` under `{place}` ({}) names no tool{hint}",
                    pattern.text, layer.from
                );
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        lines
    }

    /// What is in force for this caller, in the order in which it is looked at.
    pub fn rules_in_force(&self, who: &Who) -> Vec<RuleLine> {
        let mut lines: Vec<RuleLine> = Vec::new();
        let level = self.layers.first().map(|first| first.level_for(who).0);
        for (at, layer) in self.layers.iter().enumerate() {
            // What a further layer opens opens nothing, because the strictest counts.
            let looser = at > 0 && Some(layer.level_for(who).0) >= level;
            for line in layer.in_force(who) {
                let opens = match line.effect.as_str() {
                    "allow" | "log" | "silent" => at > 0,
                    "level" => looser,
                    _ => false,
                };
                let same =
                    |other: &RuleLine| other.rule == line.rule && other.effect == line.effect;
                if !opens && !lines.iter().any(same) {
                    lines.push(line);
                }
            }
        }
        lines
    }
}

/// A name that the config does not have is held to what holds for all; but one that is nearly
/// another's is a slip of the pen.
fn no_slip<'a>(
    what: &str,
    name: Option<&str>,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), PolicyError> {
    let names: Vec<&str> = names.collect();
    let Some(name) = name.filter(|name| !names.contains(name)) else {
        return Ok(());
    };
    match did_you_mean(name, names) {
        None => Ok(()),
        hint => Err(PolicyError::new("config", format!("unknown {what}: `{name}`")).hint(hint)),
    }
}
