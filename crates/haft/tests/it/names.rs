//! Every name and every parameter spelling that the documents use for the first tools.

use serde_json::{Value, json};

use crate::place::{Place, text, verdict};

#[test]
fn every_name_reaches_its_tool() {
    let place = Place::new();
    place.file("notes.txt", "one\n");
    let read = json!({"path": "notes.txt"});
    let write = json!({"path": "out.txt", "content": "x"});
    let edit = json!({"path": "notes.txt", "search": "nothing like it", "replace": "x"});
    let rows: Vec<(&str, Value, &[&str])> = vec![
        (
            "file.read",
            read,
            &[
                "Read",
                "read_file",
                "filesystem.read",
                "file__read",
                "filesystem__read",
                "FILE.READ",
                "READ",
                "File.Read",
            ],
        ),
        (
            "file.write",
            write,
            &[
                "Write",
                "write_file",
                "filesystem.write",
                "file__write",
                "write",
                "create_file",
            ],
        ),
        (
            "file.edit",
            edit,
            &[
                "Edit",
                "edit_file",
                "filesystem.edit",
                "file__edit",
                "str_replace",
            ],
        ),
        (
            "file.list",
            json!({}),
            &[
                "list_files",
                "list_directory",
                "ls",
                "filesystem.list",
                "file__list",
            ],
        ),
        (
            "shell.exec",
            json!({"command": "true"}),
            &[
                "Bash",
                "bash",
                "terminal",
                "shell.bash",
                "shell__exec",
                "shell__bash",
                "BASH",
            ],
        ),
        (
            "system.info",
            json!({}),
            &["system__info", "system_info", "System.Info"],
        ),
        (
            "result.read",
            json!({"handle": "r_none"}),
            &["result__read", "read_result", "recall_tool_result"],
        ),
    ];
    let mut calls = Vec::new();
    for (tool, args, names) in &rows {
        for name in names.iter().chain([tool]) {
            calls.push(json!({"id": format!("{tool} by {name}"), "name": name, "args": args}));
        }
    }
    for outcome in place.batch(&calls.into(), &["--yes"]) {
        let id = outcome["call_id"].as_str().unwrap();
        let tool = id.split(' ').next().unwrap();
        assert_eq!(outcome["tool"], tool, "{id}: {outcome}");
        let message = outcome["error"]["message"].as_str().unwrap_or_default();
        assert!(
            !message.to_lowercase().contains("unknown tool"),
            "{id}: {message}"
        );
    }
    for name in [
        "read",
        "file_read",
        "file-read",
        "exec",
        "mcp__file__read",
        "file..read",
        " file.read",
    ] {
        let outcome = place.call(name, &json!({"path": "notes.txt"}), &["--yes"]);
        let tool = outcome["tool"].as_str().unwrap();
        let ran = outcome["ok"] == true;
        assert!(!ran || tool == "file.read", "{name}: {outcome}");
    }
}

#[test]
fn every_parameter_spelling_is_understood() {
    let place = Place::new();
    let mut number = 0;
    let mut check = |tool: &str, args: Value, expected: &str| {
        place.file("notes.txt", "one two one\n");
        number += 1;
        // Each in a session of its own, which has not seen the file as it was.
        let session = format!("--session=s{number}");
        let outcome = place.call(tool, &args, &["--yes", &session]);
        assert_eq!(verdict(&outcome), "ok", "{tool} {args}: {outcome}");
        let after = place.read("notes.txt");
        let told = format!("{}|{}", text(&outcome), after);
        assert!(told.contains(expected), "{tool} {args}: {told}");
    };
    for path in ["path", "file_path", "filePath", "file"] {
        check("Read", json!({path: "notes.txt"}), "1\tone two one");
        check(
            "Write",
            json!({path: "notes.txt", "content": "new\n"}),
            "|new\n",
        );
        check(
            "Edit",
            json!({path: "notes.txt", "oldString": "two", "newString": "2"}),
            "|one 2 one\n",
        );
    }
    check(
        "file.write",
        json!({"path": "notes.txt", "contents": "new\n"}),
        "|new\n",
    );
    for (old, new) in [
        ("search", "replace"),
        ("oldString", "newString"),
        ("old_string", "new_string"),
    ] {
        check(
            "file.edit",
            json!({"path": "notes.txt", old: "two", new: "2"}),
            "|one 2 one\n",
        );
    }
    for all in ["replace_all", "replaceAll"] {
        check(
            "file.edit",
            json!({"path": "notes.txt", "search": "one", "replace": "1", all: true}),
            "|1 two 1\n",
        );
    }
    for command in ["command", "cmd"] {
        check("Bash", json!({command: "echo hi"}), "hi\n");
    }
    place.file("sub/here.txt", "");
    for cwd in ["cwd", "workdir"] {
        check("bash", json!({"command": "ls", cwd: "sub"}), "here.txt");
    }
    for timeout in ["timeout", "timeout_ms", "timeoutMs"] {
        check(
            "shell.exec",
            json!({"command": "echo hi", timeout: 5000}),
            "hi\n",
        );
        let late = place.call(
            "shell.exec",
            &json!({"command": "sleep 60", timeout: 150}),
            &["--yes"],
        );
        assert_eq!(verdict(&late), "timed_out", "{timeout}");
    }
    for path in ["path", "directory", "dir"] {
        check("file.list", json!({path: "sub"}), "here.txt");
    }
    // From the first line to the last, both counted from one.
    place.file("rows.txt", "a\nb\nc\nd\ne\n");
    for (first, last) in [("lineStart", "lineEnd"), ("line_start", "line_end")] {
        let rows = json!({"path": "rows.txt", first: 2, last: 4});
        check("Read", rows, "2\tb\n3\tc\n4\td|");
        let rows = json!({"path": "rows.txt", last: 1});
        check("Read", rows, "1\ta|");
        let rows = json!({"path": "rows.txt", first: 5});
        check("Read", rows, "5\te|");
    }
    let twice = place.call("Read", &json!({"path": "a", "file_path": "b"}), &[]);
    assert_eq!(verdict(&twice), "input_invalid");
}
