//! The shape of an outcome, field by field, and exit codes.

use serde_json::{Value, json};

use crate::place::{Place, text, verdict};

/// The keys of an object, in order.
fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[track_caller]
fn check_shape(outcome: &Value) {
    let known = [
        "ok",
        "tool",
        "call_id",
        "content",
        "structured",
        "error",
        "meta",
    ];
    for key in keys(outcome) {
        assert!(known.contains(&key), "{key}: {outcome}");
    }
    for key in ["ok", "tool", "call_id", "content", "meta"] {
        assert!(outcome.get(key).is_some(), "{key}: {outcome}");
    }
    assert!(outcome["ok"].is_boolean() && outcome["tool"].is_string());
    assert!(!outcome["call_id"].as_str().unwrap().is_empty());
    for block in outcome["content"].as_array().unwrap() {
        match block["type"].as_str().unwrap() {
            "text" => assert_eq!(keys(block), ["type", "text"]),
            "image" => assert_eq!(keys(block), ["type", "data", "mimeType"]),
            other => panic!("unknown block: {other}"),
        }
    }
    assert_eq!(
        outcome["ok"] == false,
        outcome.get("error").is_some(),
        "{outcome}"
    );
    if let Some(error) = outcome.get("error") {
        assert!(error["code"].is_string() && error["message"].is_string());
        assert!(error.get("hint").is_none_or(Value::is_string));
    }
    let meta = &outcome["meta"];
    assert!(meta["duration_ms"].as_f64().unwrap() >= 0.0);
    assert!(meta["total_chars"].is_u64());
    assert!(meta["truncated"].is_boolean() && meta["reduced"].is_boolean());
    assert!(meta.get("handle").is_none_or(Value::is_string));
}

#[test]
fn every_outcome_has_the_promised_shape() {
    let place = Place::new();
    place.file("long.txt", "a line of text\n".repeat(20_000));
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
    place.file("dot.png", png);
    let check = |name: &str, args: Value, flags: &[&str], expected: &str| {
        let outcome = place.call(name, &args, flags);
        check_shape(&outcome);
        assert_eq!(verdict(&outcome), expected, "{outcome}");
        outcome
    };
    check("file.read", json!({"path": "README.md"}), &[], "ok");
    let few = ["--budget", "600"];
    let long = check("file.read", json!({"path": "long.txt"}), &few, "ok");
    assert!(long["meta"]["handle"].is_string() && long["meta"]["truncated"] == true);
    let image = check("file.read", json!({"path": "dot.png"}), &[], "ok");
    assert_eq!(image["content"][1]["mimeType"], "image/png");
    check(
        "file.read",
        json!({"path": "nope"}),
        &[],
        "execution_failed",
    );
    check("file.read", json!({}), &[], "input_invalid");
    check("nope", json!({}), &[], "not_available");
    check("shell.exec", json!({"command": "ls"}), &[], "denied");
    check(
        "shell.exec",
        json!({"command": "sleep 60"}),
        &["--yes", "--timeout", "100"],
        "timed_out",
    );
    check("file.list", json!({}), &[], "ok");
    check("system.info", json!({}), &[], "ok");
    let failed = check(
        "shell.exec",
        json!({"command": "echo said; exit 3"}),
        &["--yes"],
        "execution_failed",
    );
    assert_eq!(
        failed["structured"]["exitCode"], 3,
        "structured is kept when ok is false"
    );
    assert!(text(&failed).contains("said"));
}

#[test]
fn exit_codes() {
    let place = Place::new();
    place.file("bad.json", "{nope");
    let check = |args: &[&str], code: i32| {
        place.run(args).exits(code);
    };
    check(&["call", "file.read", r#"{"path":"README.md"}"#], 0);
    check(&["call", "file.read", r#"{"path":"none"}"#], 1);
    check(&["call", "file.read", r#"{"nope":1}"#], 1);
    check(&["call", "no.such.tool"], 1);
    check(&["call", "shell.exec", r#"{"command":"ls"}"#], 1);
    check(
        &["call", "shell.exec", r#"{"command":"exit 3"}"#, "--yes"],
        1,
    );
    check(&["call", "shell.exec", r#"{"command":"true"}"#, "--yes"], 0);
    check(&["call", "file.read", "{nope"], 2);
    check(&["call", "file.read", "@bad.json"], 2);
    check(&["call", "file.read", "@none.json"], 2);
    check(&["call", "file.read", "--set", "path"], 2);
    check(&["call", "file.read", "{}", "--no-such-flag"], 2);
    check(&["call", "file.read", "--no-such-flag"], 2);
    check(&["call", "file.read", "{}", "--budget", "many"], 2);
    check(&["call", "file.read", "{}", "--timeout", "-1"], 2);
    check(&["call", "file.read", "{}", "--autonomy", "wild"], 2);
    check(&["call"], 2);
    check(&["batch", "bad.json"], 2);
    check(&["batch", "none.json"], 2);
    check(&["no-such-command"], 2);
    check(&["tools", "show", "no.such"], 1);
    check(&["tools", "schema", "nosuch"], 1);
    check(&["policy", "explain", "no.such"], 1);
    check(&["policy", "explain", "file.read", "{nope"], 2);
    check(&["policy", "rules", "revoke", "nope"], 1);
    check(&["completions", "tcsh"], 2);
    check(&["trust"], 1);
    check(&["--version"], 0);
    check(&["--help"], 0);
    check(&["call", "--help"], 0);
    check(&["doctor"], 0);
    check(&["config", "check"], 0);
}

#[test]
fn a_batch_answers_in_order_under_the_given_ids() {
    let place = Place::with_config("tools: {rules: {deny: ['file.read(secret/**)']}}\n");
    place.file("secret/a", "hidden");
    let calls = json!([
        {"id": "slow", "name": "shell.exec", "args": {"command": "sleep 0.3; echo slow"}},
        {"id": "fast", "name": "file.read", "args": {"path": "README.md"}},
        {"id": 7, "name": "no.such.tool", "args": {}},
        {"id": "denied", "name": "file.read", "args": {"path": "secret/a"}},
        {"id": "bad", "name": "file.read", "args": {"path": 1}},
        {"id": "same", "name": "system.info"},
        {"id": "same", "name": "system.info", "args": {}},
        {"name": "system.info"},
    ]);
    let ran = place.run_with_input(&["batch", "--json", "--yes"], calls.to_string().as_bytes());
    let outcomes = ran.exits(1).json();
    let outcomes = outcomes.as_array().unwrap();
    outcomes.iter().for_each(check_shape);
    let told: Vec<_> = outcomes
        .iter()
        .map(|one| (one["call_id"].as_str().unwrap(), verdict(one)))
        .collect();
    let told: Vec<_> = told
        .iter()
        .map(|(id, verdict)| (*id, verdict.as_str()))
        .collect();
    assert_eq!(
        told[..7],
        [
            ("slow", "ok"),
            ("fast", "ok"),
            ("7", "not_available"),
            ("denied", "denied"),
            ("bad", "input_invalid"),
            ("same", "ok"),
            ("same", "ok"),
        ]
    );
    assert_eq!(told[7].1, "ok");
    assert_eq!(text(&outcomes[0]), "slow\n");
}

#[test]
fn a_batch_shares_its_budget() {
    let place = Place::new();
    place.file("bytes", (0..=255).collect::<Vec<u8>>().repeat(1000));
    let one = json!({"name": "file.read", "args": {"path": "bytes", "encoding": "base64"}});
    let counts = |calls: serde_json::Value, flags: &[&str]| -> Vec<usize> {
        let outcomes = place.batch(&calls, flags);
        outcomes
            .iter()
            .map(|one| text(one).chars().count())
            .collect()
    };
    let four = counts(json!([one, one, one, one]), &["--budget", "8000"]);
    assert!(
        four.iter().all(|count| (1000..=2000).contains(count)),
        "{four:?}"
    );
    let two = counts(json!([one, one]), &[]);
    assert!(
        two.iter().all(|count| (20_000..=40_000).contains(count)),
        "{two:?}"
    );
}

#[test]
fn a_batch_comes_from_a_file_or_standard_input_and_prints_for_people() {
    let place = Place::new();
    let calls = r#"[{"id":"one","name":"file.read","args":{"path":"README.md"}},{"id":"two","name":"nope"}]"#;
    place.file("calls.json", calls);
    for (args, input) in [
        (&["batch", "calls.json"][..], ""),
        (&["batch", "-"][..], calls),
        (&["batch"][..], calls),
    ] {
        let ran = place.run_with_input(args, input.as_bytes());
        ran.exits(1)
            .says("one file.read ok")
            .says("# a workspace")
            .says("two nope failed");
    }
    assert_eq!(
        place
            .run_with_input(&["batch", "--json"], b"[]")
            .exits(0)
            .json(),
        json!([])
    );
}

/// Commands that conflict run in the order given, others overlap.
#[test]
fn conflicting_calls_of_a_batch_keep_their_order() {
    let place = Place::new();
    let mut calls = Vec::new();
    for n in 0..20 {
        calls.push(json!({"name": "file.write", "args": {"path": "same.txt", "content": format!("{n}\n")}}));
        calls.push(json!({"name": "file.read", "args": {"path": "same.txt"}}));
    }
    let outcomes = place.batch(&calls.into(), &["--yes"]);
    for (n, pair) in outcomes.chunks(2).enumerate() {
        assert_eq!(text(&pair[1]), format!("1\t{n}"));
    }
}

/// Every command with `--json` gives one JSON document and nothing else on standard output.
#[test]
fn every_json_output_is_json() {
    let place = Place::with_config("tools: {rules: {ask: ['file.read(x)']}}\n");
    place.file("haft.yaml", "tools: {policy: coding}\n");
    for args in [
        &["tools", "--json"][..],
        &["tools", "show", "file.read", "--json"],
        &["tools", "schema", "file"],
        &["call", "file.read", r#"{"path":"README.md"}"#, "--json"],
        &[
            "call",
            "file.write",
            r#"{"path":"x","content":"y"}"#,
            "--json",
            "--dry-run",
        ],
        &["call", "nope", "--json"],
        &["policy", "explain", "shell.exec", "--json"],
        &[
            "policy",
            "explain",
            "file.read",
            r#"{"path":"x"}"#,
            "--json",
        ],
        &["policy", "rules", "--json"],
        &["config", "show", "--json"],
        &["config", "schema"],
        &["doctor", "--json"],
    ] {
        place.run(args).json();
    }
    place
        .run_with_input(&["batch", "--json"], br#"[{"name":"nope"}]"#)
        .json();
}

#[test]
fn a_file_that_changed_between_two_processes_is_a_conflict() {
    let place = Place::new();
    place.file("a.txt", "one\ntwo\n");
    let call = |tool: &str, args: Value| {
        let args = args.to_string();
        verdict(&place.run(["call", tool, &args, "--yes", "--json"]).json())
    };
    let read = || call("file.read", json!({"path": "a.txt"}));
    let edit = |from: &str, to: &str| {
        call(
            "file.edit",
            json!({"path": "a.txt", "search": from, "replace": to}),
        )
    };
    let write = |text: &str| call("file.write", json!({"path": "a.txt", "content": text}));
    assert_eq!(read(), "ok");
    place.file("a.txt", "one\ntwo\nmine\n");
    assert_eq!(edit("one", "1"), "conflict");
    assert_eq!(write("all of it\n"), "conflict");
    assert_eq!(place.read("a.txt"), "one\ntwo\nmine\n");
    assert_eq!(read(), "ok");
    assert_eq!(edit("one", "1"), "ok");
    assert_eq!(edit("1", "2"), "ok");
    place.file("a.txt", "2\n");
    assert_eq!(
        edit("2", "3"),
        "ok",
        "never read since it was written, and the text is there"
    );
    assert_eq!(
        write("a file of its own\n"),
        "ok",
        "never read since it was written"
    );
    let other = place.run([
        "call",
        "file.edit",
        r#"{"path":"a.txt","search":"own","replace":"new"}"#,
        "--yes",
        "--json",
        "--session",
        "another",
    ]);
    assert_eq!(verdict(&other.json()), "ok");
}

#[test]
fn an_error_line_of_a_long_output_is_shown_wherever_it_stands() {
    let place = Place::new();
    let rows = |error_at: usize, count: usize| -> String {
        (1..=count)
            .map(|n| match n == error_at {
                true => format!("error: row {n} is wrong\n"),
                false => format!("a plain row, number {n}\n"),
            })
            .collect()
    };
    for (error_at, count) in [(1_501, 30_000), (60_000 - 12_000, 60_000)] {
        place.file("rows.txt", rows(error_at, count));
        let args = r#"{"command":"cat rows.txt"}"#;
        let outcome = place
            .run(["call", "shell.exec", args, "--yes", "--json"])
            .json();
        let text = outcome["content"][0]["text"].as_str().unwrap();
        for text in [text, outcome["structured"]["output"].as_str().unwrap()] {
            assert!(text.starts_with("a plain row, number 1\n"), "{text}");
            let line = format!("\nerror: row {error_at} is wrong\n");
            assert!(text.contains(&line), "{text}");
            assert!(text.contains(&format!("number {count}\n")), "{text}");
            let rows = text.lines().filter(|line| line.contains("row")).count();
            let marks = text.lines().filter_map(|line| line.strip_prefix("[… "));
            let left: usize = marks
                .filter_map(|mark| mark.split(' ').next()?.parse::<usize>().ok())
                .sum();
            assert_eq!(rows + left, count, "{text}");
        }
    }
}
