//! Licences of everything we build with, against the list in `xtask/licences.txt`.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use crate::finding::Finding;
use crate::workspace::{array, cargo_metadata, text};

const LIST: &str = "xtask/licences.txt";

/// All packages of all targets. Those for other systems may not have been fetched yet.
pub(crate) fn all_packages() -> Result<Value> {
    cargo_metadata(&["--offline"]).or_else(|_| cargo_metadata(&[]))
}

pub(crate) fn check(metadata: &Value, list: &str) -> Vec<Finding> {
    let allowed: Vec<&str> = list
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let mut findings = Vec::new();
    for package in array(&metadata["packages"]) {
        let expression = text(&package["license"]);
        if !is_allowed(expression, &allowed) {
            let written = if expression.is_empty() {
                "none stated"
            } else {
                expression
            };
            findings.push(Finding::new(
                LIST,
                1,
                format!(
                    "licence of `{} {}` is not in the list: {written}",
                    text(&package["name"]),
                    text(&package["version"])
                ),
                "drop the package, or add the licence here after reading it",
            ));
        }
    }
    findings
}

/// How many packages there are, and which of them come in several versions.
pub(crate) fn summary(metadata: &Value) -> String {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in array(&metadata["packages"]) {
        let known = versions.entry(text(&package["name"])).or_default();
        known.push(text(&package["version"]));
    }
    let count: usize = versions.values().map(Vec::len).sum();
    let doubled: Vec<String> = versions
        .iter()
        .filter(|(_, versions)| versions.len() > 1)
        .map(|(name, versions)| format!("{name} ({})", versions.join(", ")))
        .collect();
    if doubled.is_empty() {
        format!("{count} packages, none in two versions")
    } else {
        format!(
            "{count} packages; in several versions: {}",
            doubled.join("; ")
        )
    }
}

/// SPDX as far as packages use it: names, OR, AND, WITH, brackets, and the old `/` for OR.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser {
        words: &words,
        at: 0,
        allowed,
    };
    let answer = parser.any();
    // Whatever is left over was not understood, and what is not understood is not allowed.
    answer == Some(true) && parser.at == words.len()
}

struct Parser<'a> {
    words: &'a [&'a str],
    at: usize,
    allowed: &'a [&'a str],
}

impl Parser<'_> {
    fn take(&mut self, word: &str) -> bool {
        let found = self.words.get(self.at) == Some(&word);
        self.at += usize::from(found);
        found
    }

    fn any(&mut self) -> Option<bool> {
        let mut answer = self.all()?;
        while self.take("OR") {
            answer |= self.all()?;
        }
        Some(answer)
    }

    fn all(&mut self) -> Option<bool> {
        let mut answer = self.one()?;
        while self.take("AND") {
            answer &= self.one()?;
        }
        Some(answer)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let answer = self.any();
            return if self.take(")") { answer } else { None };
        }
        let name = (*self.words.get(self.at)?).to_owned();
        self.at += 1;
        let mut whole = name;
        if self.take("WITH") {
            whole = format!("{whole} WITH {}", self.words.get(self.at)?);
            self.at += 1;
        }
        Some(self.allowed.contains(&whole.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn expressions() {
        let check = |expression: &str, expected: bool| {
            let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        };
        check("MIT", true);
        check("GPL-3.0", false);
        check("GPL-3.0 OR MIT", true);
        check("GPL-3.0/MIT", true);
        check("GPL-3.0 AND MIT", false);
        check("(MIT OR GPL-3.0) AND Apache-2.0", true);
        check("(MIT OR GPL-3.0) AND BSD", false);
        check("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true);
        check("MIT WITH Odd-exception", false);
        check("", false);
        check("(MIT", false);
        check("MIT MIT", false);
    }

    #[test]
    fn a_new_licence_is_found() {
        let metadata = json!({"packages": [
            {"name": "good", "version": "1.0.0", "license": "MIT"},
            {"name": "bad", "version": "2.0.0", "license": "GPL-3.0"},
            {"name": "mute", "version": "3.0.0", "license": null},
            {"name": "good", "version": "2.0.0", "license": "MIT"},
        ]});
        let found: Vec<String> = check(&metadata, "# ours\nMIT\n")
            .into_iter()
            .map(|finding| finding.what)
            .collect();
        assert_eq!(
            found,
            [
                "licence of `bad 2.0.0` is not in the list: GPL-3.0",
                "licence of `mute 3.0.0` is not in the list: none stated"
            ]
        );
        assert_eq!(
            summary(&metadata),
            "4 packages; in several versions: good (1.0.0, 2.0.0)"
        );
    }
}
