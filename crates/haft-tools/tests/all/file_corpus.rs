//! The path-escape corpus: every row whose operation is a tool of ours.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use haft_core::ErrorCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fixture::{Answer, Fixture};

const CASES: &str = include_str!("../data/path-escape.jsonl");

/// Set in the process that writes with a limit on the size of files.
const SMALL_FILES: &str = "HAFT_TEST_SMALL_FILES";

#[derive(Deserialize)]
struct Case {
    id: String,
    op: String,
    path: String,
    #[serde(default)]
    dest: String,
    expect: String,
    setup: Vec<BTreeMap<String, Value>>,
}

impl Case {
    fn call(&self, f: &Fixture) -> Answer {
        let path = fill(&self.path, f);
        let dest = fill(&self.dest, f);
        match self.op.as_str() {
            "delete" => f.call("file.delete", json!({"path": path, "recursive": true})),
            "move" => f.call("file.move", json!({"from": path, "to": dest})),
            "batch_rename" => f.call(
                "file.batch",
                json!({"operation": "rename", "pattern": path, "replacement": dest}),
            ),
            "batch_move" => f.call(
                "file.batch",
                json!({"operation": "move", "pattern": path, "destination": dest}),
            ),
            "read" => f.call("file.read", json!({"path": path})),
            "list" => f.call("file.list", json!({"path": path})),
            "glob" => f.call("file.glob", json!({"pattern": path})),
            "grep" => f.call("file.grep", json!({"pattern": path})),
            "write" => f.call("file.write", json!({"path": path, "content": "written"})),
            _ => f.call(
                "file.edit",
                json!({"path": path, "search": "one", "replace": "x"}),
            ),
        }
    }
}

/// Put the real places in.
fn fill(text: &str, f: &Fixture) -> String {
    let place = |name: &str| f.at(name).to_str().unwrap().to_owned();
    text.replace("{ROOT}", &place("ws"))
        .replace("{OUT}", &place("out"))
        .replace("{EVIL}", &place("ws-evil"))
        .replace("{BASE}", "ws")
}

fn set_up(case: &Case, f: &Fixture) {
    for (kind, value) in case.setup.iter().flatten() {
        let words: Vec<String> = match value {
            Value::Array(items) => items
                .iter()
                .map(|item| {
                    item.as_str()
                        .map_or_else(|| item.to_string(), str::to_owned)
                })
                .collect(),
            other => vec![other.as_str().unwrap().to_owned()],
        };
        let inside = |name: &str| f.at("ws").join(name);
        match (kind.as_str(), words.as_slice()) {
            ("file", [name, content]) => f.put(name, content),
            ("dir", [name]) => std::fs::create_dir_all(inside(name)).unwrap(),
            ("symlink", [to, name]) => symlink(fill(to, f), inside(name)).unwrap(),
            ("hardlink", [to, name]) => std::fs::hard_link(fill(to, f), inside(name)).unwrap(),
            ("fifo", [name]) => {
                rustix::fs::mkfifoat(rustix::fs::CWD, inside(name), 0o600.into()).unwrap();
            }
            ("sock", [name]) => drop(UnixListener::bind(inside(name)).unwrap()),
            ("sparse", [name, size]) => {
                let file = std::fs::File::create(inside(name)).unwrap();
                // Not every file system takes the full size; any above the limit will do.
                let size: u64 = size.parse().unwrap();
                file.set_len(size)
                    .or_else(|_| file.set_len(size >> 8))
                    .unwrap();
            }
            (other, _) => panic!("{}: unknown set-up `{other}`", case.id),
        }
    }
}

/// Everything outside the workspace, to be compared before and after.
fn outside(f: &Fixture) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for folder in ["out", "ws-evil"] {
        for entry in std::fs::read_dir(f.at(folder)).unwrap() {
            let path = entry.unwrap().path();
            let content = std::fs::read(&path).unwrap_or_default();
            files.push((path, content));
        }
    }
    files.sort();
    files
}

fn check(case: &Case) -> Result<(), String> {
    let f = Fixture::new();
    set_up(case, &f);
    let before = outside(&f);
    let started = Instant::now();
    let outcome = judge(case, &f);
    if started.elapsed() > Duration::from_secs(10) {
        return Err(format!("took {:?}", started.elapsed()));
    }
    if outside(&f) != before {
        return Err("something outside was changed".to_owned());
    }
    outcome
}

fn judge(case: &Case, f: &Fixture) -> Result<(), String> {
    match case.expect.as_str() {
        "stale-detect" => return stale(case, f),
        "ok-link-only" | "deny-or-link" | "no-clobber" => return careful(case, f),
        "atomic" => return atomic(case, f),
        _ => {}
    }
    let answer = case.call(f);
    let text = answer.text();
    if text.contains("top secret") && case.expect != "deny-or-ok" {
        return Err("outside content came back".to_owned());
    }
    let right = match case.expect.as_str() {
        "ok" => answer.result.is_ok(),
        // Slowness is looked at for every row.
        "no-hang" => answer.result.is_ok(),
        "no-outside" => answer.result.is_ok() && !text.contains("secret"),
        "deny" | "deny-fast" | "limit" => answer.result.is_err(),
        "deny-or-ok" => true,
        "ask" => answer.effects.as_ref().is_some_and(|effects| {
            effects
                .accesses
                .iter()
                .any(|access| access.resource.as_protected().is_some())
        }),
        other => return Err(format!("unknown expectation `{other}`")),
    };
    if right {
        Ok(())
    } else {
        Err(format!("expected {}: {text}", case.expect))
    }
}

/// Rows on links and names: whatever the answer, nothing is lost and no content copied.
fn careful(case: &Case, f: &Fixture) -> Result<(), String> {
    let entries = |f: &Fixture| {
        let mut all: Vec<(PathBuf, bool)> = std::fs::read_dir(f.at("ws"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), path.is_symlink()))
            .collect();
        all.sort();
        all
    };
    let before = entries(f);
    let answer = case.call(f);
    let after = entries(f);
    let links = after.iter().filter(|(_, link)| *link).count();
    let right = match case.expect.as_str() {
        "ok-link-only" => answer.result.is_ok() && after.is_empty(),
        "deny-or-link" => answer.result.is_err() || (after.len() == 1 && links == 1),
        _ => answer.result.is_err() && before == after,
    };
    if right {
        Ok(())
    } else {
        Err(format!("{}: {before:?} became {after:?}", answer.text()))
    }
}

fn stale(case: &Case, f: &Fixture) -> Result<(), String> {
    f.call("file.read", json!({"path": case.path})).structured();
    f.put(&case.path, "one, changed");
    let code = case.call(f).error().code;
    if code == ErrorCode::Conflict && f.content(&case.path) == "one, changed" {
        Ok(())
    } else {
        Err(format!("expected a conflict: {code}"))
    }
}

/// The row runs in a process that may only write small files, and ours looks at what is left.
fn atomic(case: &Case, f: &Fixture) -> Result<(), String> {
    let before = f.content(&case.path);
    let status = Command::new("sh")
        .args(["-c", "ulimit -f 1024; trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "file_corpus::every_row_ends_as_labelled"])
        .env(SMALL_FILES, f.at("ws").join(&case.path))
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    let left: Vec<_> = std::fs::read_dir(f.at("ws")).unwrap().collect();
    if status.success() && f.content(&case.path) == before && left.len() == 1 {
        Ok(())
    } else {
        Err(format!("a failed write left a trace: {left:?}"))
    }
}

fn write_too_much(path: &Path) {
    let f = Fixture::over(tempfile::tempdir().unwrap(), path.parent().unwrap());
    let args = json!({"path": path, "content": "x".repeat(3 << 20)});
    let error = f.call("file.write", args).error();
    assert_eq!(error.code, ErrorCode::ExecutionFailed);
}

#[test]
fn every_row_ends_as_labelled() {
    if let Some(path) = std::env::var_os(SMALL_FILES) {
        return write_too_much(Path::new(&path));
    }
    let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut run = 0;
    for line in CASES.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        match case.op.as_str() {
            "read" | "write" | "list" | "edit" | "glob" | "grep" => {}
            "delete" | "move" | "batch_rename" | "batch_move" | "extract" => {
                *skipped.entry(case.op).or_default() += 1;
                continue;
            }
            other => panic!("{}: unknown operation `{other}`", case.id),
        }
        run += 1;
        if let Err(error) = check(&case) {
            wrong.push(format!("{} {} {:?}: {error}", case.id, case.op, case.path));
        }
    }
    println!("{run} rows run; operations without a tool yet: {skipped:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run >= 80, "only {run} rows");
}
