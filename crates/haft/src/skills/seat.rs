//! Skills brought together with the caller who may load them.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use haft_core::{Caller, Capability, Powers, UseSkills};
use haft_runtime::Runtime;

use super::{Host, Shelf, Skill, find};
use crate::config::Loaded;
use crate::home::Home;

/// Where config says that skills are.
fn skill_folders(loaded: &Loaded) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let folders = loaded.effective.dev.skills.iter();
    folders
        .map(|folder| match (folder.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => loaded.workspace.join(folder),
        })
        .collect()
}

/// What skills may require of this machine.
fn this_host(loaded: &Loaded, powers: &Powers) -> Host {
    let there = Capability::ALL
        .iter()
        .filter(|capability| powers.has(capability.backend()));
    Host {
        os: std::env::consts::OS.to_owned(),
        capabilities: there.map(|capability| capability.id().to_owned()).collect(),
        config: serde_json::to_value(&loaded.effective).unwrap_or_default(),
        has_program: haft_host::has_program,
        has_variable: |name| std::env::var_os(name).is_some_and(|value| !value.is_empty()),
    }
}

/// The caller with the power to load skills, each of which has a tool of its own.
pub(crate) fn handed_to(
    mut caller: Caller,
    runtime: &Runtime,
    home: &Home,
    loaded: &Loaded,
) -> Result<(Caller, Vec<Skill>)> {
    let host = this_host(loaded, &caller.powers);
    let skills = find(home, &loaded.workspace, &skill_folders(loaded), &[host]);
    let shelf = Shelf::new(&skills);
    runtime.registry().register_all(shelf.shortcuts())?;
    let mut powers = Powers::clone(&caller.powers);
    powers.insert(UseSkills::new(Arc::new(shelf)));
    caller.powers = Arc::new(powers);
    Ok((caller, skills))
}
