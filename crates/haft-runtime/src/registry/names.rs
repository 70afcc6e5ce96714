//! The reverse maps from every accepted name to a tool.

use foldhash::HashMap;
use haft_core::{Source, ToolSpec, api_name, module_aliases};

use super::RegisterError;

/// Longest name a tool may have.
const MAX_NAME: usize = 256;

#[derive(Default, Clone)]
pub(super) struct Names {
    canonical: HashMap<Box<str>, usize>,
    alias: HashMap<Box<str>, usize>,
    api: HashMap<Box<str>, usize>,
    /// Lower case; none where two tools would fit
    folded: HashMap<Box<str>, Option<usize>>,
}

/// A name may hold anything printable but spaces; it must not be empty or endless.
pub(super) fn acceptable(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME
        && name.chars().all(|c| !c.is_control() && !c.is_whitespace())
}

/// What a tool answers to besides its name: its own aliases, the documents' word for its module,
/// the API forms of both, and the two other spellings of an MCP name.
pub(super) fn aliases_of(spec: &ToolSpec) -> Vec<String> {
    let mut aliases = spec.aliases.clone();
    aliases
        .extend(module_aliases(&spec.module).map(|module| format!("{module}.{}", spec.action())));
    let api_forms: Vec<String> = aliases
        .iter()
        .filter(|alias| alias.contains('.'))
        .map(|alias| api_name(alias, 0))
        .collect();
    aliases.extend(api_forms);
    if let Source::Mcp(server) = &spec.source
        && let Some(tool) = spec
            .name
            .strip_prefix("mcp.")
            .and_then(|rest| rest.strip_prefix(server.as_str()))
    {
        let tool = tool.trim_start_matches('.');
        aliases.push(format!("mcp__{server}__{tool}"));
        aliases.push(format!("mcp:{server}:{tool}"));
    }
    aliases
}

impl Names {
    pub(super) fn canonical(&self, name: &str) -> Option<usize> {
        self.canonical.get(name).copied()
    }

    pub(super) fn api(&self, name: &str) -> Option<usize> {
        self.api.get(name).copied()
    }

    pub(super) fn resolve(&self, name: &str) -> Option<usize> {
        self.canonical
            .get(name)
            .or_else(|| self.alias.get(name))
            .or_else(|| self.api.get(name))
            .copied()
            .or_else(|| {
                self.folded
                    .get(name.to_lowercase().as_str())
                    .copied()
                    .flatten()
            })
            .or_else(|| self.canonical(&name.replacen('_', ".", 1)))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&str, usize)> {
        self.canonical
            .iter()
            .chain(&self.alias)
            .map(|(name, index)| (&**name, *index))
    }

    /// Enter a tool's names and answer with its API name, which nobody else has.
    pub(super) fn claim(
        &mut self,
        name: &str,
        aliases: &[String],
        index: usize,
        name_of: impl Fn(usize) -> String,
    ) -> Result<String, RegisterError> {
        if self.canonical.contains_key(name) {
            return Err(RegisterError::NameTaken(name.to_owned()));
        }
        for alias in aliases {
            if let Some(&other) = self.alias.get(alias.as_str()) {
                return Err(RegisterError::AliasTaken {
                    alias: alias.clone(),
                    tool: name.to_owned(),
                    other: name_of(other),
                });
            }
        }
        let api = (0..)
            .map(|salt| api_name(name, salt))
            .find(|api| !self.api.contains_key(api.as_str()))
            .unwrap_or_else(|| name.to_owned());
        self.canonical.insert(name.into(), index);
        self.api.insert(api.as_str().into(), index);
        for alias in aliases {
            self.alias.insert(alias.as_str().into(), index);
        }
        for spelling in aliases
            .iter()
            .map(String::as_str)
            .chain([name, api.as_str()])
        {
            self.folded
                .entry(spelling.to_lowercase().into())
                .and_modify(|seen| *seen = seen.filter(|&other| other == index))
                .or_insert(Some(index));
        }
        Ok(api)
    }

    /// Take a tool's names out; those behind it move up.
    pub(super) fn forget(&mut self, gone: usize) {
        let shift = |index: &mut usize| {
            let keep = *index != gone;
            if *index > gone {
                *index -= 1;
            }
            keep
        };
        self.canonical.retain(|_, index| shift(index));
        self.alias.retain(|_, index| shift(index));
        self.api.retain(|_, index| shift(index));
        // A spelling that two tools shared stays ambiguous: that is the safe side.
        self.folded
            .retain(|_, seen| seen.as_mut().is_none_or(shift));
    }
}
