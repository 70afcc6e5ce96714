//! Files that cannot be had: a disk of the workspace that is full, and places that a normal user
//! may not go. Nothing is ever half written.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{HAFT, Place, finish};

/// The user nobody, of whom every system has one.
const NOBODY: u32 = 65_534;

/// Fills a small disk under the workspace, tries each call that it is given, and shows what is
/// there afterwards.
const FULL: &str = r#"
set -u
mount -t tmpfs -o size=1m,mode=0700 none "$WORK" || { echo "no mount"; exit 0; }
cd "$WORK"
printf 'one\n' > a.txt
printf 'one\n' > b.txt
cat /dev/zero > fill 2>/dev/null
while [ $# -gt 1 ]; do
    "$HAFT" call "$1" "$2" --yes > "$HAFT_HOME/answer" 2>&1
    echo "== $1: $? $(grep -c 'disk full' "$HAFT_HOME/answer")"
    shift 2
done
echo "left: $(ls -A | tr '\n' ' ')"
cat a.txt b.txt
"#;

#[test]
fn a_full_disk_leaves_every_file_as_it_was() {
    let place = Place::new();
    let long = "x".repeat(20_000);
    let calls = [
        ("file.write", json!({"path": "a.txt", "content": long})),
        ("file.write", json!({"path": "new.txt", "content": long})),
        (
            "file.edit",
            json!({"path": "a.txt", "oldString": "one", "newString": long}),
        ),
        (
            "file.patch",
            json!({"patch": format!("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+{long}\n")}),
        ),
        (
            "file.batch",
            json!({"operation": "transform", "pattern": "*.txt", "find": "one", "replace": long}),
        ),
    ];
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", FULL, "sh"]);
    for (tool, args) in &calls {
        command.arg(tool).arg(args.to_string());
    }
    place.settle(&mut command);
    command
        .env("HAFT", HAFT)
        .env("WORK", &place.workspace)
        .current_dir("/");
    let ran = finish(&mut command);
    ran.exits(0);
    for (tool, _) in &calls {
        let told = format!("== {tool}: 1 1\n");
        assert!(ran.out.contains(&told), "{tool}: {ran:?}");
        assert!(!ran.out.contains(&format!("== {tool}: 0")), "{ran:?}");
    }
    let left = "left: a.txt b.txt fill \none\none\n";
    assert!(ran.out.ends_with(left), "{ran:?}");
}

/// Give everything below a folder to nobody; the program itself stays whose it is.
fn give_away(folder: &Path) {
    chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => give_away(&entry.path()),
            false if entry.file_name() == "haft" => {}
            false => chown(entry.path(), Some(NOBODY), Some(NOBODY)).unwrap(),
        }
    }
}

/// As a user with no rights but his own: nobody, if we are root ourselves.
#[test]
fn what_is_not_permitted_is_said_and_changes_nothing() {
    let place = Place::new();
    let mode = |path: &str, mode: u32| {
        let path = place.workspace.join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    place.file("closed.txt", "secret\n");
    place.file("shut/inside.txt", "inside\n");
    place.file("dark/inside.txt", "inside\n");
    let root = place.beside("");
    let program = root.join("haft");
    fs::hard_link(HAFT, &program)
        .or_else(|_| fs::copy(HAFT, &program).map(drop))
        .unwrap();
    let is_root = fs::metadata(&root).unwrap().uid() == 0;
    if is_root {
        give_away(&root);
    }
    mode("closed.txt", 0o000);
    mode("shut", 0o555);
    mode("dark", 0o000);
    let call = |tool: &str, args: Value| {
        let mut haft = Command::new(&program);
        place.settle(&mut haft);
        haft.args(["call", tool, &args.to_string(), "--yes", "--json"]);
        if is_root {
            haft.uid(NOBODY).gid(NOBODY);
        }
        finish(&mut haft).json()
    };
    for (tool, args) in [
        ("file.read", json!({"path": "closed.txt"})),
        ("file.read", json!({"path": "dark/inside.txt"})),
        ("file.list", json!({"path": "dark"})),
        (
            "file.edit",
            json!({"path": "closed.txt", "oldString": "secret", "newString": "x"}),
        ),
        (
            "file.write",
            json!({"path": "shut/new.txt", "content": "x"}),
        ),
        (
            "file.write",
            json!({"path": "shut/inside.txt", "content": "x"}),
        ),
        (
            "file.write",
            json!({"path": "dark/new/new.txt", "content": "x"}),
        ),
        ("file.delete", json!({"path": "shut/inside.txt"})),
        (
            "file.move",
            json!({"source": "shut/inside.txt", "destination": "out.txt"}),
        ),
    ] {
        let outcome = call(tool, args.clone());
        let message = outcome["error"]["message"].as_str().unwrap_or_default();
        assert!(
            message.contains("permission denied"),
            "{tool} {args}: {outcome}"
        );
    }
    let found = call("file.grep", json!({"pattern": "inside"}));
    let told = found["structured"].to_string();
    assert!(told.contains("shut/inside.txt"), "{found}");
    assert!(
        told.contains("dark") && told.contains("closed.txt"),
        "{found}"
    );
    mode("closed.txt", 0o600);
    mode("dark", 0o755);
    assert_eq!(place.read("closed.txt"), "secret\n");
    assert_eq!(place.read("shut/inside.txt"), "inside\n");
    assert_eq!(place.read("dark/inside.txt"), "inside\n");
    for (folder, count) in [("", 4), ("shut", 1), ("dark", 1)] {
        let entries = fs::read_dir(place.workspace.join(folder)).unwrap();
        assert_eq!(entries.count(), count, "{folder}");
    }
    mode("shut", 0o755);
}
