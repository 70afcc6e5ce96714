//! What completes a word in the shell: the tools, profiles, agents and providers of the folder that
//! the person stands in. A config that does not work completes nothing.

use std::ffi::OsStr;

use clap_complete::CompletionCandidate;
use haft_policy::{Autonomy, built_in_profiles};

use crate::cli::Seat;
use crate::config::Config;
use crate::wiring::{House, Wants};

/// Tools by their name, or by another name once that is what is being typed.
pub(crate) fn tool_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let Some(house) = house() else {
        return Vec::new();
    };
    let snapshot = house.runtime.registry().snapshot();
    let mut found = Vec::new();
    for entry in snapshot.entries() {
        let spec = entry.spec();
        let others = spec.aliases.iter().filter(|_| !typed.is_empty());
        let help = spec.description.lines().next().unwrap_or_default();
        let names = std::iter::once(&*spec.name).chain(others.map(|alias| &**alias));
        found.extend(
            names
                .filter(|name| name.starts_with(&*typed))
                .map(|name| CompletionCandidate::new(name).help(Some(help.to_owned().into()))),
        );
    }
    found
}

pub(crate) fn profiles(typed: &OsStr) -> Vec<CompletionCandidate> {
    let own = of_config(|config| config.tools.profiles.keys().cloned().collect());
    starting(typed, built_in_profiles().map(str::to_owned).chain(own))
}

pub(crate) fn agents(typed: &OsStr) -> Vec<CompletionCandidate> {
    starting(
        typed,
        of_config(|config| config.agents.keys().cloned().collect()),
    )
}

pub(crate) fn providers(typed: &OsStr) -> Vec<CompletionCandidate> {
    starting(
        typed,
        of_config(|config| config.providers.keys().cloned().collect()),
    )
}

pub(crate) fn levels(typed: &OsStr) -> Vec<CompletionCandidate> {
    starting(
        typed,
        Autonomy::ALL.iter().map(|level| level.as_str().to_owned()),
    )
}

fn of_config(names: impl Fn(&Config) -> Vec<String>) -> Vec<String> {
    house().map_or_else(Vec::new, |house| names(&house.loaded.effective))
}

fn house() -> Option<House> {
    House::open(&Seat::default(), Wants::default()).ok()
}

fn starting(typed: &OsStr, words: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    words
        .into_iter()
        .filter(|word| word.starts_with(&*typed))
        .map(CompletionCandidate::new)
        .collect()
}
