//! What no program should send, and the clear answer it gets.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde_json::json;

use crate::place::{Place, text, verdict};

#[test]
fn malformed_json_is_located_and_shown() {
    let place = Place::new();
    let check = |json: &str, offset: usize, near: &str| {
        let ran = place.run(["call", "file.read", json, "--json"]);
        ran.exits(2).says(&format!("offset {offset}")).says(near);
        assert_eq!(ran.json()["error"]["code"], "input_invalid", "{ran:?}");
        assert!(!ran.err.contains("panicked"), "{ran:?}");
        let ran = place.run_with_input(&["call", "file.read", "-"], json.as_bytes());
        ran.exits(2).says(&format!("offset {offset}")).says(near);
        place.file("args.json", json);
        let ran = place.run(["call", "file.read", "@args.json"]);
        ran.exits(2).says(&format!("offset {offset}")).says(near);
    };
    check(r#"{"path": README.md}"#, 9, "README.md");
    check(r#"{"path": "a",}"#, 13, r#""a",}"#);
    check(r#"{"path": "a" "b"}"#, 13, r#""b""#);
    check("{\n  \"path\": 'x'\n}", 12, "'x'");
    check(r#"{"path": "a"} trailing"#, 14, "trailing");
    check("path", 0, "path");
    check(r#"{"path": "open"#, 14, "open");
}

#[test]
fn json_that_is_no_object_is_an_invalid_input() {
    let place = Place::new();
    for args in ["[]", "1", "\"README.md\"", "true"] {
        let ran = place.run(["call", "file.read", args, "--json"]);
        assert_eq!(verdict(&ran.exits(1).json()), "input_invalid", "{args}");
    }
}

#[test]
fn text_that_is_not_utf8() {
    let place = Place::new();
    let raw = OsString::from_vec(b"{\"path\":\"\xff\"}".to_vec());
    let ran = place.run(["call".into(), "file.read".into(), raw]);
    ran.exits(2).says("UTF-8");
    let ran = place.run_with_input(&["call", "file.read", "-"], b"{\"path\":\"\xff\"}");
    ran.exits(2).says("standard input is not UTF-8 at offset 9");
    place.file("args.json", b"{\"path\":\"\xff\"}");
    place
        .run(["call", "file.read", "@args.json"])
        .exits(2)
        .says("`args.json` is not UTF-8 at offset 9");
    let ran = place.run_with_input(&["batch"], b"[\xff]");
    ran.exits(2).says("not UTF-8 at offset 1");

    place.file("latin.txt", b"caf\xe9 au lait\n");
    let outcome = place.call("file.read", &json!({"path": "latin.txt"}), &[]);
    assert!(text(&outcome).contains("café au lait"), "{outcome}");
    place.file("binary.bin", [0u8, 159, 146, 150, 0, 1, 2, 3].repeat(50));
    let outcome = place.call("file.read", &json!({"path": "binary.bin"}), &[]);
    assert_eq!(verdict(&outcome), "execution_failed", "{outcome}");
    let outcome = place.call(
        "shell.exec",
        &json!({"command": r"printf 'a\377b\n'"}),
        &["--yes"],
    );
    assert_eq!(text(&outcome), "a\u{fffd}b\n");
}

#[test]
fn huge_arguments() {
    let place = Place::new();
    let content = "x".repeat(3 << 20);
    let args = json!({"path": "big.txt", "content": content}).to_string();
    let ran = place.run_with_input(
        &["call", "file.write", "-", "--yes", "--json"],
        args.as_bytes(),
    );
    assert_eq!(verdict(&ran.exits(0).json()), "ok");
    assert_eq!(place.read("big.txt").len(), 3 << 20);

    let too_much = format!(r#"{{"path":"{}"}}"#, "x".repeat(33 << 20));
    let ran = place.run_with_input(&["call", "file.read", "-", "--json"], too_much.as_bytes());
    ran.exits(2).says("too large");

    // What is wrong with a large value is said in few words.
    let large = json!({"path": "README.md", "limit": "y".repeat(1 << 20)}).to_string();
    let ran = place.run_with_input(&["call", "file.read", "-", "--json"], large.as_bytes());
    let outcome = ran.exits(1).json();
    assert_eq!(verdict(&outcome), "input_invalid");
    assert!(ran.out.len() < 5_000, "{}", ran.out.len());
    let long_name = "n".repeat(100_000);
    let ran = place.run(["call", &long_name, "--json"]);
    assert_eq!(verdict(&ran.exits(1).json()), "not_available");
    assert!(ran.out.len() < 150_000, "{}", ran.out.len());
}

#[test]
fn deep_nesting() {
    let place = Place::new();
    for depth in [200, 5_000, 200_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let args = format!(r#"{{"path":{deep}}}"#);
        let ran = place.run_with_input(&["call", "file.read", "-", "--json"], args.as_bytes());
        ran.exits(2).says("recursion limit");
        let ran = place.run_with_input(&["batch", "--json"], deep.as_bytes());
        ran.exits(2).says("recursion limit");
    }
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let ran = place.run([
        "call",
        "file.read",
        &format!(r#"{{"path":{deep}}}"#),
        "--json",
    ]);
    assert_eq!(verdict(&ran.exits(1).json()), "input_invalid");
}

#[test]
fn unknown_flags_are_named() {
    let place = Place::new();
    place
        .run(["call", "file.read", "--jsn"])
        .exits(2)
        .says("--jsn")
        .says("--json");
    place
        .run(["call", "file.read", "{}", "--dryrun"])
        .exits(2)
        .says("--dry-run");
    place
        .run(["policy", "explain", "file.read", "--jsn"])
        .exits(2)
        .says("--json");
    place.run(["tolls"]).exits(2).says("tools");
    place.run(["config", "chek"]).exits(2).says("check");
}

#[test]
fn a_batch_that_is_none() {
    let place = Place::new();
    for (batch, code, says) in [
        ("{}", 2, "array"),
        ("", 2, "offset 0"),
        ("[1]", 1, "entry 1"),
        (r#"[{"name":"file.read"},{"id":"x"}]"#, 1, "entry 2"),
        (r#"[{"name":"file.read","arg":{}}]"#, 1, "`arg`"),
        (r#"[{"name":1}]"#, 1, "entry 1"),
    ] {
        place
            .run_with_input(&["batch", "--json"], batch.as_bytes())
            .exits(code)
            .says(says);
    }
}

#[test]
fn odd_values_are_answers() {
    let place = Place::new();
    let check = |tool: &str, args: serde_json::Value, expected: &str| {
        let outcome = place.call(tool, &args, &["--yes"]);
        assert_eq!(verdict(&outcome), expected, "{outcome}");
    };
    check("file.read", json!({"path": ""}), "input_invalid");
    check("file.read", json!({"path": "a\u{0}b"}), "input_invalid");
    check(
        "file.read",
        json!({"path": "README.md", "limit": -1}),
        "input_invalid",
    );
    check(
        "file.read",
        json!({"path": "README.md", "limit": 1.5}),
        "input_invalid",
    );
    check(
        "file.read",
        json!({"path": "README.md", "limit": u64::MAX}),
        "ok",
    );
    check(
        "file.read",
        json!({"path": "x".repeat(5000)}),
        "input_invalid",
    );
    check("file.read", json!({"path": "."}), "execution_failed");
    check(
        "file.write",
        json!({"path": "README.md/x", "content": ""}),
        "execution_failed",
    );
    check("file.edit", json!({"path": "README.md"}), "input_invalid");
    check("shell.exec", json!({"command": ""}), "input_invalid");
    check("shell.exec", json!({"command": "a\u{0}b"}), "input_invalid");
    check(
        "shell.exec",
        json!({"command": "ls", "cwd": "nowhere"}),
        "execution_failed",
    );
    check(
        "result.read",
        json!({"handle": "r_0", "lines": "9-1"}),
        "input_invalid",
    );
    check(
        "result.read",
        json!({"handle": "nonsense"}),
        "not_available",
    );
    check("system.info", json!({"verbose": true}), "input_invalid");
    assert_eq!(place.read("README.md"), "# a workspace\n");
}

/// A command that prints without end is cut, ended and answered.
#[test]
fn endless_output() {
    let place = Place::new();
    let outcome = place.call(
        "shell.exec",
        &json!({"command": "yes"}),
        &["--yes", "--timeout", "700"],
    );
    assert_eq!(verdict(&outcome), "timed_out", "{}", outcome["error"]);
    assert!(text(&outcome).chars().count() <= 80_000);
    let meta = &outcome["meta"];
    assert!(meta["truncated"] == true, "{meta}");
}

#[test]
fn a_workspace_that_is_none() {
    let place = Place::new();
    place
        .run(["call", "system.info", "--workspace", "nowhere"])
        .exits(2)
        .says("nowhere");
    place
        .run(["call", "system.info", "--workspace", "README.md"])
        .exits(2)
        .says("README.md");
    place
        .run(["call", "system.info", "--session", "../x"])
        .exits(2)
        .says("session id");
    place
        .run(["call", "system.info", "--profile", "codng"])
        .exits(2)
        .says("coding");
}

#[test]
fn one_bad_entry_of_a_batch_is_one_bad_outcome() {
    let place = Place::new();
    let calls = json!([
        {"id": "a", "name": "file.read", "args": {"path": "README.md"}},
        5,
        {"id": "c", "tool": "file.read"},
        {"id": 4, "name": "file.read", "args": {"path": "README.md"}},
    ]);
    let outcomes = place.batch(&calls, &[]);
    let told: Vec<String> = outcomes
        .iter()
        .map(|outcome| format!("{} {}", outcome["call_id"], verdict(outcome)))
        .collect();
    assert_eq!(
        told,
        [
            "\"a\" ok",
            "\"\" input_invalid",
            "\"c\" input_invalid",
            "\"4\" ok"
        ]
    );
    assert!(
        outcomes[1]["error"]["message"]
            .to_string()
            .contains("entry 2")
    );
}

#[test]
fn a_whole_number_may_be_written_with_a_fraction() {
    let place = Place::new();
    place.file("lines.txt", "one\ntwo\nthree\n");
    let outcome = place.call(
        "file.read",
        &json!({"path": "lines.txt", "offset": 1.0, "limit": 1.0}),
        &[],
    );
    assert_eq!(text(&outcome), "2\ttwo", "{outcome}");
    let outcome = place.call(
        "file.read",
        &json!({"path": "lines.txt", "offset": 1.5}),
        &[],
    );
    assert_eq!(verdict(&outcome), "input_invalid", "{outcome}");
}
