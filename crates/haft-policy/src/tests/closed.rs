//! What rules close beyond the effects of a call.

use std::path::Path;

use haft_core::{Effects, Mode, Resource};
use serde_json::{Value, json};

use super::{compile, judged, line, resolve, tool};
use crate::{Bound, Policy, Verdict, Who};

fn bind(policy: &Policy, name: &str) -> Bound {
    policy.bind(&tool(name), &Who::default())
}

fn denying(rules: &[&str]) -> Value {
    json!({"tools": {"rules": {"deny": rules}}})
}

#[test]
fn folders_that_are_read_through_are_known() {
    let policy = compile(json!({})).unwrap();
    let bound = bind(&policy, "shell.exec");
    let check = |text: &str, expected: &[&str]| {
        let found = bound.walked(&line(text), &resolve);
        let expected: Vec<&Path> = expected.iter().map(Path::new).collect();
        assert_eq!(found, expected, "{text}");
    };
    check("grep -r x", &["/w"]);
    check("grep -r x src /etc", &["/etc", "/w/src"]);
    check("cd sub && rg x", &["/w", "/w/sub"]);
    check("grep -r x deep/d*", &["/w/deep"]);
    check("ls -A | xargs cat", &["/w"]);
    check("cat a | grep x", &[]);
    check("find . -name x", &[]);
    check("git diff", &[]);
}

#[test]
fn paths_are_closed_as_rules_say() {
    let rules = [
        "file.read(**/.env)",
        "file.write(secret/**)",
        "file.edit(a.{lock,sum})",
        "file.read(/etc/ssl/*.key)",
    ];
    let policy = compile(denying(&rules)).unwrap();
    let closed = bind(&policy, "shell.exec").closed().unwrap();
    let check = |path: &str, read: bool, write: bool| {
        let path = Path::new(path);
        assert_eq!(closed.closes(Mode::Read, path), read, "read {path:?}");
        assert_eq!(closed.closes(Mode::Write, path), write, "write {path:?}");
    };
    check("/w/.env", true, false);
    check("/w/a/b/.env", true, false);
    check("/w/.env/below", true, false);
    check("/w/env", false, false);
    check("/w/secret", false, true);
    check("/w/secret/deep/x", false, true);
    check("/w/secrets", false, false);
    check("/w/a.lock", false, true);
    check("/w/sub/a.lock", false, false);
    check("/etc/ssl/x.key", true, false);
    check("/etc/ssl", false, false);
    let check = |folder: &str, read: bool, write: bool| {
        let folder = Path::new(folder);
        assert_eq!(closed.reaches(Mode::Read, folder), read, "read {folder:?}");
        assert_eq!(
            closed.reaches(Mode::Write, folder),
            write,
            "write {folder:?}"
        );
    };
    check("/w", true, true);
    check("/w/sub", true, false);
    check("/w/secret/deep", true, true);
    check("/etc", true, false);
    check("/usr", false, false);
    let starts = |mode| -> Vec<String> {
        let shown = closed.starts(mode).into_iter().map(|one| {
            let mark = if one.exact { "" } else { "/…" };
            format!("{}{mark}", one.path.display())
        });
        let mut shown: Vec<String> = shown.collect();
        shown.sort();
        shown
    };
    assert_eq!(starts(Mode::Read), ["/etc/ssl/…", "/w/…"]);
    assert_eq!(
        starts(Mode::Write),
        ["/w/a.lock", "/w/a.sum", "/w/secret/…"]
    );
}

#[test]
fn where_no_path_is_denied_nothing_is_closed() {
    for rules in [
        json!({}),
        json!({"deny": ["shell.exec(rm *)"], "ask": ["file.read(x)"]}),
    ] {
        let policy = compile(json!({"tools": {"rules": rules}})).unwrap();
        assert!(bind(&policy, "file.grep").closed().is_none(), "{rules}");
    }
    let policy = compile(denying(&["file.write"])).unwrap();
    let closed = bind(&policy, "shell.exec").closed().unwrap();
    assert!(closed.closes(Mode::Write, Path::new("/anything")));
    assert!(!closed.closes(Mode::Read, Path::new("/anything")));
}

/// A tree that is read without what rules deny is denied only where it is closed itself.
#[test]
fn a_tool_that_leaves_out_what_is_closed_may_walk() {
    let policy = compile(denying(&["file.read(**/.env)", "file.read(secret/**)"])).unwrap();
    let bound = bind(&policy, "file.list");
    let check = |path: &str, skips: bool, expected: Verdict| {
        let mut effects = Effects::none().reads(Resource::Tree(path.into()));
        effects.skips_closed = skips;
        assert_eq!(judged(&bound, &effects).verdict, expected, "{path} {skips}");
    };
    check("/w", true, Verdict::Allow);
    check("/w", false, Verdict::Deny);
    check("/w/sub", true, Verdict::Allow);
    check("/w/secret", true, Verdict::Deny);
    check("/w/secret/deep", true, Verdict::Deny);
    check("/w/sub/.env", true, Verdict::Deny);
}
