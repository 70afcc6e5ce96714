//! What happens to the store when the machine fails under it: `crash` kills it and breaks its
//! writes, `powerloss` cuts the power. Both run the same load with faults built in as well, and
//! fail when those go unnoticed.

pub(crate) mod crash;
pub(crate) mod powerloss;
mod trace;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace::cargo;

const PAGE: &str = "docs/reliability.md";
const HEAD: &str = "# Reliability\n\nWritten by `cargo xtask crash` and `cargo xtask powerloss`; do not edit.\n\nA load of rows and calls runs against a real store. A process outside counts what was\nacknowledged. Afterwards the store is opened again: nothing acknowledged may be missing (lost),\nthe journal must prove itself and take new work (broken), and no effect may be there that was not\nwritten down first (unrecorded). The runs\nnamed `fault` have one built in that the same check must notice.\n";

/// What went wrong over many runs of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) found: usize,
    pub(crate) hit: usize,
    pub(crate) acknowledged: usize,
    pub(crate) lost: usize,
    pub(crate) broken: usize,
    pub(crate) unrecorded: usize,
}

impl Tally {
    pub(crate) fn faults(&self) -> usize {
        self.lost + self.broken + self.unrecorded
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.found += other.found;
        self.hit += other.hit;
        self.acknowledged += other.acknowledged;
        self.lost += other.lost;
        self.broken += other.broken;
        self.unrecorded += other.unrecorded;
    }

    fn row(&self, name: &str) -> String {
        format!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} |\n",
            self.found,
            self.hit,
            self.found - self.hit,
            self.acknowledged,
            self.lost,
            self.broken,
            self.unrecorded
        )
    }

    /// Compare what was acknowledged with what is there.
    pub(crate) fn judge(&mut self, acknowledged: &Acknowledged, found: &Value) {
        self.acknowledged += acknowledged.rows.len() + acknowledged.intents.len();
        let set = |key: &str| -> BTreeSet<u64> {
            let items = found[key].as_array();
            items
                .into_iter()
                .flatten()
                .filter_map(Value::as_u64)
                .collect()
        };
        let refused = found["refused"]
            .as_array()
            .is_some_and(|list| !list.is_empty());
        if !found["broken"].is_null() || refused {
            self.broken += 1;
            return;
        }
        let intents = set("intents");
        self.lost += acknowledged.rows.difference(&set("rows")).count();
        self.lost += acknowledged.intents.difference(&intents).count();
        self.unrecorded += set("effects").difference(&intents).count();
    }
}

/// What the load said was done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Acknowledged {
    pub(crate) rows: BTreeSet<u64>,
    pub(crate) intents: BTreeSet<u64>,
}

impl Acknowledged {
    pub(crate) fn hear(&mut self, text: &str) {
        for line in text.lines() {
            match line.split_once(' ').map(|(what, n)| (what, n.parse())) {
                Some(("row", Ok(n))) => drop(self.rows.insert(n)),
                Some(("intent", Ok(n))) => drop(self.intents.insert(n)),
                _ => {}
            }
        }
    }
}

/// Build the load and say where it is.
fn load() -> Result<PathBuf> {
    let built = cargo()
        .args(["build", "--quiet", "-p", "haft-store", "--example", "load"])
        .args(["--message-format", "json-render-diagnostics"])
        .output()?;
    if !built.status.success() {
        bail!("the load does not build");
    }
    let lines = String::from_utf8_lossy(&built.stdout).into_owned();
    let program = lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "load")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    program.context("the load was built, but nobody says where")
}

/// What is in these homes, one answer each.
fn look(load: &Path, homes: &[PathBuf]) -> Result<Vec<Value>> {
    let output = Command::new(load).arg("check").args(homes).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut answers: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_default())
        .collect();
    // A check that died says nothing about the rest.
    answers.resize(homes.len(), serde_json::json!({"broken": "the check died"}));
    Ok(answers)
}

/// Put a section on the page; the other one stays.
fn publish(name: &str, rows: &[(String, Tally)], about: &str) -> Result<()> {
    let old = fs::read_to_string(PAGE).unwrap_or_default();
    let mut text = format!(
        "\n## {name}\n\n{about}\n\n| run | points | hit | skipped | acknowledged | lost | broken | unrecorded |\n|---|---|---|---|---|---|---|---|\n"
    );
    rows.iter()
        .for_each(|(name, tally)| text.push_str(&tally.row(name)));
    let mut page = HEAD.to_owned();
    let mut sections: Vec<String> = old
        .split("\n## ")
        .skip(1)
        .map(|rest| format!("\n## {}", rest.trim_end_matches('\n')))
        .map(|rest| rest + "\n")
        .collect();
    sections.retain(|section| !section.starts_with(&format!("\n## {name}\n")));
    sections.push(text);
    sections.sort();
    sections.iter().for_each(|section| page.push_str(section));
    fs::write(PAGE, page)?;
    Ok(())
}

/// The good runs show no fault, and those with a fault built in show it.
fn conclude(rows: &[(String, Tally)]) -> bool {
    let mut fine = true;
    for (name, tally) in rows {
        print!("{}", tally.row(name));
        let faulty = name.starts_with("fault");
        if faulty == (tally.faults() == 0) {
            let what = if faulty {
                "the fault went unnoticed"
            } else {
                "the store failed"
            };
            println!("{name}: {what}");
            fine = false;
        }
        if tally.hit == 0 {
            println!("{name}: no point was hit");
            fine = false;
        }
    }
    fine
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missing_is_counted() {
        let mut acknowledged = Acknowledged::default();
        acknowledged.hear("row 1\nrow 2\nintent 3\nnonsense\nrow x\n");
        let mut tally = Tally::default();
        tally.judge(
            &acknowledged,
            &json!({"rows": [1, 2], "intents": [3], "effects": [3]}),
        );
        assert_eq!((tally.acknowledged, tally.faults()), (3, 0));
        tally.judge(
            &acknowledged,
            &json!({"rows": [1], "intents": [], "effects": [3, 4]}),
        );
        assert_eq!((tally.lost, tally.unrecorded), (2, 2));
        tally.judge(&acknowledged, &json!({"broken": "all"}));
        tally.judge(
            &acknowledged,
            &json!({"refused": ["no"], "rows": [1, 2], "intents": [3]}),
        );
        assert_eq!(tally.broken, 2);
    }

    #[test]
    fn a_fault_that_goes_unnoticed_fails_the_run() {
        let good = Tally {
            found: 1,
            hit: 1,
            ..Tally::default()
        };
        let bad = Tally {
            lost: 1,
            ..good.clone()
        };
        let check = |name: &str, tally: &Tally, expected: bool| {
            assert_eq!(
                conclude(&[(name.to_owned(), tally.clone())]),
                expected,
                "{name}"
            );
        };
        check("good", &good, true);
        check("good", &bad, false);
        check("fault: x", &bad, true);
        check("fault: x", &good, false);
        check("good", &Tally::default(), false);
    }
}
