//! What the first version has to show, line by line.

use serde_json::json;

use crate::place::{Place, text, verdict};

#[test]
fn reading_a_file_is_silent_and_ok() {
    let place = Place::new();
    let ran = place.run(["call", "file.read", r#"{"path":"README.md"}"#, "--json"]);
    let outcome = ran.exits(0).json();
    assert_eq!(outcome["ok"], true);
    assert_eq!(text(&outcome), "1\t# a workspace");
}

#[test]
fn a_wrong_key_is_named_with_the_right_one() {
    let place = Place::new();
    for (args, right) in [
        (json!({"pth": "README.md"}), "path"),
        (json!({"Path": "README.md"}), "path"),
        (json!({"path": "README.md", "ofset": 1}), "offset"),
        (json!({"path": "README.md", "lmit": 1}), "limit"),
    ] {
        let ran = place.run(["call", "file.read", &args.to_string(), "--json"]);
        let outcome = ran.exits(1).json();
        assert_eq!(verdict(&outcome), "input_invalid");
        let hint = outcome["error"]["hint"].as_str().unwrap();
        assert!(
            hint.contains(&format!("did you mean `{right}`")),
            "{args}: {hint}"
        );
    }
}

#[test]
fn an_unknown_tool_gets_a_suggestion_and_nothing_runs() {
    let place = Place::new();
    for (wrong, right) in [
        ("shel.exec", "shell.exec"),
        ("file.raed", "file.read"),
        ("fil.write", "file.write"),
    ] {
        let ran = place.run(["call", wrong, "{}", "--yes", "--json"]);
        let outcome = ran.exits(1).json();
        assert_eq!(verdict(&outcome), "not_available");
        let hint = outcome["error"]["hint"].as_str().unwrap();
        assert!(hint.contains(right), "{wrong}: {hint}");
    }
    place.run(["call", "shel.exec"]).exits(1).says("shell.exec");
}

/// A file of `bytes` bytes in lines, with the needle as a line in its middle.
fn haystack(bytes: usize, needle: &str) -> Vec<u8> {
    let line = b"nothing to see in this line, it is only here to be long enough\n";
    let mut hay = Vec::with_capacity(bytes + needle.len() + 2);
    while hay.len() < bytes / 2 {
        hay.extend_from_slice(line);
    }
    hay.extend_from_slice(needle.as_bytes());
    hay.push(b'\n');
    while hay.len() < bytes {
        hay.extend_from_slice(line);
    }
    hay
}

#[test]
fn a_long_output_fits_the_budget_and_a_second_process_finds_its_middle() {
    let place = Place::new();
    place.file("hay.txt", haystack(5 << 20, "needle-7319 in the middle"));
    for (tool, args) in [
        ("shell.exec", json!({"command": "cat hay.txt"})),
        ("file.read", json!({"path": "hay.txt"})),
    ] {
        let outcome = place.call(tool, &args, &["--yes", "--budget", "10000"]);
        assert_eq!(verdict(&outcome), "ok", "{tool}");
        let shown = text(&outcome);
        let meta = &outcome["meta"];
        assert!(meta["truncated"] == true, "{tool}: {meta}");
        assert!(!shown.contains("needle-7319"), "{tool}");
        assert!(
            outcome.to_string().chars().count() < 40_000,
            "structured is bounded too"
        );

        let handle = outcome["meta"]["handle"].as_str().unwrap();
        let found = place.call(
            "result.read",
            &json!({"handle": handle, "regex": "needle-[0-9]+"}),
            &[],
        );
        assert_eq!(verdict(&found), "ok");
        assert!(
            text(&found).contains("needle-7319 in the middle"),
            "{}",
            text(&found)
        );
        assert_eq!(found["structured"]["matches"], 1);
        let line = found["structured"]["match_lines"][0].as_u64().unwrap();
        let by_line = place.call(
            "result.read",
            &json!({"handle": handle, "lines": format!("{line}-{line}")}),
            &[],
        );
        assert!(text(&by_line).contains("needle-7319"), "{}", text(&by_line));
    }
}

#[test]
fn a_cut_result_ends_with_how_long_it_was() {
    let place = Place::new();
    for n in 0..1500 {
        place.file(&format!("many/file-number-{n}.txt"), "");
    }
    let outcome = place.call("file.list", &json!({"path": "many"}), &["--budget", "700"]);
    let shown = text(&outcome);
    let total = outcome["meta"]["total_chars"].as_u64().unwrap();
    assert!(total > 30_000 && shown.chars().count() <= 700, "{total}");
    let notice = format!("[truncated — {total} chars total]");
    assert!(shown.trim_end().ends_with(&notice), "{shown}");
    assert_eq!(outcome["meta"]["truncated"], true);
    let handle = &outcome["meta"]["handle"];
    let found = place.call(
        "result.read",
        &json!({"handle": handle, "regex": "number-777\\."}),
        &[],
    );
    assert!(text(&found).contains("file-number-777.txt"), "{found}");
}

#[test]
fn another_sessions_handle_is_refused() {
    let place = Place::new();
    place.file("hay.txt", haystack(200_000, "needle"));
    let outcome = place.call(
        "file.read",
        &json!({"path": "hay.txt"}),
        &["--session", "one"],
    );
    let handle = json!({"handle": outcome["meta"]["handle"], "regex": "needle"});
    assert_eq!(
        verdict(&place.call("result.read", &handle, &["--session", "one"])),
        "ok"
    );
    for flags in [&["--session", "two"][..], &[]] {
        let refused = place.call("result.read", &handle, flags);
        assert_eq!(refused["ok"], false, "{refused}");
        assert!(!refused.to_string().contains("nothing to see"), "{refused}");
    }
    let forged = json!({"handle": "../../config.yaml", "lines": "1-"});
    assert_eq!(place.call("result.read", &forged, &[])["ok"], false);
}

#[test]
fn calls_from_one_workspace_share_a_session() {
    let place = Place::new();
    place.file("hay.txt", haystack(200_000, "needle"));
    let outcome = place.call("file.read", &json!({"path": "hay.txt"}), &[]);
    let handle = json!({"handle": outcome["meta"]["handle"], "regex": "needle"});
    assert_eq!(verdict(&place.call("result.read", &handle, &[])), "ok");
    let other = place.beside("other");
    std::fs::create_dir(&other).unwrap();
    let refused = place.call(
        "result.read",
        &handle,
        &["--workspace", other.to_str().unwrap()],
    );
    assert_eq!(refused["ok"], false);
}

#[test]
fn a_needle_in_100_mb_is_found_with_4_kb_in_context() {
    let place = Place::with_config("shell: {max_output: 200000000}\n");
    place.file("hay.txt", haystack(100 << 20, "needle-4242 is here"));
    let outcome = place.call(
        "shell.exec",
        &json!({"command": "cat hay.txt"}),
        &["--yes", "--budget", "1500"],
    );
    assert_eq!(verdict(&outcome), "ok", "{}", outcome["error"]);
    let handle = outcome["meta"]["handle"].as_str().unwrap();
    let found = place.call(
        "result.read",
        &json!({"handle": handle, "regex": "needle-4242"}),
        &["--budget", "1500"],
    );
    assert!(text(&found).contains("needle-4242 is here"), "{found}");
    let context = text(&outcome).chars().count() + text(&found).chars().count();
    assert!(context <= 4096, "{context}");
}

#[test]
fn what_was_not_kept_is_said_where_it_is_looked_for() {
    let place = Place::with_config("shell: {max_output: 300000}\n");
    place.file("hay.txt", haystack(1 << 20, "needle-4242 is here"));
    let args = json!({"command": "cat hay.txt"});
    let outcome = place.call("shell.exec", &args, &["--yes"]);
    let first = text(&outcome).lines().next().unwrap_or_default().to_owned();
    assert!(first.contains("are kept behind the handle"), "{first}");
    let handle = outcome["meta"]["handle"].as_str().unwrap();
    let args = json!({"handle": handle, "regex": "no-such-needle"});
    let found = place.call("result.read", &args, &[]);
    let found = text(&found);
    assert!(found.contains("[no line matches]"), "{found}");
    assert!(found.contains("`shell.max_output` keeps 300000"), "{found}");
}

#[test]
fn coding_refuses_the_shell_and_says_by_which_rule() {
    let place = Place::new();
    let ran = place.run(["policy", "explain", "shell.exec", "--profile", "coding"]);
    ran.exits(0)
        .says("refused")
        .says("profile coding: deny group:runtime");
    let ran = place.run([
        "policy",
        "explain",
        "shell.exec",
        "--profile",
        "coding",
        "--json",
    ]);
    let explained = ran.exits(0).json();
    assert_eq!(explained["verdict"], "deny");
    assert_eq!(
        explained["rules"][0]["rule"],
        "profile coding: deny group:runtime"
    );
    assert_eq!(explained["rules"][0]["from"], "defaults");
    assert_eq!(explained["rules"][0]["effect"], "deny");
    assert!(
        explained["reason"]
            .as_str()
            .unwrap()
            .contains("group:runtime")
    );
}

#[test]
fn a_dry_run_can_be_asked_for_in_the_arguments() {
    let place = Place::new();
    let args = json!({"command": "rm -rf *", "dry_run": true});
    let outcome = place.call("shell.exec", &args, &["--yes"]);
    assert_eq!(verdict(&outcome), "ok", "{outcome}");
    assert!(
        outcome["structured"].to_string().contains("README.md"),
        "{outcome}"
    );
    assert_eq!(place.read("README.md"), "# a workspace\n");
    // With nobody to say yes there is no preview, and the answer says so.
    let outcome = place.call("shell.exec", &args, &[]);
    assert!(text(&outcome).contains("no preview"), "{outcome}");
}
