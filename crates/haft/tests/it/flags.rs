//! The flags of `call` and `batch`.

use serde_json::json;

use crate::place::{Place, processes_with, text, verdict, wait_for};

#[test]
fn set_takes_the_type_that_the_tool_wants() {
    let place = Place::new();
    place.file("lines.txt", "one\ntwo\nthree\n");
    place.file("7", "seven\n");
    let check = |args: &[&str], expected: &str| {
        let ran = place.run([&["call"], args, &["--json", "--yes"]].concat());
        let outcome = ran.json();
        assert_eq!(verdict(&outcome), "ok", "{outcome}");
        assert_eq!(text(&outcome), expected, "{args:?}");
    };
    check(
        &["file.read", "--set", "path=lines.txt", "--set", "limit=1"],
        "1\tone",
    );
    check(
        &[
            "file.read",
            "--set",
            "path=lines.txt",
            "--set",
            "offset=1",
            "--set",
            "limit=1",
        ],
        "2\ttwo",
    );
    check(&["file.read", "--set", "path=7"], "1\tseven");
    check(&["Read", "--set", "file_path=7"], "1\tseven");
    check(
        &[
            "file.read",
            r#"{"path":"7"}"#,
            "--set",
            "path=lines.txt",
            "--set",
            "limit=1",
        ],
        "1\tone",
    );
    check(&["shell.exec", "--set", "command=echo a=b"], "a=b\n");
    check(
        &["shell.exec", "--set", "command=echo", "--set", "cwd=."],
        "\n",
    );
    for (value, written) in [
        ("5", "5"),
        ("true", "true"),
        ("{\"a\":1}", "{\"a\":1}"),
        ("", ""),
        ("a=b", "a=b"),
    ] {
        let setting = format!("content={value}");
        let ran = place.run([
            "call",
            "file.write",
            "--set",
            "path=out",
            "--set",
            &setting,
            "--yes",
        ]);
        ran.exits(0);
        assert_eq!(place.read("out"), written);
    }
    let list = place.run(["call", "file.list", "--set", "recursive=true", "--json"]);
    assert_eq!(list.exits(0).json()["ok"], true);
    let edits = r#"edits=[{"search":"one","replace":"1"},{"search":"two","replace":"2"}]"#;
    place
        .run([
            "call",
            "file.edit",
            "--set",
            "path=lines.txt",
            "--set",
            edits,
            "--yes",
        ])
        .exits(0);
    assert_eq!(place.read("lines.txt"), "1\n2\nthree\n");
    place.run(["call", "file.read", "--set", "=x"]).exits(2);
    let wrong = place.run([
        "call",
        "file.read",
        "--set",
        "path=7",
        "--set",
        "limit=few",
        "--json",
    ]);
    assert_eq!(verdict(&wrong.exits(1).json()), "input_invalid");
}

#[test]
fn arguments_come_from_a_file_or_standard_input() {
    let place = Place::new();
    place.file("args.json", r#"{"path":"README.md"}"#);
    place
        .run(["call", "file.read", "@args.json"])
        .exits(0)
        .says("# a workspace");
    let ran = place.run_with_input(&["call", "file.read", "-"], br#"{"path":"README.md"}"#);
    ran.exits(0).says("# a workspace");
    let ran = place.run_with_input(
        &["policy", "explain", "file.read", "-", "--json"],
        br#"{"path":"README.md"}"#,
    );
    assert_eq!(ran.exits(0).json()["verdict"], "allow");
}

#[test]
fn a_dry_run_says_whether_it_would_ask_and_writes_nothing() {
    let place = Place::with_config("tools: {rules: {deny: ['file.write(/etc/**)']}}\n");
    place.file("notes.txt", "old\n");
    let write = json!({"path": "notes.txt", "content": "new\n"});
    let outcome = place.call("file.write", &write, &["--dry-run"]);
    assert_eq!(verdict(&outcome), "ok");
    assert!(text(&outcome).contains("-old\n+new"), "{}", text(&outcome));
    assert!(
        outcome["meta"]["would"]
            .as_str()
            .unwrap()
            .starts_with("ask"),
        "{outcome}"
    );
    assert_eq!(place.read("notes.txt"), "old\n");
    let shown = place.run(["call", "file.write", &write.to_string(), "--dry-run"]);
    shown.exits(0).says("+new").says("would ask");

    let edit = json!({"path": "notes.txt", "search": "old", "replace": "new"});
    let outcome = place.call("file.edit", &edit, &["--dry-run", "--yes"]);
    assert!(text(&outcome).contains("-old\n+new"), "{}", text(&outcome));
    assert_eq!(place.read("notes.txt"), "old\n");

    let outcome = place.call(
        "file.write",
        &json!({"path": "deep/er/new.txt", "content": "x\n"}),
        &["--dry-run", "--yes"],
    );
    assert!(text(&outcome).contains("+x"), "{}", text(&outcome));
    assert!(!place.workspace.join("deep").exists());

    let outcome = place.call(
        "shell.exec",
        &json!({"command": "touch made"}),
        &["--dry-run", "--yes"],
    );
    assert_eq!(verdict(&outcome), "ok");
    assert!(
        outcome["meta"]["would"]
            .as_str()
            .unwrap()
            .starts_with("ask"),
        "{outcome}"
    );
    assert!(!place.workspace.join("made").exists());

    let outcome = place.call("file.read", &json!({"path": "notes.txt"}), &["--dry-run"]);
    assert_eq!(outcome["meta"]["would"], "run without asking");
    assert!(
        !text(&outcome).contains("old"),
        "a dry run runs nothing: {}",
        text(&outcome)
    );

    let outcome = place.call(
        "file.write",
        &json!({"path": "/etc/x", "content": ""}),
        &["--dry-run", "--yes"],
    );
    assert_eq!(verdict(&outcome), "denied");
    let outcomes = place.batch(
        &json!([{"name": "file.write", "args": write}]),
        &["--dry-run", "--yes"],
    );
    assert_eq!(verdict(&outcomes[0]), "ok");
    assert_eq!(place.read("notes.txt"), "old\n");
}

#[test]
fn yes_answers_questions_and_never_lifts_a_deny() {
    let place = Place::with_config(
        "tools:\n  deny: [system.info]\n  rules:\n    deny: ['shell.exec(rm *)', 'file.edit(secret/**)']\n",
    );
    let check = |tool: &str, args: serde_json::Value, flags: &[&str], expected: &str| {
        let outcome = place.call(tool, &args, &[flags, &["--yes"]].concat());
        assert_eq!(verdict(&outcome), expected, "{outcome}");
    };
    check(
        "file.write",
        json!({"path": "a", "content": "b"}),
        &[],
        "ok",
    );
    check(
        "file.write",
        json!({"path": "secret/a", "content": "b"}),
        &[],
        "denied",
    );
    check("shell.exec", json!({"command": "rm a"}), &[], "denied");
    check("system.info", json!({}), &[], "denied");
    check(
        "file.write",
        json!({"path": "a", "content": "c"}),
        &["--profile", "minimal"],
        "denied",
    );
    check(
        "shell.exec",
        json!({"command": "true"}),
        &["--profile", "coding"],
        "denied",
    );
    check(
        "system.info",
        json!({}),
        &["--autonomy", "autonomous"],
        "denied",
    );
    assert_eq!(place.read("a"), "b");
}

#[test]
fn budget_bounds_what_is_shown() {
    let place = Place::new();
    place.file("long.txt", "some words in a line\n".repeat(10_000));
    for budget in [500, 1000, 5000] {
        let outcome = place.call(
            "file.read",
            &json!({"path": "long.txt"}),
            &["--budget", &budget.to_string()],
        );
        let count = text(&outcome).chars().count();
        assert!(count <= budget && count > budget / 2, "{budget}: {count}");
    }
    let ran = place.run([
        "call",
        "file.read",
        r#"{"path":"long.txt"}"#,
        "--budget",
        "1000",
    ]);
    assert!(
        ran.exits(0).out.chars().count() <= 1001,
        "{}",
        ran.out.len()
    );
}

#[test]
fn error_lines_survive_the_cut() {
    let place = Place::new();
    let command = "seq 1 20000; echo 'error: the one thing that matters'; seq 1 20000";
    let outcome = place.call(
        "shell.exec",
        &json!({ "command": command }),
        &["--yes", "--budget", "2000"],
    );
    assert!(
        text(&outcome).contains("error: the one thing that matters"),
        "{}",
        text(&outcome)
    );
}

#[test]
fn timeout_ends_a_command_and_leaves_nothing() {
    let place = Place::new();
    for (n, command) in [
        "sleep 7191MARK",
        "(sleep 7191MARK & sleep 7191MARK); wait",
        "trap '' TERM; sleep 7191MARK",
    ]
    .into_iter()
    .enumerate()
    {
        // A number of seconds that no other process sleeps for is a marker.
        let marker = format!("7191.{}{n}", std::process::id());
        let command = command.replace("7191MARK", &marker);
        let outcome = place.call(
            "shell.exec",
            &json!({ "command": command }),
            &["--yes", "--timeout", "400"],
        );
        assert_eq!(verdict(&outcome), "timed_out", "{outcome}");
        let spent = outcome["meta"]["duration_ms"].as_f64().unwrap();
        assert!((400.0..20_000.0).contains(&spent), "{spent}");
        wait_for("the command to be gone", || {
            processes_with(&marker).is_empty().then_some(())
        });
    }
    let own = json!({"command": "sleep 60", "timeout": 200});
    let outcome = place.call("shell.exec", &own, &["--yes"]);
    assert_eq!(verdict(&outcome), "timed_out");
    assert_eq!(outcome["structured"]["timedOut"], true);
}

/// The tool's own limit and config's limit both hold; arguments can only shorten.
#[test]
fn config_clamps_deadlines() {
    let place = Place::with_config("runtime: {max_timeout_ms: 300}\n");
    let args = json!({"command": "sleep 60", "timeout": 50_000});
    let outcome = place.call("shell.exec", &args, &["--yes", "--timeout", "40000"]);
    assert_eq!(verdict(&outcome), "timed_out");
    assert!(outcome["meta"]["duration_ms"].as_f64().unwrap() < 20_000.0);
}

#[test]
fn workspace_is_where_tools_work() {
    let place = Place::new();
    let other = place.beside("other place");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("there.txt"), "there\n").unwrap();
    let flags = ["--workspace", other.to_str().unwrap(), "--yes"];
    let outcome = place.call("file.read", &json!({"path": "there.txt"}), &flags);
    assert_eq!(text(&outcome), "1\tthere");
    let outcome = place.call("shell.exec", &json!({"command": "pwd"}), &flags);
    assert_eq!(text(&outcome).trim_end(), other.to_str().unwrap());
    let outcome = place.call("system.info", &json!({}), &flags);
    assert_eq!(outcome["structured"]["workspace"], other.to_str().unwrap());
    let relative = place.call(
        "file.read",
        &json!({"path": "there.txt"}),
        &["--workspace", "../other place"],
    );
    assert_eq!(verdict(&relative), "ok");
    let outside = place.call(
        "file.read",
        &json!({"path": "../other place/there.txt"}),
        &["--yes"],
    );
    assert_eq!(outside["ok"], false, "{outside}");
}

#[test]
fn with_json_a_failure_before_the_call_is_json_too() {
    let place = Place::new();
    let ran = place.run(["policy", "explain", "shel.exec", "--json"]);
    let told = ran.exits(1).json();
    assert_eq!(told["error"]["code"], "not_available", "{told}");
    assert!(told["error"]["hint"].to_string().contains("shell.exec"));
    let ran = place.run(["call", "file.read", "{\"path\":", "--json"]);
    let told = ran.exits(2).json();
    assert_eq!(told["error"]["code"], "input_invalid", "{told}");
    place.config("tools:\n  polcy: coding\n");
    let ran = place.run(["call", "file.read", "{\"path\":\"a\"}", "--json"]);
    let told = ran.exits(1).json();
    assert_eq!(
        (&told["ok"], &told["error"]["code"]),
        (&json!(false), &json!("execution_failed"))
    );
    assert!(
        told["error"]["message"]
            .to_string()
            .contains("config.yaml:2")
    );
}
