//! Generated papers are fresh: what is checked in equals what the binary says now.

use std::fs;
use std::path::Path;

use crate::docs::Page;
use crate::finding::Finding;

pub(crate) fn check(root: &Path, pages: &[Page]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in pages {
        let found = fs::read_to_string(root.join(page.path));
        let what = match &found {
            Err(_) => "generated page is missing".to_owned(),
            Ok(text) if *text != page.text => "generated page is stale".to_owned(),
            Ok(_) => continue,
        };
        let line = found
            .unwrap_or_default()
            .lines()
            .zip(page.text.lines())
            .position(|(old, new)| old != new)
            .map_or(1, |at| at + 1);
        findings.push(Finding::new(
            page.path,
            line,
            what,
            "run `cargo xtask docs` and look at the change",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fixture::lines;

    #[test]
    fn stale_and_missing_pages_are_found() {
        let root = tempfile::tempdir().unwrap();
        let page = |path, text: &str| Page {
            path,
            text: text.to_owned(),
        };
        fs::write(root.path().join("old.md"), "one\ntwo\n").unwrap();
        fs::write(root.path().join("good.md"), "one\n").unwrap();
        let pages = [
            page("old.md", "one\n2\n"),
            page("good.md", "one\n"),
            page("gone.md", "one\n"),
        ];
        assert_eq!(
            lines(&check(root.path(), &pages)),
            [
                "old.md:2: generated page is stale; run `cargo xtask docs` and look at the change",
                "gone.md:1: generated page is missing; run `cargo xtask docs` and look at the change",
            ]
        );
    }
}
