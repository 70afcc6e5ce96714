//! What is attached to files and folders: access lists, capabilities and what users note. It stays
//! through a change, or the outcome says that it did not, and an undo puts it back.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{Place, text, verdict};
use crate::undo::{furnished, tree};

const SCRIPT: &str = "import os, struct, sys
def acl(*rows): return struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *row) for row in rows)
NONE = 0xffffffff
LIST = acl((1, 6, NONE), (2, 4, 65534), (4, 4, NONE), (16, 4, NONE), (32, 4, NONE))
RIGHTS = struct.pack('<IIIII', 0x02000001, 1 << 13, 0, 0, 0)
def show(values=False):
    for folder, _, files in sorted(os.walk('.')):
        for path in [folder] + [os.path.join(folder, name) for name in sorted(files)]:
            for key in sorted(os.listxattr(path, follow_symlinks=False)):
                value = os.getxattr(path, key, follow_symlinks=False)
                print(path, key, value.hex()) if values else print(path, key)
";

/// Run a script in the workspace, from outside.
fn python(place: &Place, script: &str) -> String {
    let mut python = Command::new("python3");
    python.args(["-c", &format!("{SCRIPT}{script}")]);
    let ran = python.current_dir(&place.workspace).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

fn attached(place: &Place) -> String {
    python(place, "show()")
}

/// A file and a folder with lists of who may use them. New files in the folder get one too.
fn marked() -> Place {
    let place = furnished();
    place.file("shared/plain", "old\n");
    python(
        &place,
        "os.setxattr('a.txt', 'system.posix_acl_access', LIST)
os.setxattr('a.txt', 'user.note', b'kept')
os.setxattr('shared', 'system.posix_acl_default', LIST)",
    );
    place
}

const MARKS: &str = "./a.txt system.posix_acl_access\n./a.txt user.note\n";
const FOLDER: &str = "./shared system.posix_acl_default\n";

fn is_root(place: &Place) -> bool {
    fs::metadata(&place.workspace).unwrap().uid() == 0
}

#[test]
fn file_tools_keep_what_is_attached() {
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+three\n";
    for (tool, args) in [
        ("file.write", json!({"path": "a.txt", "content": "other"})),
        (
            "file.write",
            json!({"path": "shared/plain", "content": "new"}),
        ),
        (
            "file.edit",
            json!({"path": "a.txt", "search": "one", "replace": "two"}),
        ),
        ("file.patch", json!({"patch": patch})),
        (
            "file.batch",
            json!({"operation": "transform", "pattern": "*.txt", "find": "o", "replace": "0"}),
        ),
    ] {
        let place = marked();
        let before = tree(&place.workspace);
        let outcome = place.done(tool, &args);
        assert_eq!(attached(&place), format!("{MARKS}{FOLDER}"), "{tool}");
        assert!(outcome["structured"]["notKept"].is_null(), "{outcome}");
        place.run(["undo", "--yes"]).exits(0);
        assert_eq!(attached(&place), format!("{MARKS}{FOLDER}"), "{tool}");
        assert_eq!(tree(&place.workspace), before, "{tool}");
    }
}

/// New content does not run with the rights that somebody gave to the old one.
#[test]
fn rights_that_are_lost_are_named_and_come_back() {
    let place = furnished();
    if !is_root(&place) {
        return;
    }
    python(
        &place,
        "os.setxattr('a.txt', 'security.capability', RIGHTS)",
    );
    let mode = fs::Permissions::from_mode(0o4755);
    fs::set_permissions(place.workspace.join("b.txt"), mode).unwrap();
    let before = tree(&place.workspace);
    for path in ["a.txt", "b.txt"] {
        let args = json!({"path": path, "content": "other"});
        let outcome = place.done("file.write", &args);
        let why = outcome["structured"]["notKept"][0]["why"].to_string();
        assert!(why.contains("runs with other rights"), "{outcome}");
        assert!(text(&outcome).contains("[not kept: "), "{outcome}");
        place.run(["undo", "--yes"]).exits(0);
        assert_eq!(tree(&place.workspace), before);
        assert_eq!(attached(&place), "./a.txt security.capability\n");
    }
}

#[test]
fn what_a_line_does_to_them_is_put_back() {
    let place = marked();
    let rights = is_root(&place);
    if rights {
        python(
            &place,
            "os.setxattr('b.txt', 'security.capability', RIGHTS)",
        );
    }
    let values = || self::python(&place, "show(True)");
    let (before, marks) = (tree(&place.workspace), values());
    assert_eq!(marks.contains("capability"), rights);
    let python = |what: &str| format!("python3 -c \"import os; os.{what}\"");
    for line in [
        "rm a.txt b.txt",
        "echo more >> a.txt; echo more >> b.txt",
        "rm -r shared",
        "mv shared moved && mkdir shared",
        "mv a.txt moved; mv b.txt a.txt",
        &python("removexattr('a.txt', 'system.posix_acl_access')"),
        &python("removexattr('shared', 'system.posix_acl_default', follow_symlinks=False)"),
        &python("setxattr('a.txt', 'user.note', b'other', follow_symlinks=False)"),
    ] {
        place.done("shell.exec", &json!({ "command": line }));
        assert_ne!(
            (tree(&place.workspace), values()),
            (before.clone(), marks.clone()),
            "{line}"
        );
        place.run(["undo", "--yes"]).exits(0);
        assert_eq!(values(), marks, "{line}");
        assert_eq!(tree(&place.workspace), before, "{line}");
    }
}

/// Try a line out and put it in place.
#[track_caller]
fn committed(place: &Place, line: &str) -> Value {
    let args = json!({ "command": line });
    let tried = place.call("shell.exec", &args, &["--yes", "--dry-run"]);
    assert_eq!(verdict(&tried), "ok", "{tried}");
    let id = tried["structured"]["id"].clone();
    place.done("shell.commit", &json!({ "id": id }));
    tried
}

#[test]
fn a_commit_keeps_what_is_attached_and_brings_what_is_new() {
    let place = marked();
    committed(
        &place,
        "echo more >> a.txt; echo new > shared/plain; echo x > shared/new; chmod 700 shared",
    );
    let new = "./shared/new system.posix_acl_access\n";
    assert_eq!(attached(&place), format!("{MARKS}{FOLDER}{new}"));
    let set = "setxattr('a.txt', 'user.more', b'1'); os.removexattr('a.txt', 'user.note')";
    let set = format!("{set}; os.setxattr('src', 'user.more', b'1')");
    let tried = committed(&place, &format!("python3 -c \"import os; os.{set}\""));
    assert!(
        text(&tried).contains("changed a.txt (attributes user.more, user.note)"),
        "{tried}"
    );
    let (list, more) = MARKS.split_at(MARKS.find("./a.txt user").unwrap());
    let more = more.replace("note", "more");
    let src = "./src user.more\n";
    assert_eq!(attached(&place), format!("{list}{more}{FOLDER}{new}{src}"));
}
