//! Nothing that belongs to one machine or one afternoon: paths of a workshop, registry hosts,
//! switched-off tests, notes to oneself.

use crate::finding::Finding;
use crate::source::Source;
use crate::workspace::{TextFile, Workspace};

/// Words that no file may hold, with the reason. Written in halves so that this file may hold them.
const WORDS: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "path of one machine"),
    (concat!("registry.", "npmjs.org"), "registry host"),
    (concat!("index.", "crates.io"), "registry host"),
    (concat!("static.", "crates.io"), "registry host"),
    (concat!("files.", "pythonhosted.org"), "registry host"),
    (concat!("pypi.", "org"), "registry host"),
    (concat!("deb.", "debian.org"), "registry host"),
];

/// Settings that send a package manager to a host of somebody's choice.
const SETTINGS: &[(&str, &[&str])] = &[
    (
        ".cargo/config.toml",
        &["[source", "[registries", "[registry"],
    ),
    (".npmrc", &["registry"]),
    ("pip.conf", &["index-url"]),
];

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings: Vec<Finding> = workspace.texts.iter().flat_map(in_text).collect();
    let sources = workspace
        .crates
        .iter()
        .flat_map(|one| one.sources.iter().chain(&one.around));
    findings.extend(sources.flat_map(in_source));
    findings
}

fn in_text(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Test data is somebody else's text, and a lock file names the registry by its own rules.
    if file.path.contains("tests/data/") || file.path == "Cargo.lock" {
        return findings;
    }
    let settings: &[&str] = SETTINGS
        .iter()
        .find(|(name, _)| file.path.ends_with(name))
        .map_or(&[], |(_, settings)| settings);
    for (at, line) in file.text.lines().enumerate() {
        for (word, reason) in WORDS {
            if line
                .match_indices(word)
                .any(|(at, _)| starts_there(&line[..at]))
            {
                let what = format!("{reason}: `{word}`");
                findings.push(Finding::new(&file.path, at + 1, what, "take it out"));
            }
        }
        for setting in settings {
            if line.trim_start().starts_with(setting) {
                let what = format!("registry setting: `{}`", line.trim());
                findings.push(Finding::new(
                    &file.path,
                    at + 1,
                    what,
                    "leave it to the machine's own settings",
                ));
            }
        }
    }
    findings
}

/// Whether a path or host begins after this text, rather than going on: `dir/work` is no root.
fn starts_there(before: &str) -> bool {
    !before
        .chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || "})].-_~/$*".contains(c))
        || before.ends_with("//")
}

fn in_source(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut push = |line, what: String, cure: &str| {
        findings.push(Finding::new(&source.path, line, what, cure));
    };
    for at in 0..source.tokens.len() {
        if let Some(word @ ("dbg" | "todo" | "unimplemented")) = source.ident(at)
            && source.is_punct(at + 1, '!')
            && source.open(at + 2).is_some()
        {
            push(
                source.line(at),
                format!("`{word}!` left behind"),
                "finish it",
            );
        }
        if source.is_punct(at, '#')
            && let Some(('[', close)) = source.open(at + 1)
            && matches!(source.ident(at + 2), Some("ignore" | "cfg_attr"))
            && (at + 2..close).any(|inside| source.ident(inside) == Some("ignore"))
        {
            let what = "switched-off test: `#[ignore]`".to_owned();
            push(source.line(at), what, "make it run, or delete it");
        }
    }
    for (at, line) in source.text.lines().enumerate() {
        let line = line.trim_start();
        let Some(comment) = line.strip_prefix("//") else {
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        if comment.starts_with("TODO") || comment.starts_with("FIXME") {
            push(
                at + 1,
                "note to oneself".to_owned(),
                "do it, or open an issue",
            );
        }
        if comment.starts_with("```ignore") {
            let what = "switched-off doc test".to_owned();
            push(at + 1, what, "make it run, or mark it as `text`");
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fixture::source;

    #[test]
    fn machine_words_are_found() {
        let check = |path: &str, text: &str, expected: &[&str]| {
            let found: Vec<String> = in_text(&TextFile {
                path: path.to_owned(),
                text: text.to_owned(),
            })
            .iter()
            .map(|finding| format!("{} {}", finding.line, finding.what))
            .collect();
            assert_eq!(found, expected, "{path}: {text}");
        };
        let path = WORDS[0].0;
        let found = format!("2 path of one machine: `{path}`");
        check("a.md", &format!("ok\nsee {path}x"), &[&found]);
        check("crates/x/tests/data/a.txt", path, &[]);
        check(
            "a.md",
            &format!("/workspace/ and {{}}{path}a and ..{path}a"),
            &[],
        );
        let host = WORDS[1].0;
        let found = format!("1 registry host: `{host}`");
        check("a.md", &format!("https://{host}/x"), &[&found]);
        check(
            ".npmrc",
            "registry=http://here",
            &["1 registry setting: `registry=http://here`"],
        );
        check(
            ".cargo/config.toml",
            "[source.x]",
            &["1 registry setting: `[source.x]`"],
        );
    }

    #[test]
    fn unfinished_code_is_found() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<String> = in_source(&source("a.rs", text))
                .into_iter()
                .map(|finding| finding.what)
                .collect();
            assert_eq!(found, expected, "{text}");
        };
        check(
            "fn f() { dbg!(1); todo!() }",
            &["`dbg!` left behind", "`todo!` left behind"],
        );
        check("fn f() { \"dbg!(1)\"; } // todo!()", &[]);
        check(
            "#[test]\n#[ignore = \"slow\"]\nfn f() {}",
            &["switched-off test: `#[ignore]`"],
        );
        check(
            "#[cfg_attr(unix, ignore)]\nfn f() {}",
            &["switched-off test: `#[ignore]`"],
        );
        check("// TODO: later\nfn f() {}", &["note to oneself"]);
        check("/// ```ignore\nfn f() {}", &["switched-off doc test"]);
    }
}
