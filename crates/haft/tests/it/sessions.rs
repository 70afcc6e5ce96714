//! Commands that go on in the background: within one `haft batch`, and not beyond it.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::place::{LEVELS, PATIENCE, Place, verdict};

/// Whether a process runs whose command line holds this word.
fn running(word: &str) -> bool {
    let has = |entry: &Path| {
        std::fs::read(entry.join("cmdline")).is_ok_and(|line| {
            line.split(|byte| *byte == 0)
                .any(|one| one == word.as_bytes())
        })
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .any(|entry| has(&entry.path()))
}

#[test]
fn a_later_call_of_the_batch_finds_the_session_by_the_call_that_started_it() {
    let place = Place::new();
    let outcomes = place.batch(
        &json!([
            {"id": "cat", "name": "Bash", "args": {"command": "cat; echo end", "background": true}},
            {"name": "Process", "args": {"action": "submit", "sessionId": "cat", "data": "hello"}},
            {"name": "process.write", "args": {"sessionId": "cat", "data": "there\n", "eof": true}},
            {"name": "process.list", "args": {}},
            {"name": "process.kill", "args": {"sessionId": "nobody"}},
        ]),
        &["--yes"],
    );
    let verdicts: Vec<String> = outcomes.iter().map(verdict).collect();
    assert_eq!(verdicts, ["ok", "ok", "ok", "ok", "execution_failed"]);
    let started = &outcomes[0]["structured"];
    assert_eq!(started["status"], "running");
    assert_eq!(outcomes[1]["structured"]["sessionId"], started["sessionId"]);
    assert_eq!(
        outcomes[3]["structured"]["sessions"][0]["sessionId"],
        started["sessionId"]
    );
}

/// The command before them ends only once both have run.
#[test]
fn what_starts_in_the_background_does_not_wait_for_a_command_to_end() {
    let place = Place::new();
    let waits = "until [ -e one ] && [ -e two ]; do sleep 0.02; done; echo seen";
    let limit = PATIENCE.as_millis() as u64;
    let outcomes = place.batch(
        &json!([
            {"name": "shell.exec", "args": {"command": waits, "timeout": limit}},
            {"name": "shell.exec", "args": {"command": "touch one", "background": true}},
            {"id": "two", "name": "process.start", "args": {"command": "cat; touch two"}},
            {"name": "process.write", "args": {"sessionId": "two", "data": "x", "eof": true}},
        ]),
        &["--yes"],
    );
    let verdicts: Vec<String> = outcomes.iter().map(verdict).collect();
    assert_eq!(verdicts, ["ok"; 4], "{outcomes:?}");
    assert_eq!(outcomes[0]["structured"]["output"], "seen\n");
}

/// Nobody between haft and the program keeps its input open in its stead.
#[test]
fn what_is_written_to_a_closed_input_is_not_called_written() {
    for level in LEVELS {
        let place = Place::with_config(level);
        let closes = "exec <&-; touch closed; sleep 1000";
        let waits = "until [ -e closed ]; do sleep 0.02; done";
        let write = |data: &str| json!({"name": "process.write", "args": {"sessionId": "deaf", "data": data}});
        let outcomes = place.batch(
            &json!([
                {"id": "deaf", "name": "process.start", "args": {"command": closes}},
                {"name": "shell.exec", "args": {"command": waits, "yieldMs": 60_000}},
                write("one"),
                write("two"),
            ]),
            &["--yes"],
        );
        let told = |n: usize| outcomes[n]["error"]["message"].as_str().unwrap_or_default();
        assert!(told(2).contains("closed its input"), "{level}{outcomes:?}");
        assert!(told(3).contains("is closed"), "{level}{outcomes:?}");
        for outcome in &outcomes[2..] {
            let hint = outcome["error"]["hint"].as_str().unwrap();
            assert!(hint.contains("`stdin`"), "{hint}");
        }
    }
}

#[test]
fn sessions_end_with_the_batch() {
    for (n, level) in LEVELS.into_iter().enumerate() {
        end_with_the_batch(&Place::with_config(level), n);
    }
}

fn end_with_the_batch(place: &Place, n: usize) {
    // A number that nobody else sleeps for, so that the process can be found.
    let word = format!("{}.{}", 1000 + n, std::process::id());
    let begun = Instant::now();
    let outcomes = place.batch(
        &json!([
            {"name": "shell.exec", "args": {"command": format!("trap '' TERM; sleep {word}"), "yieldMs": 200}},
            {"name": "process.start", "args": {"command": "sleep", "args": [word]}},
        ]),
        &["--yes"],
    );
    for outcome in &outcomes {
        assert_eq!(outcome["structured"]["status"], "running", "{outcome}");
    }
    assert!(!running(&word));
    assert!(begun.elapsed() < PATIENCE);
}

#[test]
fn a_single_call_leaves_nothing_running() {
    let place = Place::new();
    for (tool, args) in [
        ("Bash", json!({"command": "sleep 1000", "background": true})),
        ("process.start", json!({"command": "sleep 1000"})),
    ] {
        let outcome = place.call(tool, &args, &["--yes"]);
        assert_eq!(verdict(&outcome), "not_available", "{tool} {args}");
        let hint = outcome["error"]["hint"].as_str().unwrap();
        assert!(hint.contains("`haft batch`"), "{hint}");
    }
    // With nobody to leave it to, a command that takes longer is waited for.
    let slow = json!({"command": "sleep 0.1; echo done", "yieldMs": 10});
    let outcome = place.call("Bash", &slow, &["--yes"]);
    assert_eq!(outcome["structured"]["output"], "done\n");
    assert_eq!(outcome["structured"]["status"], "completed");
}

#[test]
fn looking_is_silent_and_telling_asks() {
    let place = Place::new();
    let check = |tool: &str, args: Value, expected: &str| {
        let ran = place.run(["policy", "explain", tool, &args.to_string(), "--json"]);
        assert_eq!(ran.json()["verdict"], expected, "{tool} {args}");
    };
    let id = "x";
    check("process.list", json!({}), "allow");
    check("process.poll", json!({ "sessionId": id }), "allow");
    check("process.status", json!({"pid": 1}), "allow");
    check("Process", json!({"action": "list"}), "allow");
    check(
        "Process",
        json!({"action": "log", "sessionId": id}),
        "allow",
    );
    check("Process", json!({"action": "kill", "sessionId": id}), "ask");
    check("process.kill", json!({ "sessionId": id }), "ask");
    check("process.start", json!({"command": "sleep 1"}), "ask");
    check(
        "process.submit",
        json!({"sessionId": id, "data": "y"}),
        "ask",
    );
    check(
        "process.write",
        json!({"sessionId": id, "data": "y"}),
        "ask",
    );

    place.config("tools:\n  rules:\n    deny: ['shell.exec(rm *)', 'shell.exec(kill *)']\n");
    let rm = json!({"sessionId": id, "data": "ls; rm -rf x"});
    check("process.submit", rm, "deny");
    check("process.kill", json!({ "sessionId": id }), "deny");
    check(
        "Process",
        json!({"action": "kill", "sessionId": id}),
        "deny",
    );
}
