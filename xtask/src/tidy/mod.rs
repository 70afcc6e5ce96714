//! `cargo xtask tidy`: the rules of the house as checks, one file each, one line each in the
//! list below. Each answers with findings that name file, line and cure.

mod absences;
mod arrows;
mod circles;
mod fresh;
mod leftovers;
mod licences;
mod listed;
mod long;

use std::fs;

use anyhow::{Context, Result};

use crate::docs;
use crate::finding::Finding;
use crate::workspace::Workspace;

type Check = (&'static str, fn(&Workspace) -> Vec<Finding>);

/// Checks that need nothing but the files of the project.
const CHECKS: &[Check] = &[
    ("crate arrows", arrows::check),
    ("absences", absences::check),
    ("module circles", circles::check),
    ("tools listed", listed::check),
    ("long parts", long::check),
    ("leftovers", leftovers::check),
];

/// Run every check and answer with the number of findings.
pub(crate) fn run() -> Result<usize> {
    let workspace = Workspace::load()?;
    let mut findings = Vec::new();
    for (name, check) in CHECKS {
        report(name, check(&workspace), &mut findings);
    }
    let metadata = licences::all_packages()?;
    let list = fs::read_to_string(workspace.root.join("xtask/licences.txt"))
        .context("cannot read `xtask/licences.txt`")?;
    report("licences", licences::check(&metadata, &list), &mut findings);
    let stale = match docs::pages(&workspace) {
        Ok(pages) => fresh::check(&workspace.root, &pages),
        Err(error) => vec![Finding::new(
            "docs",
            1,
            format!("pages cannot be made: {error:#}"),
            "make `haft` build and answer",
        )],
    };
    report("generated docs", stale, &mut findings);
    println!("tidy: {}", licences::summary(&metadata));
    for finding in &findings {
        println!("{finding}");
    }
    Ok(findings.len())
}

fn report(name: &str, found: Vec<Finding>, findings: &mut Vec<Finding>) {
    let answer = match found.len() {
        0 => "ok".to_owned(),
        n => format!("{n} found"),
    };
    println!("tidy: {name}: {answer}");
    findings.extend(found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fixture::lines;

    /// The rules on this very tree, so that plain `cargo test` holds them too.
    #[test]
    fn the_house_is_as_architecture_says() {
        let workspace = Workspace::load().unwrap();
        assert!(workspace.crates.len() >= 8, "{}", workspace.crates.len());
        let found: Vec<String> = CHECKS
            .iter()
            .flat_map(|(_, check)| lines(&check(&workspace)))
            .collect();
        assert!(found.is_empty(), "\n{}", found.join("\n"));
    }
}
