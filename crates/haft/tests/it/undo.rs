//! What a call changed is put back by another process, to the byte.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{HAFT, Place, finish, text, verdict};

/// Every path of a tree with its kind, mode, time of change and content.
pub(crate) fn tree(root: &Path) -> BTreeMap<Vec<u8>, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let about = fs::symlink_metadata(&path).unwrap();
            let what = if about.is_symlink() {
                format!("link to {:?}", fs::read_link(&path).unwrap())
            } else if about.is_dir() {
                folders.push(path.clone());
                format!("folder {:o}", about.mode())
            } else if !about.is_file() {
                format!("other {:o}", about.mode())
            } else {
                let content = fs::read(&path).unwrap();
                let time = (about.mtime(), about.mtime_nsec());
                format!(
                    "file {:o} {}:{} {time:?} {content:?}",
                    about.mode(),
                    about.uid(),
                    about.gid()
                )
            };
            let name = path.strip_prefix(root).unwrap();
            found.insert(name.as_os_str().as_bytes().to_vec(), what);
        }
    }
    found
}

/// A workspace with something of everything.
pub(crate) fn furnished() -> Place {
    let place = Place::with_config("tools: {autonomy: autonomous, rules: {allow: [shell.exec]}}\n");
    place.file("src/main.rs", "fn main() {\n    old();\n}\n");
    place.file("src/deep/er/mod.rs", b"binary \0\xff\n");
    place.file(".gitignore", "ignored\n*.log\n");
    place.file("ignored/cache.bin", [0u8; 5000]);
    place.file("trace.log", "ignored too\n");
    place.file("empty", "");
    place.file("a.txt", "one\n");
    place.file("b.txt", "two\n");
    let work = &place.workspace;
    fs::create_dir_all(work.join("nothing/in/here")).unwrap();
    let mode = |path: &str, bits| {
        fs::set_permissions(work.join(path), fs::Permissions::from_mode(bits)).unwrap();
    };
    mode("a.txt", 0o755);
    mode("b.txt", 0o600);
    mode("nothing/in", 0o711);
    symlink("a.txt", work.join("link")).unwrap();
    symlink("nowhere/at all", work.join("src/dangling")).unwrap();
    place
}

/// Change something, undo it, undo the undo, and undo that: before, after and before again.
#[track_caller]
pub(crate) fn there_and_back(place: &Place, change: impl FnOnce(&Place)) {
    let before = tree(&place.workspace);
    change(place);
    let after = tree(&place.workspace);
    assert_ne!(before, after, "nothing was changed");
    place.run(["undo", "--yes"]).exits(0);
    assert_eq!(tree(&place.workspace), before, "undone");
    place.run(["undo", "--yes"]).exits(0);
    assert_eq!(names(&after), names(&tree(&place.workspace)), "redone");
    place.run(["undo", "--yes"]).exits(0);
    assert_eq!(tree(&place.workspace), before, "undone again");
}

/// Everything but the times: what is made again is made later.
fn names(tree: &BTreeMap<Vec<u8>, String>) -> Vec<(Vec<u8>, String)> {
    let plain = |what: &String| what.split(" (").next().unwrap_or_default().to_owned();
    tree.iter()
        .map(|(name, what)| (name.clone(), plain(what)))
        .collect()
}

#[test]
fn what_file_tools_change_is_put_back() {
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+three\n--- /dev/null\n+++ b/new/p\n@@ -0,0 +1 @@\n+p\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-two\n";
    let rows = [
        ("file.write", json!({"path": "a.txt", "content": "other"})),
        (
            "file.write",
            json!({"path": "new/folders/f", "content": "x"}),
        ),
        (
            "file.write",
            json!({"path": "link", "content": "through a link"}),
        ),
        (
            "file.edit",
            json!({"path": "src/main.rs", "search": "old", "replace": "new"}),
        ),
        ("file.patch", json!({"patch": patch})),
        ("file.move", json!({"from": "a.txt", "to": "sub/c.txt"})),
        (
            "file.move",
            json!({"from": "a.txt", "to": "b.txt", "overwrite": true}),
        ),
        ("file.move", json!({"from": "src", "to": "lib/src"})),
        ("file.move", json!({"from": "link", "to": "src/link"})),
        ("file.delete", json!({"path": "b.txt"})),
        ("file.delete", json!({"path": "link"})),
        ("file.delete", json!({"path": "src", "recursive": true})),
        ("file.delete", json!({"path": "nothing", "recursive": true})),
        ("file.delete", json!({"path": "ignored", "recursive": true})),
        ("file.delete", json!({"path": "trace.log"})),
        (
            "file.batch",
            json!({"operation": "rename", "pattern": "^(.)\\.txt$", "replacement": "$1.md"}),
        ),
        (
            "file.batch",
            json!({"operation": "move", "pattern": "*.txt", "destination": "texts"}),
        ),
        (
            "file.batch",
            json!({"operation": "transform", "pattern": "*.txt", "find": "o", "replace": "0"}),
        ),
    ];
    for (tool, args) in rows {
        let place = furnished();
        there_and_back(&place, |place| {
            place.done(tool, &args);
        });
    }
}

#[test]
fn a_call_is_undone_by_its_id_and_only_if_nobody_was_there_since() {
    let place = furnished();
    let first = place.done("file.write", &json!({"path": "a.txt", "content": "1"}));
    let second = place.done("file.write", &json!({"path": "b.txt", "content": "2"}));
    let id = first["call_id"].as_str().unwrap();
    place.run(["undo", id, "--yes"]).exits(0);
    assert_eq!(place.read("a.txt"), "one\n");
    assert_eq!(place.read("b.txt"), "2");

    place.file("b.txt", "a person's own");
    let before = tree(&place.workspace);
    let outcome = place.call("file.undo", &json!({"call": second["call_id"]}), &["--yes"]);
    assert_eq!(verdict(&outcome), "conflict", "{outcome}");
    assert_eq!(tree(&place.workspace), before);

    let unknown = place.call("file.undo", &json!({"call": "../../x"}), &["--yes"]);
    assert_eq!(verdict(&unknown), "input_invalid");
    let both = json!({"call": id, "wholeSession": true});
    assert_eq!(
        verdict(&place.call("file.undo", &both, &["--yes"])),
        "input_invalid"
    );
}

#[test]
fn what_was_put_back_by_hand_is_no_conflict() {
    let place = furnished();
    place.done(
        "file.write",
        &json!({"path": "b.txt", "content": "changed"}),
    );
    place.file("b.txt", "two\n");
    place
        .run(["undo", "--yes"])
        .exits(0)
        .says("nothing to put back");
    assert_eq!(place.read("b.txt"), "two\n");
}

#[test]
fn a_whole_session_is_undone_and_nobody_else() {
    let place = furnished();
    place.done("file.write", &json!({"path": "other", "content": "stays"}));
    let before = tree(&place.workspace);
    let mine = |tool: &str, args: Value| {
        let outcome = place.call(tool, &args, &["--yes", "--session", "mine"]);
        assert_eq!(verdict(&outcome), "ok", "{outcome}");
    };
    mine("file.write", json!({"path": "a.txt", "content": "1"}));
    mine(
        "file.edit",
        json!({"path": "a.txt", "search": "1", "replace": "2"}),
    );
    mine("file.move", json!({"from": "a.txt", "to": "z.txt"}));
    mine("file.delete", json!({"path": "src", "recursive": true}));
    place
        .run(["undo", "--whole-session", "--session", "mine", "--yes"])
        .exits(0);
    assert_eq!(tree(&place.workspace), before);
    place
        .run(["undo", "--whole-session", "--session", "mine", "--yes"])
        .exits(1)
        .says("nothing to be undone");
}

#[test]
fn an_id_that_was_used_again_reaches_the_older_call_too() {
    let place = Place::new();
    for name in ["aa", "bb"] {
        let args = json!({"path": name, "content": "x"});
        let call = json!([{"id": "1", "name": "file.write", "args": args}]);
        assert_eq!(place.batch(&call, &["--yes"])[0]["ok"], true);
    }
    place.run(["undo", "1", "--yes"]).exits(0).says("bb");
    place.run(["undo", "1", "--yes"]).exits(0).says("aa");
    assert!(!place.workspace.join("aa").exists());
    place
        .run(["undo", "1", "--yes"])
        .exits(0)
        .says("nothing to put back");
}

#[test]
fn a_change_in_between_is_not_lost_with_the_session() {
    let place = furnished();
    place.done("file.write", &json!({"path": "b.txt", "content": "1"}));
    place.file("b.txt", "a person's own");
    place.done("file.write", &json!({"path": "b.txt", "content": "2"}));
    place
        .run(["undo", "--whole-session", "--yes"])
        .exits(1)
        .says("changed since");
    assert_eq!(place.read("b.txt"), "2");
}

#[test]
fn the_list_and_the_dry_run_change_nothing() {
    let place = furnished();
    place
        .run(["undo", "--list"])
        .exits(0)
        .says("no call has changed files");
    place
        .run(["undo", "--yes"])
        .exits(1)
        .says("no call has changed files");
    let made = place.done("file.delete", &json!({"path": "src", "recursive": true}));
    let before = tree(&place.workspace);
    place
        .run(["undo", "--list"])
        .exits(0)
        .says(made["call_id"].as_str().unwrap());
    place
        .run(["undo", "--dry-run"])
        .exits(0)
        .says("would put back")
        .says("src/main.rs");
    assert_eq!(tree(&place.workspace), before);
    place.run(["undo", "--yes"]).exits(0);
    let listed = place.call("file.undo", &json!({"list": true}), &[]);
    let undone: Vec<&Value> = listed["structured"]["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| &call["undone"])
        .collect();
    assert_eq!(undone, [&json!(false), &json!(true)]);
}

#[test]
fn what_is_too_large_is_named_and_the_rest_is_put_back() {
    let place = furnished();
    place.config("tools: {autonomy: autonomous}\nundo: {max_file: 100}\n");
    let outcome = place.done(
        "file.delete",
        &json!({"path": "ignored", "recursive": true}),
    );
    let lost = &outcome["structured"]["notUndoable"][0];
    assert!(
        lost["path"]
            .as_str()
            .unwrap()
            .ends_with("ignored/cache.bin"),
        "{outcome}"
    );
    assert!(
        text(&outcome).contains("too large to be kept: 5000 bytes"),
        "{outcome}"
    );
    let undone = place.call("file.undo", &json!({}), &["--yes"]);
    assert_eq!(verdict(&undone), "ok", "{undone}");
    assert!(place.workspace.join("ignored").is_dir());
    assert!(!place.workspace.join("ignored/cache.bin").exists());
    assert_eq!(
        undone["structured"]["notRestored"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_denied_place_is_denied_to_an_undo_too() {
    let place = furnished();
    let made = place.done("file.delete", &json!({"path": "src/main.rs"}));
    place.config("tools: {autonomy: autonomous, rules: {deny: ['file.write(src/**)']}}\n");
    let before = tree(&place.workspace);
    for args in [
        json!({}),
        json!({"call": made["call_id"]}),
        json!({"wholeSession": true}),
    ] {
        let outcome = place.call("file.undo", &args, &["--yes"]);
        assert_eq!(verdict(&outcome), "denied", "{outcome}");
    }
    place.run(["undo", "--yes"]).exits(1).says("denied");
    assert_eq!(tree(&place.workspace), before);
}

#[test]
fn a_list_of_what_could_be_undone_asks_nobody() {
    let place = furnished();
    place.done("file.write", &json!({"path": "a.txt", "content": "1"}));
    for level in ["supervised", "standard"] {
        place.config(&format!("tools: {{autonomy: {level}}}\n"));
        let listed = place.call("file.undo", &json!({"list": true}), &[]);
        assert_eq!(
            listed["structured"]["calls"].as_array().unwrap().len(),
            1,
            "{listed}"
        );
        let undone = place.call("file.undo", &json!({}), &[]);
        assert_eq!(verdict(&undone), "denied", "{undone}");
    }
    assert_eq!(place.read("a.txt"), "1");
}

#[test]
fn a_protected_place_is_asked_about() {
    let place = furnished();
    place.file(".env", "A=1\n");
    place.done("file.write", &json!({"path": ".env", "content": "A=2\n"}));
    let outcome = place.call("file.undo", &json!({}), &[]);
    assert_eq!(verdict(&outcome), "denied", "{outcome}");
    assert_eq!(place.read(".env"), "A=2\n");
    place.run(["undo", "--yes"]).exits(0);
    assert_eq!(place.read(".env"), "A=1\n");
}

/// A folder on the way becomes a link out of the workspace between the change and its undo.
#[test]
fn nothing_is_ever_written_through_a_link() {
    for (tool, args) in [
        ("file.delete", json!({"path": "src/main.rs"})),
        ("file.delete", json!({"path": "src", "recursive": true})),
        (
            "file.edit",
            json!({"path": "src/main.rs", "search": "old", "replace": "new"}),
        ),
        ("file.move", json!({"from": "src/main.rs", "to": "main.rs"})),
    ] {
        let place = furnished();
        place.done(tool, &args);
        let outside = place.beside("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("main.rs"), "theirs").unwrap();
        let _ = fs::remove_dir_all(place.workspace.join("src"));
        symlink(&outside, place.workspace.join("src")).unwrap();
        let (before, theirs) = (tree(&place.workspace), tree(&outside));
        let outcome = place.call("file.undo", &json!({}), &["--yes"]);
        assert_eq!(verdict(&outcome), "conflict", "{outcome}");
        assert_eq!((tree(&place.workspace), tree(&outside)), (before, theirs));
    }
}

#[test]
fn what_is_kept_is_for_its_owner_alone() {
    let place = furnished();
    // Small contents lie in one file, a large one in its own.
    place.file("src/large.bin", vec![7; 100_000]);
    place.done("file.delete", &json!({"path": "src", "recursive": true}));
    let mut folders = vec![place.home.join("undo"), place.home.join("blobs")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        assert_eq!(
            fs::metadata(&folder).unwrap().mode() & 0o777,
            0o700,
            "{folder:?}"
        );
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(
                    fs::metadata(&path).unwrap().mode() & 0o777,
                    0o600,
                    "{path:?}"
                );
                files += 1;
            }
        }
    }
    assert_eq!(files, 3, "a log, small contents, a large one");
}

/// The list is in the store and the contents are blobs; a call's own files go with the next one.
#[test]
fn calls_are_listed_in_the_store() {
    let place = furnished();
    place.file("large.bin", vec![7; 100_000]);
    for path in ["a.txt", "large.bin"] {
        place.done("file.write", &json!({"path": path, "content": "1"}));
    }
    let db = || rusqlite::Connection::open(place.home.join("haft.db")).unwrap();
    let count = |sql: &str| -> i64 { db().query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM changes"), 2);
    let refs = "SELECT count(*) FROM blob_refs WHERE owner LIKE 'undo/%'";
    assert_eq!(count(refs), 4, "a pack, a large content, two logs");
    let drafts = || fs::read_dir(place.home.join("undo/calls")).unwrap().count();
    assert_eq!(drafts(), 3, "those of the last call");
    place.run(["gc"]).exits(0);
    assert_eq!(drafts(), 0);
    place.run(["undo", "--yes"]).exits(0);
    let put_back = fs::read(place.workspace.join("large.bin")).unwrap();
    assert_eq!(put_back, vec![7; 100_000]);
    place
        .run(["undo", "--list"])
        .exits(0)
        .says("file.undo")
        .says("undone");
    place.config("undo: {keep_bytes: 1}\n");
    place.run(["gc"]).exits(0);
    assert_eq!(count("SELECT count(*) FROM changes"), 0);
    assert_eq!(count(refs), 0);
    place.run(["undo", "--yes"]).exits(1);
}

#[test]
fn nobody_is_asked_before_a_list() {
    let place = Place::new();
    let list = place.run(["undo", "--list"]);
    list.exits(0).says("no call has changed files");
}

#[test]
fn switched_off_nothing_is_kept() {
    let place = furnished();
    place.config("undo: {enabled: false}\ntools: {autonomy: autonomous}\n");
    place.done("file.write", &json!({"path": "a.txt", "content": "1"}));
    assert!(!place.home.join("undo").exists());
    let outcome = place.call("file.undo", &json!({}), &["--yes"]);
    assert_eq!(verdict(&outcome), "not_available", "{outcome}");
}

/// Levels at which a command runs on the real workspace.
const LEVELS: [&str; 2] = ["shared", "sandboxed"];

fn at_level(level: &str) -> Place {
    let place = furnished();
    place.config(&format!(
        "tools: {{autonomy: autonomous, rules: {{allow: [shell.exec]}}}}\n\
         isolation: {{level: {level}}}\n"
    ));
    place
}

#[track_caller]
fn shell(place: &Place, line: &str) -> Value {
    let outcome = place.done("shell.exec", &json!({ "command": line }));
    assert_eq!(
        outcome["structured"]["notUndoable"],
        Value::Null,
        "{outcome}"
    );
    outcome
}

#[test]
fn what_a_shell_line_did_is_put_back() {
    let lines = [
        "rm b.txt && mv a.txt src/moved && sed -i 's/old/new/' src/main.rs",
        "rm -rf src",
        "mv src lib && echo more >> lib/main.rs && rm lib/deep/er/mod.rs",
        "mv src lib && mkdir src && echo other > src/main.rs && mv lib/deep src/deep",
        "find . -name '*.txt' -delete; rm -r ignored nothing; ln -s x y; mkdir -p p/q/r",
        "echo through > link; chmod 700 b.txt nothing/in; ln -sf b.txt link",
        "cp a.txt copy; printf x >> a.txt; truncate -s 1 trace.log; : > empty2",
        "printf 'import os,shutil\\nshutil.rmtree(\"src\")\\nos.rename(\"a.txt\",\"b.txt\")\\nopen(\"new\",\"w\").write(\"1\")\\n' > s.py; python3 s.py",
        "ln b.txt hard; echo changed > hard; rm b.txt",
        "touch \"$(printf 'odd\\nname\\377')\"; mv src \"$(printf 'odd \\342\\200\\256 dir')\"",
        "(cd src && rm main.rs) && mv src/../a.txt ./src/./b && rmdir nothing/in/here",
    ];
    for level in LEVELS {
        for line in lines {
            let place = at_level(level);
            println!("{level}: {line}");
            there_and_back(&place, |place| {
                shell(place, line);
            });
        }
    }
}

#[test]
fn git_clean_is_put_back() {
    for level in LEVELS {
        let place = at_level(level);
        for args in [
            &["init", "-q"][..],
            &["add", "src/main.rs", ".gitignore"],
            &[
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
                "commit",
                "-qm",
                "x",
            ],
        ] {
            let done = std::process::Command::new("git")
                .args(args)
                .current_dir(&place.workspace)
                .status();
            assert!(done.unwrap().success());
        }
        let before = tree(&place.workspace);
        shell(&place, "git clean -fdxq");
        assert!(!place.workspace.join("ignored").exists());
        place.run(["undo", "--yes"]).exits(0);
        assert_eq!(tree(&place.workspace), before, "{level}");
    }
}

#[test]
fn a_line_that_changes_nothing_leaves_nothing() {
    let place = at_level("shared");
    shell(
        &place,
        "ls -R > /dev/null; cat a.txt; echo x > /tmp/haft-undo-test; rm /tmp/haft-undo-test",
    );
    place
        .run(["undo", "--yes"])
        .exits(1)
        .says("no call has changed files");
}

/// The command kills the haft that runs it, in the middle of its work.
#[test]
fn what_was_done_before_haft_was_killed_is_put_back() {
    let place = at_level("shared");
    let before = tree(&place.workspace);
    let line = "rm -rf src; sed -i s/one/two/ a.txt; kill -9 $PPID; true";
    let args = json!({ "command": line }).to_string();
    let ran = place.run(["call", "shell.exec", &args, "--yes"]);
    assert_eq!(ran.code, -1, "{ran:?}");
    assert!(!place.workspace.join("src").exists());
    place.run(["undo", "--yes"]).exits(0).says("cut short");
    assert_eq!(tree(&place.workspace), before);
}

#[test]
fn what_a_background_session_did_is_put_back() {
    let place = at_level("shared");
    let before = tree(&place.workspace);
    let calls = json!([{
        "id": "bg",
        "name": "Bash",
        "args": {"command": "rm -rf src; echo done", "yieldMs": 60000},
    }]);
    place.batch(&calls, &["--yes"]);
    assert!(!place.workspace.join("src").exists());
    // By the name of the tool that was called, whatever it was called by.
    let listed = place.call("file.undo", &json!({"list": true}), &[]);
    assert_eq!(listed["structured"]["calls"][0]["tool"], "shell.exec");
    place.run(["undo", "bg", "--yes"]).exits(0);
    assert_eq!(tree(&place.workspace), before);
}

#[test]
fn what_a_line_did_to_a_large_file_is_named() {
    let place = at_level("shared");
    place.config(
        "tools: {autonomy: autonomous, rules: {allow: [shell.exec]}}\n\
         isolation: {level: shared}\nundo: {max_file: 100}\n",
    );
    let outcome = place.done(
        "shell.exec",
        &json!({"command": "rm ignored/cache.bin a.txt; echo ok"}),
    );
    let lost = outcome["structured"]["notUndoable"].as_array().unwrap();
    assert_eq!(lost.len(), 1, "{outcome}");
    assert!(
        lost[0]["path"]
            .as_str()
            .unwrap()
            .ends_with("ignored/cache.bin")
    );
    assert!(text(&outcome).contains("cannot be undone"), "{outcome}");
}

#[test]
fn a_pipe_that_a_line_made_is_removed_and_one_that_it_removed_is_named() {
    let place = at_level("shared");
    let before = tree(&place.workspace);
    shell(&place, "mkfifo pipe");
    place.run(["undo", "--yes"]).exits(0);
    assert_eq!(tree(&place.workspace), before);
    shell(&place, "mkfifo pipe");
    let outcome = place.done("shell.exec", &json!({"command": "rm pipe b.txt"}));
    let lost = outcome["structured"]["notUndoable"].as_array().unwrap();
    assert!(
        lost[0]["path"].as_str().unwrap().ends_with("/pipe"),
        "{outcome}"
    );
    place.run(["undo", "--yes"]).exits(0).says("not put back");
    assert_eq!(tree(&place.workspace), before);
}

/// What users have attached to the files of a workspace.
fn attached(place: &Place) -> String {
    let script = "import os
for name in sorted(os.listdir('.')):
    for key in sorted(os.listxattr(name, follow_symlinks=False)):
        print(name, key, os.getxattr(name, key, follow_symlinks=False))";
    let mut python = Command::new("python3");
    python.args(["-c", script]).current_dir(&place.workspace);
    String::from_utf8(python.output().unwrap().stdout).unwrap()
}

#[test]
fn attributes_are_put_back() {
    let set = "python3 -c \"import os; os.setxattr('a.txt', 'user.note', b'kept')\"";
    for level in LEVELS {
        let place = at_level(level);
        let before = tree(&place.workspace);
        shell(&place, set);
        assert_eq!(attached(&place), "a.txt user.note b'kept'\n");
        place.run(["undo", "--yes"]).exits(0);
        assert_eq!(attached(&place), "");
        assert_eq!(tree(&place.workspace), before);
        shell(&place, set);
        for line in [
            "rm a.txt",
            "echo more >> a.txt",
            "python3 -c \"import os; os.removexattr('a.txt', 'user.note')\"",
            "python3 -c \"import os; os.setxattr('a.txt', 'user.note', b'other')\"",
            "mv a.txt moved; echo x > a.txt",
        ] {
            shell(&place, line);
            place.run(["undo", "--yes"]).exits(0);
            assert_eq!(attached(&place), "a.txt user.note b'kept'\n", "{line}");
            assert_eq!(tree(&place.workspace), before, "{line}");
        }
    }
}

#[test]
fn attributes_of_folders_are_put_back() {
    let python = |what: &str| format!("python3 -c \"import os; os.{what}\"");
    for level in LEVELS {
        let place = at_level(level);
        shell(&place, "mkdir noted && touch noted/inside");
        shell(&place, &python("setxattr('noted', 'user.note', b'kept')"));
        let before = tree(&place.workspace);
        for line in [
            &python("setxattr('noted', 'user.note', b'other')"),
            &python("removexattr('noted', 'user.note')"),
            &python("setxattr('noted', 'user.more', b'more')"),
            "rm -r noted",
            "mv noted moved; mkdir noted",
        ] {
            shell(&place, line);
            place.run(["undo", "--yes"]).exits(0);
            assert_eq!(
                attached(&place),
                "noted user.note b'kept'\n",
                "{level} {line}"
            );
            assert_eq!(tree(&place.workspace), before, "{level} {line}");
        }
    }
}

#[test]
fn other_names_of_a_file_are_named() {
    let place = at_level("shared");
    for path in [place.workspace.join("one"), place.beside("outside")] {
        fs::hard_link(place.workspace.join("b.txt"), path).unwrap();
    }
    let before = tree(&place.workspace);
    let line = json!({"command": "rm b.txt one a.txt"});
    let outcome = place.done("shell.exec", &line);
    let lost = outcome["structured"]["notUndoable"].as_array().unwrap();
    assert_eq!(lost.len(), 1, "{outcome}");
    let why = lost[0]["why"].as_str().unwrap();
    assert!(why.starts_with("it and 1 more had other names"), "{why}");
    place.run(["undo", "--yes"]).exits(0).says("other names");
    assert_eq!(tree(&place.workspace), before);
}

#[test]
fn a_new_repository_is_taken_away_again() {
    for level in LEVELS {
        let place = at_level(level);
        there_and_back(&place, |place| {
            shell(place, "git init -q -b main && git add a.txt");
            assert!(place.workspace.join(".git/index").exists(), "{level}");
        });
    }
}

/// The user nobody, of whom every system has one.
const NOBODY: u32 = 65_534;

/// A program that gives rights works, and it is said that what it changes is not known. Only root
/// can make one.
#[test]
fn a_line_may_gain_rights_where_nothing_shuts_it_in() {
    let place = at_level("shared");
    if fs::metadata(&place.workspace).unwrap().uid() != 0 {
        return;
    }
    let own = |path: &Path| std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    let root = place.beside("");
    let program = root.join("haft");
    fs::hard_link(HAFT, &program)
        .or_else(|_| fs::copy(HAFT, &program).map(drop))
        .unwrap();
    for path in [
        &root,
        &place.home,
        &place.workspace,
        &place.beside("person"),
    ] {
        own(path);
    }
    own(&place.home.join("config.yaml"));
    for name in ["sudo", "other"] {
        let file = place.workspace.join(name);
        fs::copy("/usr/bin/id", &file).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
    }
    let run = |line: &str| {
        let args = json!({ "command": line }).to_string();
        let mut haft = Command::new(&program);
        place.settle(&mut haft);
        haft.args(["call", "shell.exec", &args, "--yes", "--json"]);
        finish(haft.uid(NOBODY).gid(NOBODY)).json()
    };
    let outcome = run("./sudo -u; echo x > made");
    assert_eq!(outcome["structured"]["output"], "0\n", "{outcome}");
    let why = outcome["structured"]["notUndoable"][0]["why"].to_string();
    assert!(why.contains("it runs `sudo`"), "{outcome}");
    let outcome = run("./other -u; echo y > made");
    assert_eq!(outcome["structured"]["output"], "65534\n", "{outcome}");
    assert_eq!(
        outcome["structured"]["notUndoable"],
        Value::Null,
        "{outcome}"
    );
}
