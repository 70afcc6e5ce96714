//! `file.move` and `file.delete`.

use std::os::unix::fs::{PermissionsExt, symlink};

use haft_core::{Mode, Resource};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// Everything in the workspace: paths, with what files hold and links lead to.
pub(crate) fn tree(f: &Fixture) -> Vec<String> {
    let mut all = Vec::new();
    let mut pending = vec![f.at("ws")];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(f.at("ws")).unwrap().display().to_string();
            if path.is_symlink() {
                all.push(format!("{name} -> {}", path.read_link().unwrap().display()));
            } else if path.is_dir() {
                all.push(format!("{name}/"));
                pending.push(path);
            } else {
                let content = std::fs::read(&path).unwrap();
                let mode = path.metadata().unwrap().permissions().mode() & 0o777;
                let shown =
                    String::from_utf8_lossy(&content[..content.len().min(4_000)]).into_owned();
                all.push(format!("{name} {mode:o} {shown:?}"));
            }
        }
    }
    all.sort();
    all
}

fn names(f: &Fixture) -> String {
    let names: Vec<String> = tree(f)
        .iter()
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    names.join(" ")
}

fn world() -> Fixture {
    let f = Fixture::new();
    f.put("a.txt", "a");
    f.put("b.txt", "b");
    f.put("dir/c.txt", "c");
    f.put("dir/deep/d.txt", "d");
    std::fs::create_dir(f.at("ws/empty")).unwrap();
    f
}

#[test]
fn moving() {
    let check = |args: Value, expected: &str| {
        let f = world();
        let before = tree(&f);
        let preview = f.preview("file.move", args.clone());
        assert_eq!(tree(&f), before, "{args}: a preview changed something");
        let answer = f.call("file.move", args.clone());
        assert_eq!(preview.result.is_ok(), answer.result.is_ok(), "{args}");
        let shown = match answer.result {
            Ok(_) => names(&f),
            Err(error) => {
                assert_eq!(tree(&f), before, "{args}: a failure changed something");
                format!(
                    "{}: {}",
                    error.code,
                    error.message.split(": `").next().unwrap()
                )
            }
        };
        assert_eq!(shown, expected, "{args}");
    };
    let rest = "dir/ dir/c.txt dir/deep/ dir/deep/d.txt empty/";
    check(
        json!({"from": "a.txt", "to": "z.txt"}),
        &format!("b.txt {rest} z.txt"),
    );
    check(
        json!({"from": "a.txt", "to": "new/deep/a"}),
        &format!("b.txt {rest} new/ new/deep/ new/deep/a"),
    );
    check(
        json!({"from": "a.txt", "to": "empty"}),
        &format!("b.txt {rest} empty/a.txt"),
    );
    check(
        json!({"from": "a.txt", "to": "b.txt", "overwrite": true}),
        &format!("b.txt {rest}"),
    );
    check(
        json!({"from": "dir", "to": "empty"}),
        "a.txt b.txt empty/ empty/dir/ empty/dir/c.txt empty/dir/deep/ empty/dir/deep/d.txt",
    );
    let failed = |text: &str| format!("execution_failed: {text}");
    check(
        json!({"from": "a.txt", "to": "b.txt"}),
        &failed("something is already there"),
    );
    check(
        json!({"from": "no", "to": "x"}),
        &failed("no such file or directory"),
    );
    check(
        json!({"from": "dir", "to": "a.txt", "overwrite": true}),
        &failed("something is already there"),
    );
    check(
        json!({"from": "dir", "to": "dir/deep/dir"}),
        "input_invalid: a folder cannot be moved into itself",
    );
    check(
        json!({"from": "a.txt", "to": "./a.txt"}),
        "input_invalid: it is already there",
    );
    check(
        json!({"from": ".", "to": "x"}),
        "denied: the workspace itself stays where it is",
    );
    check(
        json!({"from": "a.txt", "to": "../out/a"}),
        "denied: path leaves the workspace",
    );
    check(
        json!({"from": "a.txt", "to": "haft.yaml"}),
        "denied: haft's own config is never written by a tool",
    );
}

#[test]
fn an_overwritten_file_is_really_replaced() {
    let f = world();
    f.call(
        "file.move",
        json!({"from": "a.txt", "to": "b.txt", "overwrite": true}),
    )
    .structured();
    assert_eq!(f.content("b.txt"), "a");
    assert!(!f.at("ws/a.txt").exists());
    assert!(!names(&f).contains(".haft-"));
}

#[test]
fn links_are_moved_and_deleted_themselves() {
    let f = world();
    symlink("dir", f.at("ws/link")).unwrap();
    symlink(f.at("out"), f.at("ws/away")).unwrap();
    f.call("file.move", json!({"from": "link", "to": "link2"}))
        .structured();
    assert!(f.at("ws/link2").is_symlink());
    f.call("file.delete", json!({"path": "link2", "recursive": true}))
        .structured();
    f.call("file.delete", json!({"path": "away"})).structured();
    assert_eq!(f.content("dir/c.txt"), "c");
    assert!(f.at("out/secret.txt").exists() && !f.at("ws/away").is_symlink());
}

#[test]
fn deleting() {
    let check = |args: Value, expected: &str| {
        let f = world();
        let before = tree(&f);
        f.preview("file.delete", args.clone());
        assert_eq!(tree(&f), before, "{args}: a preview changed something");
        let shown = match f.call("file.delete", args.clone()).result {
            Ok(output) => format!(
                "{} {}",
                output.structured.as_ref().unwrap()["deleted"],
                names(&f)
            ),
            Err(error) => {
                assert_eq!(tree(&f), before, "{args}");
                format!(
                    "{}: {}",
                    error.code,
                    error.message.split(": `").next().unwrap()
                )
            }
        };
        assert_eq!(shown, expected, "{args}");
    };
    check(
        json!({"path": "a.txt"}),
        "1 b.txt dir/ dir/c.txt dir/deep/ dir/deep/d.txt empty/",
    );
    check(
        json!({"path": "empty"}),
        "1 a.txt b.txt dir/ dir/c.txt dir/deep/ dir/deep/d.txt",
    );
    check(
        json!({"path": "dir", "recursive": true}),
        "4 a.txt b.txt empty/",
    );
    check(
        json!({"path": "dir/deep/..", "recursive": true}),
        "4 a.txt b.txt empty/",
    );
    check(
        json!({"path": "dir"}),
        "execution_failed: the folder is not empty",
    );
    check(
        json!({"path": "no"}),
        "execution_failed: no such file or directory",
    );
    check(
        json!({"path": ".", "recursive": true}),
        "denied: the workspace itself stays where it is",
    );
    check(
        json!({"path": "dir/..", "recursive": true}),
        "denied: the workspace itself stays where it is",
    );
    check(
        json!({"path": "../out", "recursive": true}),
        "denied: path leaves the workspace",
    );
}

#[test]
fn what_is_touched_is_declared() {
    let f = world();
    f.put("dir/.env", "KEY=1");
    let effects = |tool: &str, args: Value| {
        let effects = f.preview(tool, args).effects.unwrap();
        let shown: Vec<String> = effects
            .accesses
            .iter()
            .map(|access| {
                assert_eq!(access.mode, Mode::Write);
                let shown = access.resource.to_string();
                shown.replace(f.at("ws").to_str().unwrap(), "")
            })
            .collect();
        shown.join(" ")
    };
    assert_eq!(
        effects("file.move", json!({"from": "a.txt", "to": "z"})),
        "file:///a.txt file:///z"
    );
    assert_eq!(
        effects("file.delete", json!({"path": "dir", "recursive": true})),
        "file:///dir/** protected:/dir/.env"
    );
    assert_eq!(
        effects("file.move", json!({"from": "dir", "to": ".github"})),
        "file:///dir/** protected:/dir/.env file:///.github/** protected:/.github/.env"
    );
    assert_eq!(
        effects(
            "file.move",
            json!({"from": "a.txt", "to": ".git/hooks/pre-commit"})
        ),
        "file:///a.txt file:///.git/hooks/pre-commit protected:/.git/hooks/pre-commit"
    );
    let tree = Resource::Tree(f.at("ws/dir"));
    let delete = f.preview("file.delete", json!({"path": "dir", "recursive": true}));
    assert_eq!(delete.effects.unwrap().accesses[0].resource, tree);
}
