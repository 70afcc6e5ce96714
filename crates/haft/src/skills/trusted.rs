//! Which project skills a person has trusted: their folder, and a digest of all it holds.

use std::collections::BTreeMap;

use super::Skill;
use crate::home::{Home, HomeError, path_text};

const FILE: &str = "skills.json";
const LARGEST: u64 = 4 << 20;

type Record = BTreeMap<String, String>;

/// A record that cannot be read trusts nothing.
fn record(home: &Home) -> Record {
    let bytes = home.read(FILE, LARGEST).ok().flatten();
    bytes
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

pub(super) fn is_trusted(home: &Home, skill: &Skill) -> bool {
    let digest = path_text(&skill.folder)
        .ok()
        .and_then(|folder| record(home).get(folder).cloned());
    !skill.digest.is_empty() && digest.as_ref() == Some(&skill.digest)
}

/// Remember that a person trusts this skill as it was found.
pub(crate) fn accept(home: &Home, skill: &Skill) -> Result<(), HomeError> {
    let folder = path_text(&skill.folder)?.to_owned();
    let _lock = home.lock(FILE)?;
    let mut all = record(home);
    all.insert(folder, skill.digest.clone());
    home.write_json(FILE, &all)
}
