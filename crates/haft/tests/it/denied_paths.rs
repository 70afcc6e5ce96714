//! Rules bind effects, not spellings: a denied folder stays as it is, whatever tool writes, under
//! whatever name, and however the path is spelled. A new tool that writes needs a row here.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::place::{Place, verdict};

type Row = (&'static str, fn(&str) -> Vec<Value>);

/// Arguments that would change the file at this path, for each tool that writes.
const ROWS: &[Row] = &[
    ("file.write", |path| {
        vec![
            json!({"path": path, "content": "changed"}),
            json!({"file_path": path, "contents": "changed"}),
        ]
    }),
    ("file.edit", |path| {
        vec![
            json!({"path": path, "search": "kept", "replace": "changed"}),
            json!({"filePath": path, "oldString": "kept", "newString": "changed", "replaceAll": true}),
            json!({"path": path, "edits": [{"search": "kept", "replace": "changed"}]}),
        ]
    }),
    ("file.patch", |path| {
        let (folder, name) = split(path);
        let patch = |name: &str| {
            let none = "\\ No newline at end of file";
            format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-kept\n{none}\n+changed\n{none}\n")
        };
        let fresh = format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+changed\n");
        if !is_there(path) {
            return vec![json!({"patch": fresh, "path": folder})];
        }
        vec![
            json!({"patch": patch("any"), "path": path}),
            json!({"patch": patch(name), "path": folder}),
        ]
    }),
    ("file.move", |path| {
        let mut rows = vec![json!({"from": "README.md", "to": path, "overwrite": true})];
        if is_there(path) && !is_link(path) {
            rows.push(json!({"from": path, "to": "moved"}));
        }
        // What stands in the way of a link is the link.
        if is_link(path) { Vec::new() } else { rows }
    }),
    ("file.delete", |path| {
        match is_there(path) && !is_link(path) {
            true => vec![
                json!({ "path": path }),
                json!({"path": path, "recursive": true}),
            ],
            false => Vec::new(),
        }
    }),
    ("file.batch", |path| {
        let (folder, name) = split(path);
        let mut rows =
            vec![json!({"operation": "move", "pattern": "README.md", "destination": folder})];
        if is_there(path) {
            rows.extend([
                json!({"operation": "transform", "pattern": name, "directory": folder, "find": "kept", "replace": "changed"}),
                json!({"operation": "rename", "pattern": format!("^{name}$"), "directory": folder, "replacement": "other"}),
                json!({"operation": "move", "pattern": name, "directory": folder, "destination": "sub"}),
            ]);
        }
        if is_link(path) { Vec::new() } else { rows }
    }),
    // It changes only what an earlier call has changed, and that one is denied here. What was
    // denied after the change is tried in `undo.rs`.
    ("file.undo", |_| Vec::new()),
    // It changes only what a dry run of `shell.exec` has changed, and that one is denied below.
    ("shell.commit", |_| Vec::new()),
    // It drops such a dry run, which lies outside the workspace.
    ("shell.discard", |_| Vec::new()),
    ("shell.exec", |path| {
        let (folder, name) = split(path);
        let mut rows: Vec<Value> = lines(path)
            .into_iter()
            .map(|line| json!({ "command": line }))
            .collect();
        rows.extend([
            json!({"command": format!("echo changed > {name}"), "cwd": folder}),
            json!({"cmd": format!("echo changed > {name}"), "workdir": folder}),
        ]);
        rows
    }),
    ("process.start", |path| {
        let (folder, name) = split(path);
        let mut rows: Vec<Value> = lines(path)
            .into_iter()
            .map(|line| json!({ "command": line }))
            .collect();
        rows.extend([
            json!({"command": format!("echo changed > {name}"), "cwd": folder}),
            json!({"command": "tee", "args": [path]}),
            json!({"command": "sh", "args": ["-c", format!("echo changed > {path}")]}),
        ]);
        rows
    }),
    ("process.write", |path| {
        let row = |line: String| json!({"sessionId": "x", "data": format!("{line}\n")});
        lines(path).into_iter().map(row).collect()
    }),
    ("process.submit", |path| {
        let row = |line: String| json!({"sessionId": "x", "data": line});
        lines(path).into_iter().map(row).collect()
    }),
    ("process.manage", |path| {
        let row = |line: String| json!({"action": "submit", "sessionId": "x", "data": line});
        lines(path).into_iter().map(row).collect()
    }),
    // Ends programs and names no file.
    ("process.kill", |_| Vec::new()),
];

/// Lines that would change the file.
fn lines(path: &str) -> Vec<String> {
    let (folder, name) = split(path);
    vec![
        format!("echo changed > {path}"),
        format!("echo changed >{path}"),
        format!("echo changed >> {path}"),
        format!("echo changed >| {path}"),
        format!("echo changed &> {path}"),
        format!("echo changed 1> '{path}'"),
        format!("true && echo changed > \"{path}\" || true"),
        format!("cd {folder} && echo changed > {name}"),
        format!("cd {folder}; echo changed >> ./{name}"),
        format!("(cd {folder}; echo changed > {name})"),
        format!("ls | cat > {path}"),
        format!("sh -c 'echo changed > {path}'"),
    ]
}

/// The folder and the name of a spelling.
fn split(path: &str) -> (&str, &str) {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    (folder, name)
}

/// Whether a spelling names a file that exists.
fn is_there(path: &str) -> bool {
    path.ends_with("file")
}

/// Whether it names a link to a file: removing that one changes the link and not the file.
fn is_link(path: &str) -> bool {
    ["in-file", "in-new", "out-file"].contains(&split(path).1)
}

/// A workspace with a denied folder in it and another one beside it, and links to both.
struct Denied {
    place: Place,
    inside: PathBuf,
    outside: PathBuf,
}

impl Denied {
    fn new() -> Denied {
        let place = Place::new();
        let inside = place.workspace.join("locked");
        let root = place.beside("root");
        let outside = root.join("locked");
        for dir in [&inside, &outside] {
            fs::create_dir_all(dir.join("deep")).unwrap();
            fs::write(dir.join("file"), "kept").unwrap();
            fs::write(dir.join("deep/file"), "kept").unwrap();
        }
        let link = |target: &Path, name: &str| symlink(target, place.workspace.join(name)).unwrap();
        link(&inside, "in-folder");
        link(&inside.join("file"), "in-file");
        link(Path::new("in-folder"), "in-chain");
        link(&inside.join("absent"), "in-new");
        link(&root, "to-root");
        symlink(&outside, root.join("out-folder")).unwrap();
        symlink(outside.join("file"), root.join("out-file")).unwrap();
        place.file("sub/x", "");
        Denied {
            place,
            inside,
            outside,
        }
    }

    /// Everything is allowed but changing what this folder holds.
    fn lock(&self, folder: &Path) {
        let root = self.outside.parent().unwrap();
        self.place.config(&format!(
            "files: {{roots: ['{}']}}\ntools:\n  autonomy: autonomous\n  rules:\n    \
             allow: [shell.exec]\n    deny: ['file.write({}/**)']\n",
            root.display(),
            folder.display()
        ));
    }

    /// Every way to name a file in the folder inside the workspace.
    fn inside_spellings(&self) -> Vec<String> {
        let workspace = self.place.workspace.display();
        let mut spellings: Vec<String> = [
            "locked/file",
            "locked/new",
            "locked/deep/file",
            "./locked/file",
            "locked//file",
            "locked/./file",
            "sub/../locked/file",
            "locked/deep/../file",
            "../work/locked/file",
            "in-folder/file",
            "in-folder/new",
            "in-chain/deep/file",
            "in-file",
            "in-new",
            "sub/../in-folder/file",
        ]
        .map(str::to_owned)
        .to_vec();
        for rest in [
            "locked/file",
            "locked/new",
            "/locked//file",
            "sub/../locked/file",
            "in-folder/file",
            "in-file",
        ] {
            spellings.push(format!("{workspace}/{rest}"));
        }
        spellings
    }

    /// Every way to name a file in the folder outside it.
    fn outside_spellings(&self) -> Vec<String> {
        let workspace = self.place.workspace.display();
        let root = self.outside.parent().unwrap().display();
        let mut spellings = vec![
            "../root/locked/file".to_owned(),
            "sub/../../root//locked/new".to_owned(),
            "to-root/locked/file".to_owned(),
            "to-root/out-folder/new".to_owned(),
            "to-root/out-file".to_owned(),
            format!("{workspace}/../root/locked/file"),
        ];
        for rest in [
            "locked/file",
            "locked/new",
            "/locked//file",
            "locked/deep/../file",
            "out-folder/file",
            "out-folder/new",
            "out-file",
        ] {
            spellings.push(format!("{root}/{rest}"));
        }
        spellings
    }

    fn state(&self) -> Vec<(String, String)> {
        let mut state = Vec::new();
        for dir in [&self.inside, &self.outside] {
            for dir in [dir.clone(), dir.join("deep")] {
                for entry in fs::read_dir(dir).unwrap() {
                    let path = entry.unwrap().path();
                    let content = fs::read_to_string(&path).unwrap_or_default();
                    state.push((path.display().to_string(), content));
                }
            }
        }
        state.sort();
        state
    }
}

/// The tools that can change files, with every name each answers to.
fn writers(place: &Place) -> Vec<(String, Vec<String>)> {
    let tools = place
        .run(["tools", "--json", "--profile", "full"])
        .exits(0)
        .json();
    let mut writers = Vec::new();
    for tool in tools.as_array().unwrap() {
        let can_write = tool["capabilities"]
            .as_array()
            .unwrap()
            .iter()
            .any(|capability| {
                let capability = capability.as_str().unwrap();
                ["filesystem.write", "filesystem.edit", "filesystem.delete"].contains(&capability)
                    || capability.starts_with("shell.")
                    || capability.starts_with("process.")
            });
        let changes = tool["repeat"] != "read" && tool["source"] == "builtin";
        if !(can_write && changes) {
            continue;
        }
        let name = tool["name"].as_str().unwrap();
        let (_, action) = name.rsplit_once('.').unwrap();
        let mut names: Vec<String> = tool["aliases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|alias| alias.as_str().unwrap().to_owned())
            .collect();
        names.extend([
            name.to_owned(),
            name.replace('.', "__"),
            name.to_uppercase(),
        ]);
        if tool["module"] == "file" {
            names.push(format!("filesystem.{action}"));
        }
        writers.push((name.to_owned(), names));
    }
    writers
}

#[test]
fn every_tool_that_writes_has_a_row() {
    let writers = writers(&Place::new());
    for (name, _) in &writers {
        assert!(
            ROWS.iter().any(|(row, _)| row == name),
            "`{name}` writes and has no row: add one to ROWS"
        );
    }
    for (row, _) in ROWS {
        assert!(
            writers.iter().any(|(name, _)| name == row),
            "`{row}` is no tool that writes"
        );
    }
}

/// Every writing tool under every name, with every spelling.
fn check_locked(denied: &Denied, spellings: &[String]) {
    let before = denied.state();
    let mut calls = Vec::new();
    for (tool, names) in writers(&denied.place) {
        let (_, arguments) = ROWS.iter().find(|(row, _)| *row == tool).unwrap();
        for spelling in spellings {
            for (n, args) in arguments(spelling).into_iter().enumerate() {
                // Every name meets every spelling; the first name meets every form of arguments.
                let count = if n == 0 { names.len() } else { 1 };
                for name in &names[..count] {
                    calls.push(json!({"id": format!("{name} {args}"), "name": name, "args": args}));
                }
            }
        }
    }
    assert!(calls.len() > 30 * spellings.len(), "{}", calls.len());
    for outcome in denied.place.batch(&calls.into(), &["--yes"]) {
        assert_eq!(
            verdict(&outcome),
            "denied",
            "{}: {outcome}",
            outcome["call_id"]
        );
    }
    assert_eq!(denied.state(), before);
}

#[test]
fn a_denied_folder_of_the_workspace_is_denied_to_every_tool_name_and_spelling() {
    let denied = Denied::new();
    denied.lock(&denied.inside);
    check_locked(&denied, &denied.inside_spellings());
}

#[test]
fn a_denied_folder_outside_is_denied_to_every_tool_name_and_spelling() {
    let denied = Denied::new();
    denied.lock(&denied.outside);
    check_locked(&denied, &denied.outside_spellings());
}

/// The other side of the table: the same calls on another folder are not denied, so the rule is
/// what stops them.
#[test]
fn the_folder_beside_it_is_open() {
    let denied = Denied::new();
    let place = &denied.place;
    denied.lock(&denied.outside);
    let open = denied.outside.parent().unwrap().join("open");
    fs::create_dir(&open).unwrap();
    for base in [place.workspace.join("locked"), open] {
        let path = base.join("fresh").display().to_string();
        let write = json!({"path": path, "content": "kept"});
        assert_eq!(
            verdict(&place.call("file.write", &write, &[])),
            "ok",
            "{path}"
        );
        let edit = json!({"path": path, "search": "kept", "replace": "changed"});
        assert_eq!(
            verdict(&place.call("file.edit", &edit, &[])),
            "ok",
            "{path}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "changed");
        let (_, lines) = ROWS.iter().find(|(row, _)| *row == "shell.exec").unwrap();
        for args in lines(&path) {
            fs::write(&path, "kept").unwrap();
            assert_eq!(
                verdict(&place.call("shell.exec", &args, &["--yes"])),
                "ok",
                "{args}"
            );
            assert_ne!(fs::read_to_string(&path).unwrap(), "kept", "{args}");
        }
    }
}

/// A deny on any of the writing tools' names binds them all.
#[test]
fn the_rule_may_name_any_of_the_tools() {
    for named in [
        "file.write",
        "file.edit",
        "Write",
        "write_file",
        "filesystem.write",
        "file.*",
        "group:fs",
    ] {
        let place = Place::with_config(&format!(
            "tools: {{autonomy: autonomous, rules: {{deny: ['{named}(/etc/**)']}}}}\n"
        ));
        for (tool, args) in [
            (
                "file.write",
                json!({"path": "/etc/haft-test", "content": ""}),
            ),
            (
                "Edit",
                json!({"path": "/etc/passwd", "search": "root", "replace": "root"}),
            ),
            ("bash", json!({"command": "echo > /etc/haft-test"})),
            ("bash", json!({"command": "cd /etc && echo >> haft-test"})),
        ] {
            let outcome = place.call(tool, &args, &["--yes"]);
            assert_eq!(verdict(&outcome), "denied", "{named} {tool}: {outcome}");
        }
        assert!(!Path::new("/etc/haft-test").exists());
    }
}

/// What is done to a link itself is judged by the name it has, not by where it leads.
#[test]
fn a_link_that_is_removed_or_replaced_is_not_followed() {
    let place = Place::new();
    place.file("src/lib", "x");
    symlink("..", place.workspace.join("src/up")).unwrap();
    let check = |line: &str, expected: &str| {
        let args = json!({ "command": line });
        let outcome = place.call("shell.exec", &args, &["--yes", "--dry-run"]);
        assert_eq!(verdict(&outcome), expected, "{line}: {outcome}");
    };
    let allow = "tools: {autonomy: autonomous, rules: {allow: [shell.exec]";
    // From the folder above on there is haft's own.
    place.config(&format!("{allow}}}}}\n"));
    symlink("../..", place.workspace.join("src/higher")).unwrap();
    for line in [
        "ln -sfn lib src/higher",
        "ln -sT -f lib src/higher",
        "rm src/higher",
    ] {
        check(line, "ok");
    }
    for line in [
        "ln -sf lib src/higher",
        "rm -rf src/higher/",
        "touch src/higher",
    ] {
        check(line, "denied");
    }
    place.config(&format!("{allow}, deny: ['file.write(src/up)']}}}}\n"));
    for line in ["rm src/up", "ln -sfn lib src/up", "cd src && unlink up"] {
        check(line, "denied");
    }
    check("rm src/higher", "ok");
}
