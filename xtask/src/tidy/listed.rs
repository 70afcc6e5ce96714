//! Every tool is listed: a file with `impl Tool for X` in `haft-tools` needs its line in the list
//! of the module it stands in, or nobody could ever call it.

use crate::finding::Finding;
use crate::source::{Source, Token};
use crate::workspace::{Crate, Workspace};

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    workspace
        .find("haft-tools")
        .map(unlisted)
        .unwrap_or_default()
}

fn unlisted(one: &Crate) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in one.shipped() {
        for (tool, line) in tools(source) {
            let list = list_of(&source.path);
            let listed = one
                .shipped()
                .find(|source| source.path == list)
                .is_some_and(|source| lists(source, &tool));
            if !listed {
                findings.push(Finding::new(
                    &source.path,
                    line,
                    format!("tool that is in no list: `{tool}`"),
                    format!("add its line to the list in {list}"),
                ));
            }
        }
    }
    findings
}

/// Types with `impl Tool for …` in this file.
fn tools(source: &Source) -> Vec<(String, usize)> {
    (0..source.tokens.len())
        .filter(|&at| source.ident(at) == Some("Tool") && source.ident(at + 1) == Some("for"))
        .filter(|&at| !source.is_test(at))
        .filter_map(|at| Some((source.ident(at + 2)?.to_owned(), source.line(at))))
        .collect()
}

/// `src/file/read.rs` is listed in `src/file/mod.rs`, `src/info.rs` in `src/lib.rs`.
fn list_of(path: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    match folder.rsplit_once('/') {
        Some((_, "src")) | None => format!("{folder}/lib.rs"),
        Some(_) => format!("{folder}/mod.rs"),
    }
}

/// Whether the name stands in the file outside of `mod`, `use` and tests.
fn lists(source: &Source, tool: &str) -> bool {
    let mut at = 0;
    while at < source.tokens.len() {
        match source.ident(at) {
            Some("use") => {
                while at < source.tokens.len() && source.tokens[at] != Token::Punct(';') {
                    at += 1;
                }
            }
            Some(word) if word == tool && !source.is_test(at) => return true,
            _ => {}
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fixture::{a_crate, lines, of};

    fn check_list(list: &str, expected: &[&str]) {
        let one = a_crate(
            "haft-tools",
            &[],
            &[
                ("file/mod.rs", list),
                ("file/read.rs", "struct Read;\nimpl Tool for Read {}"),
            ],
        );
        assert_eq!(lines(&check(&of(vec![one]))), expected, "{list}");
    }

    #[test]
    fn a_tool_in_no_list_is_found() {
        let found = "crates/haft-tools/src/file/read.rs:2: tool that is in no list: `Read`; \
                     add its line to the list in crates/haft-tools/src/file/mod.rs";
        check_list(
            "mod read; use read::Read; fn list() { typed::<Read>() }",
            &[],
        );
        check_list("mod read; fn list() { vec![typed::<read::Read>()] }", &[]);
        check_list(
            "mod read; pub use read::Read; fn list() { vec![] }",
            &[found],
        );
        check_list(
            "#[cfg(test)] mod t { fn f() { typed::<Read>() } }",
            &[found],
        );
    }
}
