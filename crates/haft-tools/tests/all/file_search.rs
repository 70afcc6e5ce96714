use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use haft_core::{Capability, ErrorCode, Mode, Resource};
use serde_json::{Value, json};

use crate::fixture::Fixture;

fn with(mut args: Value, more: &Value) -> Value {
    let more = more.as_object().unwrap().clone();
    args.as_object_mut().unwrap().extend(more);
    args
}

#[test]
fn grep_answers_as_documented() {
    let f = Fixture::new();
    f.put("src/a.rs", "fn one() {}\nlet x;\nfn two() {}\n");
    f.put("src/b.ts", "fn three\r\n");
    f.put("notes.md", "fn in prose\n");
    let base = f.at("ws/src");
    let answer = f.call("file.grep", json!({"pattern": "^fn", "path": "src"}));
    let text = answer.text();
    assert_eq!(
        answer.structured(),
        json!({
            "pattern": "^fn",
            "basePath": base,
            "matches": [
                {"path": base.join("a.rs"), "line": 1, "content": "fn one() {}"},
                {"path": base.join("a.rs"), "line": 3, "content": "fn two() {}"},
                {"path": base.join("b.ts"), "line": 1, "content": "fn three"},
            ],
            "count": 3,
        })
    );
    assert_eq!(
        text,
        "src/a.rs:1: fn one() {}\nsrc/a.rs:3: fn two() {}\nsrc/b.ts:1: fn three\n"
    );
    let paths = |more: Value| {
        let answer = f.call("file.grep", with(json!({"pattern": "fn"}), &more));
        let text = answer.text();
        let paths: Vec<&str> = text
            .lines()
            .map(|line| line.split(':').next().unwrap())
            .collect();
        paths.join(" ")
    };
    assert_eq!(paths(json!({"include": "*.md"})), "notes.md");
    assert_eq!(paths(json!({"include": "*.{ts,md}"})), "notes.md src/b.ts");
    assert_eq!(paths(json!({"type": "rust"})), "src/a.rs src/a.rs");
    assert_eq!(paths(json!({"path": "src/b.ts"})), "src/b.ts");
    assert_eq!(paths(json!({"pattern": "none"})), "[no match]");
}

#[test]
fn more_than_a_hundred_matches_are_cut_and_the_count_left_out() {
    let f = Fixture::new();
    let check = |lines: usize, more: Value, shown: usize, cut: bool| {
        f.put("a.txt", "x\n".repeat(lines));
        let answer = f.call("file.grep", with(json!({"pattern": "x"}), &more));
        let structured = answer.structured();
        assert_eq!(structured["matches"].as_array().unwrap().len(), shown);
        let keys: Vec<&String> = structured.as_object().unwrap().keys().collect();
        let last = if cut { "truncated" } else { "count" };
        assert_eq!(keys, ["pattern", "basePath", "matches", last]);
        match cut {
            true => assert_eq!(structured["truncated"], json!(true)),
            false => assert_eq!(structured["count"], json!(shown)),
        }
    };
    check(100, json!({}), 100, false);
    check(101, json!({}), 100, true);
    check(101, json!({"limit": 200}), 101, false);
    check(9, json!({"limit": 3}), 3, true);
    f.put("long.txt", format!("{}needle", "ü".repeat(300)));
    let answer = f.call("file.grep", json!({"pattern": "needle"}));
    let content = answer.structured()["matches"][0]["content"].clone();
    assert_eq!(content, json!("ü".repeat(200)));
}

#[test]
fn the_other_modes() {
    let f = Fixture::new();
    f.put("a.txt", "one\nTwo\nthree\nfour\nfive two\nsix\n");
    f.put("b/c.txt", "two\ntwo\n");
    let check = |args: Value, structured: Value, text: &str| {
        let answer = f.call("file.grep", args.clone());
        assert_eq!(answer.text(), text, "{args}");
        let whole = answer.structured();
        for (key, value) in structured.as_object().unwrap() {
            assert_eq!(&whole[key], value, "{args} {key}");
        }
    };
    let (a, c) = (f.at("ws/a.txt"), f.at("ws/b/c.txt"));
    check(
        json!({"pattern": "two", "mode": "count"}),
        json!({"counts": [{"path": a, "count": 1}, {"path": c, "count": 2}], "count": 3}),
        "a.txt:1\nb/c.txt:2\n",
    );
    check(
        json!({"pattern": "two", "mode": "files"}),
        json!({"files": [a, c], "count": 2}),
        "a.txt\nb/c.txt\n",
    );
    check(
        json!({"pattern": "two", "case": "insensitive", "path": "a.txt"}),
        json!({"count": 2}),
        "a.txt:2: Two\na.txt:5: five two\n",
    );
    check(
        json!({"pattern": "Two", "case": "smart"}),
        json!({"count": 1}),
        "a.txt:2: Two\n",
    );
    check(
        json!({"pattern": "Two|six", "context": 1, "path": "a.txt"}),
        json!({"matches": [
            {"path": a, "line": 2, "content": "Two", "before": ["one"], "after": ["three"]},
            {"path": a, "line": 6, "content": "six", "before": ["five two"]},
        ]}),
        "a.txt-1- one\na.txt:2: Two\na.txt-3- three\n--\na.txt-5- five two\na.txt:6: six\n",
    );
    check(
        json!({"pattern": "one", "context": 2, "path": "a.txt"}),
        json!({"matches": [{"path": a, "line": 1, "content": "one", "after": ["Two", "three"]}]}),
        "a.txt:1: one\na.txt-2- Two\na.txt-3- three\n",
    );
    check(
        json!({"pattern": "three\nfour", "multiline": true}),
        json!({"matches": [{"path": a, "line": 3, "content": "three\nfour"}]}),
        "a.txt:3: three\\nfour\n",
    );
}

#[test]
fn a_long_answer_is_kept_behind_a_handle() {
    let f = Fixture::new();
    f.put("a.txt", "needle\n".repeat(3_000));
    let args = json!({"pattern": "needle", "limit": 1_000_000});
    let output = f.call("file.grep", args).result.unwrap();
    let structured = output.structured.as_ref().unwrap();
    assert_eq!(structured["matches"].as_array().unwrap().len(), 1_000);
    assert_eq!(structured["truncated"], json!(true));
    let handle = output.handle.as_ref().unwrap();
    let read = json!({"handle": handle, "lines": "2999-3001"});
    let text = f.call("result.read", read).text();
    assert!(text.contains("a.txt:3000: needle"), "{text}");
    let whole: usize = (1..=3_000)
        .map(|n: u32| format!("a.txt:{n}: needle\n").len())
        .sum();
    assert_eq!(output.total_chars, Some(whole));
}

#[test]
fn glob_answers_as_documented() {
    let f = Fixture::new();
    let now = SystemTime::now();
    let names = [
        "old.md",
        "sub/new.md",
        "sub/deep/middle.md",
        "a.txt",
        ".hidden/x.md",
    ];
    for (name, age) in names.iter().zip([300, 1, 100, 0, 50]) {
        f.put(name, "");
        let file = std::fs::File::open(f.at("ws").join(name)).unwrap();
        file.set_modified(now - Duration::from_secs(age)).unwrap();
    }
    let ws = f.at("ws");
    let answer = f.call("file.glob", json!({"pattern": "**/*.md"}));
    assert_eq!(answer.text(), "sub/new.md\nsub/deep/middle.md\nold.md\n");
    assert_eq!(
        answer.structured(),
        json!({
            "pattern": "**/*.md",
            "basePath": ws,
            "matches": [ws.join("sub/new.md"), ws.join("sub/deep/middle.md"), ws.join("old.md")],
            "count": 3,
        })
    );
    let check = |args: Value, expected: &str| {
        let answer = f.call("file.glob", args.clone());
        let text = answer.text();
        let shown: Vec<&str> = text.lines().collect();
        assert_eq!(shown.join(" "), expected, "{args}");
    };
    check(json!({"pattern": "*.md"}), "old.md");
    check(json!({"pattern": "*.md", "path": "sub"}), "sub/new.md");
    check(
        json!({"pattern": "sub/**/*.md"}),
        "sub/new.md sub/deep/middle.md",
    );
    check(json!({"pattern": "{old.md,a.*}"}), "a.txt old.md");
    check(json!({"pattern": ".hidden/*"}), ".hidden/x.md");
    check(json!({"pattern": "nowhere/*"}), "[no file fits]");
    check(json!({"pattern": ws.join("*.txt")}), "a.txt");
    check(
        json!({"pattern": "**", "hidden": true, "limit": 2}),
        "a.txt sub/new.md [only the newest 2 of 5 files]",
    );
}

#[test]
fn bad_input_is_named() {
    let f = Fixture::new();
    f.put("a.txt", "x");
    rustix::fs::mkfifoat(rustix::fs::CWD, f.at("ws/pipe"), 0o600.into()).unwrap();
    let check = |tool: &str, args: Value, code: ErrorCode, message: &str| {
        let error = f.call(tool, args.clone()).error();
        assert_eq!(error.code, code, "{args}: {error}");
        assert!(error.message.contains(message), "{args}: {}", error.message);
    };
    let (invalid, failed, denied) = (
        ErrorCode::InputInvalid,
        ErrorCode::ExecutionFailed,
        ErrorCode::Denied,
    );
    let grep = |more: Value| with(json!({"pattern": "x"}), &more);
    check(
        "file.grep",
        grep(json!({"pattern": "a("})),
        invalid,
        "invalid regex: `a(`",
    );
    check(
        "file.grep",
        grep(json!({"include": "*.{a"})),
        invalid,
        "invalid glob: `*.{a`",
    );
    check(
        "file.grep",
        grep(json!({"include": "a/*"})),
        invalid,
        "cannot hold a `/`",
    );
    check(
        "file.grep",
        grep(json!({"type": "nope"})),
        invalid,
        "unknown file type: `nope`",
    );
    check(
        "file.grep",
        grep(json!({"pattern": "a\\nb"})),
        invalid,
        "asks for a line end",
    );
    check(
        "file.grep",
        grep(json!({"path": "gone"})),
        failed,
        "no such file",
    );
    check(
        "file.grep",
        grep(json!({"path": "pipe"})),
        failed,
        "named pipe",
    );
    check(
        "file.grep",
        grep(json!({"path": "../out"})),
        denied,
        "leaves the workspace",
    );
    check(
        "file.glob",
        json!({"pattern": "[a"}),
        invalid,
        "invalid glob: `[a`",
    );
    check(
        "file.glob",
        json!({"pattern": "*/../../x"}),
        invalid,
        "`..` cannot follow",
    );
    check(
        "file.glob",
        json!({"pattern": "../**"}),
        denied,
        "leaves the workspace",
    );
    check(
        "file.glob",
        json!({"pattern": "*", "path": "a.txt"}),
        failed,
        "not a directory",
    );
    check(
        "file.glob",
        json!({"pattern": "*", "path": "gone"}),
        failed,
        "no such file",
    );
}

#[test]
fn keys_are_not_searched_unless_they_are_asked_about() {
    let f = Fixture::new();
    f.put("server.key", "x secret");
    f.put("a.txt", "x");
    symlink("server.key", f.at("ws/harmless.txt")).unwrap();
    let answer = f.call("file.grep", json!({"pattern": "x"}));
    assert!(
        answer
            .text()
            .starts_with("a.txt:1: x\n[not searched, as they hold keys: 2")
    );
    let reads = |answer: &crate::fixture::Answer| answer.effects.clone().unwrap().accesses;
    let accesses = reads(&answer);
    assert_eq!(accesses.len(), 1);
    assert_eq!(accesses[0].mode, Mode::Read);
    assert_eq!(accesses[0].resource, Resource::Tree(f.at("ws")));
    assert_eq!(answer.structured()["protected"], json!(2));
    let named = f.call("file.grep", json!({"pattern": "x", "path": "server.key"}));
    let asks = |access: &haft_core::Access| access.resource.as_protected().is_some();
    assert!(reads(&named).iter().any(asks));
    assert_eq!(named.structured()["count"], json!(1));
}

#[test]
fn a_folder_that_cannot_be_opened_is_named() {
    let f = Fixture::new();
    f.put("a.txt", "x");
    // Deeper than a path can say.
    let mut deep = f.at("ws");
    let name = "d".repeat(250);
    let mut handle = rustix::fs::open(&deep, rustix::fs::OFlags::DIRECTORY, 0.into()).unwrap();
    for _ in 0..17 {
        rustix::fs::mkdirat(&handle, &name, 0o700.into()).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY;
        handle = rustix::fs::openat(&handle, &name, flags, 0.into()).unwrap();
        deep.push(&name);
    }
    for (tool, args) in [
        ("file.grep", json!({"pattern": "x"})),
        ("file.glob", json!({"pattern": "**"})),
    ] {
        let answer = f.call(tool, args);
        assert!(answer.text().contains("[cannot be opened: ddd"), "{tool}");
        let structured = answer.structured();
        assert_eq!(structured["count"], json!(1), "{tool}");
        assert_eq!(structured["unreadable"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn capabilities_are_those_of_the_documents() {
    let f = Fixture::new();
    let spec = f.tool("file.grep").spec();
    assert_eq!(spec.capabilities, [Capability::TextSearch]);
    let spec = f.tool("file.glob").spec();
    assert_eq!(spec.capabilities, [Capability::FilesystemList]);
}
