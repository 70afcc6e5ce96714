//! No file tool may write haft's own config, rules or trust, by any spelling.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::place::{Place, verdict};

const OWN: [&str; 6] = [
    "config.yaml",
    "rules.json",
    "skills.json",
    "trust.json",
    "results/x",
    "anything",
];

/// Every way to name haft's own files, from a workspace beside its home.
fn spellings(place: &Place) -> Vec<String> {
    let home = place.home.display();
    symlink(&place.home, place.workspace.join("to-home")).unwrap();
    symlink(
        place.home.join("config.yaml"),
        place.workspace.join("to-config"),
    )
    .unwrap();
    symlink(
        place.home.join("fresh.yaml"),
        place.workspace.join("to-fresh"),
    )
    .unwrap();
    place.file("sub/x", "");
    let mut spellings = vec![
        "haft.yaml".to_owned(),
        "./haft.yaml".to_owned(),
        ".//haft.yaml".to_owned(),
        "sub/../haft.yaml".to_owned(),
        "../work/haft.yaml".to_owned(),
        format!("{}/haft.yaml", place.workspace.display()),
        "to-config".to_owned(),
        "to-fresh".to_owned(),
    ];
    for own in OWN {
        spellings.push(format!("{home}/{own}"));
        spellings.push(format!("{home}//{own}"));
        spellings.push(format!("../home/{own}"));
        spellings.push(format!("to-home/{own}"));
        spellings.push(format!("sub/../to-home/{own}"));
    }
    spellings
}

/// All files of a folder with what they hold.
fn contents(dir: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // The record of the very calls that are made here.
        if name.starts_with("haft.db") || name.starts_with("journal.") {
            continue;
        }
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn file_tools_cannot_write_it() {
    let place = Place::new();
    place.file("haft.yaml", "tools: {}\n");
    fs::write(place.home.join("skills.json"), "[]").unwrap();
    fs::write(place.home.join("trust.json"), "{}").unwrap();
    // Everything is allowed, and all of the disk is open.
    place.config("tools: {autonomy: autonomous, rules: {allow: [file.write, file.edit]}}\nfiles: {roots: [/]}\n");
    let spellings = spellings(&place);
    let before = contents(&place.home);
    let mut calls = Vec::new();
    for path in &spellings {
        for name in ["file.write", "Write", "write_file", "filesystem.write"] {
            calls.push(json!({"id": format!("{name} {path}"), "name": name, "args": {"path": path, "content": "{}"}}));
        }
        for name in ["file.edit", "Edit"] {
            for search in ["tools", "[]", "{}"] {
                calls.push(json!({"id": format!("{name} {path}"), "name": name, "args": {"path": path, "search": search, "replace": "x"}}));
            }
        }
    }
    for outcome in place.batch(&calls.into(), &["--yes"]) {
        assert_eq!(outcome["ok"], false, "{outcome}");
    }
    assert_eq!(contents(&place.home), before);
    assert_eq!(place.read("haft.yaml"), "tools: {}\n");
    assert!(!place.home.join("fresh.yaml").exists());
}

/// It is the place that is protected, not the tool that is broken.
#[test]
fn the_same_tools_write_elsewhere() {
    let place = Place::new();
    place.config("files: {roots: [/]}\n");
    let beside = place.beside("free.txt");
    let args = json!({"path": beside.to_str().unwrap(), "content": "x"});
    assert_eq!(verdict(&place.call("file.write", &args, &["--yes"])), "ok");
    assert_eq!(fs::read_to_string(beside).unwrap(), "x");
    let args = json!({"path": "sub/haft.yaml.txt", "content": "x"});
    assert_eq!(verdict(&place.call("file.write", &args, &["--yes"])), "ok");
}

/// A workspace that holds haft's home, as the person's own home folder does.
#[test]
fn a_home_inside_the_workspace_is_protected_too() {
    let place = Place::new();
    let home = place.workspace.join(".haft");
    fs::create_dir(&home).unwrap();
    fs::write(
        home.join("config.yaml"),
        "tools: {autonomy: autonomous, rules: {allow: [file.write, file.edit]}}\n",
    )
    .unwrap();
    let before = contents(&home);
    for (tool, args) in [
        (
            "file.write",
            json!({"path": ".haft/config.yaml", "content": ""}),
        ),
        (
            "file.write",
            json!({"path": ".haft/rules.json", "content": "[]"}),
        ),
        (
            "file.write",
            json!({"path": ".haft/new/deep", "content": ""}),
        ),
        (
            "file.edit",
            json!({"path": ".haft/config.yaml", "search": "autonomous", "replace": "standard"}),
        ),
    ] {
        let mut command = place.haft();
        command.env("HAFT_HOME", &home);
        let args: Value = args;
        command.args(["call", tool, &args.to_string(), "--yes", "--json"]);
        let ran = crate::place::finish(&mut command);
        assert_eq!(ran.exits(1).json()["ok"], false, "{tool} {args}");
    }
    assert_eq!(contents(&home), before);
}

/// What others could read must not hold results or rules.
#[test]
fn records_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.file("long", "word word\n".repeat(50_000));
    place.file("haft.yaml", "tools: {}\n");
    place.run(["trust", "--yes"]).exits(0);
    let outcome = place.call("file.read", &json!({"path": "long"}), &[]);
    assert!(outcome["meta"]["handle"].is_string());
    let found = contents(&place.home);
    assert!(found.len() >= 2, "{found:?}");
    for (path, _) in found {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{path}");
    }
}

/// A link on the way to haft's home cannot be moved away or removed.
#[test]
fn the_way_to_the_home_is_protected_too() {
    let place = Place::new();
    let real = place.workspace.join("real");
    fs::create_dir(&real).unwrap();
    let link = place.workspace.join("home");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    for (tool, args) in [
        ("file.move", json!({"from": "home", "to": "elsewhere"})),
        ("file.delete", json!({"path": "home"})),
        ("file.delete", json!({"path": "real", "recursive": true})),
    ] {
        let mut command = place.haft();
        command.env("HAFT_HOME", &link);
        command.args(["call", tool, &args.to_string(), "--yes", "--json"]);
        let ran = crate::place::finish(&mut command);
        assert_eq!(
            ran.exits(1).json()["error"]["code"],
            "denied",
            "{tool} {args}"
        );
    }
    assert!(link.is_symlink() && real.is_dir());
}
