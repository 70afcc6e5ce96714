//! Profiles: named sets of tools, built in or the owner's.

use std::collections::BTreeMap;

use crate::config::ProfileConfig;
use crate::error::PolicyError;
use crate::pattern::{Groups, ToolPattern};

/// In force when nobody chose another.
pub(crate) const DEFAULT_PROFILE: &str = "full";

/// Where built-in things say they come from.
pub(crate) const DEFAULTS: &str = "defaults";

/// Name, what it holds, what is taken out again.
type BuiltIn = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const BUILT_IN: &[BuiltIn] = &[
    ("minimal", &["system.info"], &[]),
    (
        "messaging",
        &["system.info", "memory.read", "memory.write"],
        &["shell.*", "file.*", "process.*"],
    ),
    ("coding", &["*"], &["group:runtime"]),
    ("full", &["*"], &[]),
];

/// The names that every config knows.
pub fn built_in_profiles() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, ..)| *name)
}

#[derive(Debug, Clone)]
pub(crate) struct Profile {
    pub(crate) from: String,
    pub(crate) allow: Vec<ToolPattern>,
    pub(crate) deny: Vec<ToolPattern>,
}

pub(crate) fn compile(
    own: &BTreeMap<String, ProfileConfig>,
    groups: &Groups,
    from: &str,
) -> Result<BTreeMap<String, Profile>, PolicyError> {
    let list = |texts: &[String]| patterns(texts, groups, from);
    let mut profiles = BTreeMap::new();
    for (name, allow, deny) in BUILT_IN {
        let owned = |texts: &[&str]| {
            texts
                .iter()
                .map(|&text| text.to_owned())
                .collect::<Vec<_>>()
        };
        let profile = Profile {
            from: DEFAULTS.to_owned(),
            allow: list(&owned(allow))?,
            deny: list(&owned(deny))?,
        };
        profiles.insert((*name).to_owned(), profile);
    }
    for (name, config) in own {
        let profile = Profile {
            from: from.to_owned(),
            allow: list(&config.allow)?,
            deny: list(&config.deny)?,
        };
        profiles.insert(name.clone(), profile);
    }
    Ok(profiles)
}

pub(crate) fn patterns(
    texts: &[String],
    groups: &Groups,
    from: &str,
) -> Result<Vec<ToolPattern>, PolicyError> {
    texts
        .iter()
        .map(|text| ToolPattern::parse(text, groups, from))
        .collect()
}
