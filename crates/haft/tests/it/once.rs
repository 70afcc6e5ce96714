//! Work under a key is done once; calls whose end nobody knows; calls made again to compare.

use std::fs;
use std::sync::Arc;

use haft_core::{Caller, Effects, Intent, Recorder, Repeat};
use serde_json::{Value, json};

use crate::place::{Place, text, verdict, wait_for};

const SHARED: &str = "isolation: {level: shared}";

fn once(place: &Place, key: &str, command: &str) -> Value {
    place.call(
        "shell.exec",
        &json!({ "command": command }),
        &["--yes", "--key", key],
    )
}

#[test]
fn the_same_key_is_the_same_work() {
    let place = Place::with_config(SHARED);
    let command = "echo done >> log; echo said";
    let first = once(&place, "k", command);
    assert_eq!(verdict(&first), "ok", "{first}");
    let again = once(&place, "k", command);
    assert_eq!(verdict(&again), "ok");
    assert!(text(&again).contains("said"), "{again}");
    assert!(text(&again).contains("nothing was done again"), "{again}");
    assert_eq!(place.read("log"), "done\n");
    assert_eq!(verdict(&once(&place, "k", "echo other >> log")), "conflict");
    assert_eq!(verdict(&once(&place, "k2", command)), "ok");
    assert_eq!(place.read("log"), "done\ndone\n");
    // What failed may be tried again, and another session has keys of its own.
    let fails = "echo try >> tries; exit 3";
    for _ in 0..2 {
        assert_eq!(verdict(&once(&place, "f", fails)), "execution_failed");
    }
    assert_eq!(place.read("tries"), "try\ntry\n");
    let call = json!({ "command": command });
    let flags = ["--yes", "--key", "k", "--session", "other"];
    assert_eq!(verdict(&place.call("shell.exec", &call, &flags)), "ok");
    assert_eq!(place.read("log"), "done\ndone\ndone\n");
    for bad in ["", "a\nb"] {
        place
            .run(["call", "system.info", "--key", bad])
            .exits(2)
            .says("a key is");
    }
    place.run(["journal", "verify"]).exits(0);
}

#[test]
fn at_once_only_one_does_it() {
    let place = Place::with_config(SHARED);
    let outcomes: Vec<Value> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| once(&place, "k", "echo done >> log")))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(place.read("log"), "done\n");
    for outcome in &outcomes {
        assert!(
            ["ok", "conflict"].contains(&&*verdict(outcome)),
            "{outcome}"
        );
    }
}

#[test]
fn what_must_not_happen_twice_waits_for_a_person() {
    let place = Place::with_config(SHARED);
    let mark = place.workspace.join("mark");
    let command = "echo x >> mark; sleep 60";
    let mut child = place
        .haft()
        .args(["call", "shell.exec", "--yes", "--key", "k"])
        .arg(json!({ "command": command, "timeout": 120_000 }).to_string())
        .spawn()
        .unwrap();
    wait_for("the command runs", || mark.exists().then_some(()));
    let args = json!({ "command": command, "timeout": 120_000 });
    let flags = ["--yes", "--key", "k"];
    assert_eq!(
        verdict(&place.call("shell.exec", &args, &flags)),
        "conflict"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let outcome = place.call("shell.exec", &args, &flags);
    assert_eq!(verdict(&outcome), "uncertain", "{outcome}");
    assert!(
        outcome["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("haft journal settle")
    );
    let refused = outcome["call_id"].as_str().unwrap();
    let refused = place.run(["journal", "show", refused]).json();
    assert_eq!(refused["state"], "failed", "it was never begun: {refused}");
    place
        .run(["journal", "settle", "--retry", "--yes"])
        .exits(1)
        .says("a person decides");
    assert_eq!(place.read("mark"), "x\n");
    place.run(["journal", "settle", "1", "--happened"]).exits(0);
    assert_eq!(verdict(&place.call("shell.exec", &args, &flags)), "ok");
    assert_eq!(place.read("mark"), "x\n");
}

/// A haft that says what it is about to do, and dies.
fn dies_before_it_writes(place: &Place, path: &str, content: &str) {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["once::helper_that_intends_and_dies", "--exact"])
        .env("HAFT_TEST_HOME", &place.home)
        .env("HAFT_TEST_WORK", &place.workspace)
        .env(
            "HAFT_TEST_ARGS",
            json!({"path": path, "content": content}).to_string(),
        )
        .output()
        .unwrap();
    assert!(!child.status.success(), "it kills itself");
}

/// Not a test of its own: others start it in a process that does not come back.
#[test]
fn helper_that_intends_and_dies() {
    let var = |name: &str| std::env::var(name).ok();
    let (Some(home), Some(work), Some(args)) = (
        var("HAFT_TEST_HOME"),
        var("HAFT_TEST_WORK"),
        var("HAFT_TEST_ARGS"),
    ) else {
        return;
    };
    let journal = haft_store::Journal::open(haft_store::JournalConfig {
        home: home.into(),
        mask: |_| 0,
        boot: None,
    })
    .unwrap();
    let caller = Caller {
        paths: Arc::new(haft_host::RealPaths),
        ..Caller::alone("crashed", work)
    };
    let args: Value = serde_json::from_str(&args).unwrap();
    let intent = Intent {
        call_id: args["path"].as_str().unwrap().into(),
        tool: "file.write".into(),
        caller: Arc::new(caller),
        profile: None,
        autonomy: None,
        args: Arc::new(args),
        private: haft_core::Private::Named(Vec::new()),
        effects: Some(Arc::new(Effects::anything())),
        resolved: Vec::new(),
        repeat: Repeat::Idempotent,
        dry_run: false,
        ruling: None,
        key: Some("k".into()),
    };
    let engine = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    engine.block_on(journal.intend(intent)).unwrap();
    std::process::abort();
}

#[test]
fn a_tool_tells_what_became_of_its_call() {
    let place = Place::new();
    place.file("there", "content");
    dies_before_it_writes(&place, "there", "content");
    place
        .run(["journal", "settle", "--retry", "--yes"])
        .exits(0)
        .says("the tool looked for it");
    let shown = place.run(["journal", "show", "there"]).json();
    assert_eq!(shown["state"], "ok", "{shown}");
    place
        .run(["journal", "settle"])
        .says("no call is uncertain");
}

#[test]
fn what_does_no_harm_is_made_again_with_its_key() {
    let place = Place::new();
    dies_before_it_writes(&place, "gone", "content");
    let call = json!({"path": "gone", "content": "content"});
    let flags = ["--yes", "--key", "k", "--session", "crashed"];
    let outcome = place.call("file.write", &call, &flags);
    assert_eq!(verdict(&outcome), "ok", "{outcome}");
    assert_eq!(place.read("gone"), "content");
    place
        .run(["journal", "settle"])
        .says("no call is uncertain");
    place.run(["journal", "verify"]).exits(0);
}

#[test]
fn reading_calls_are_made_again_and_compared() {
    let place = Place::new();
    place.file("a", "one\n");
    place.file("b", "same\n");
    for path in ["a", "b", "gone"] {
        place.call("file.read", &json!({"path": path}), &["--session", "s"]);
    }
    place.call(
        "file.write",
        &json!({"path": "w", "content": "x"}),
        &["--session", "s", "--yes"],
    );
    let replay = || place.run(["replay", "s", "--json"]);
    let results = |rows: &Value| -> Vec<String> {
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["result"].as_str().unwrap().to_owned())
            .collect()
    };
    let ran = replay();
    assert_eq!(results(&ran.exits(0).json()), ["same", "same", "same"]);
    place.file("a", "two\n");
    place.file("gone", "here now\n");
    fs::remove_file(place.workspace.join("w")).unwrap();
    let ran = replay();
    assert_eq!(
        results(&ran.exits(1).json()),
        ["differs", "same", "differs"]
    );
    assert!(
        !place.workspace.join("w").exists(),
        "nothing is written again"
    );
    // What is short is in the record, so that the difference can be shown.
    let ran = place.run(["replay", "s"]);
    let out = &ran.exits(1).says("2 differ").out;
    for (mark, word) in [('-', "one"), ('+', "two")] {
        let shown = |line: &str| line.starts_with(mark) && line.contains(word);
        assert!(out.lines().any(shown), "{mark}{word}: {out}");
    }
    let listed = place.run(["journal", "--json"]).out;
    let ids: Vec<String> = listed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| line["call_id"].as_str().unwrap().to_owned())
        .collect();
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "an id means one call: {ids:?}");
    place
        .run(["replay", "none"])
        .exits(1)
        .says("no reading call");
}

/// Where the whole result of then is kept, the lines that differ are shown.
#[test]
fn a_replay_shows_what_became_of_a_long_result() {
    let place = Place::new();
    let lines = |changed: &str| -> String {
        let lines = (0..9_000).map(|n| match n {
            4_321 => format!("{changed}\n"),
            n => format!("line {n}\n"),
        });
        lines.collect()
    };
    place.file("long.txt", lines("before"));
    let made = place.call(
        "file.read",
        &json!({"path": "long.txt"}),
        &["--session", "s"],
    );
    assert!(made["meta"]["handle"].is_string(), "{made}");
    place.file("long.txt", lines("after"));
    let ran = place.run(["replay", "s"]);
    let out = &ran.exits(1).out;
    for expected in ["--- then", "+++ now", "before", "after", " line 4320"] {
        let line = out
            .lines()
            .find(|line| line.contains(expected.trim_start()));
        assert!(line.is_some(), "{expected}: {out}");
    }
    assert!(!out.contains("line 1000"), "the rest is the same");
    let rows = place.run(["replay", "s", "--json"]);
    let rows = rows.exits(1).json();
    let diff = rows[0]["diff"].as_str().unwrap();
    let changed = diff.lines().skip(2);
    let changed = changed.filter(|line| line.starts_with(['+', '-'])).count();
    assert_eq!(changed, 2, "{diff}");
}

/// Long output is shortened, until its results keep being read in full.
#[test]
fn a_reducer_that_saves_nothing_is_switched_off_for_that_command() {
    let place = Place::with_config(SHARED);
    let long = |n: usize, budget: &str| {
        place.file(
            "out",
            "a line of the output of something long\n".repeat(400 + n),
        );
        let call = json!({"command": "head -n 500 out"});
        place.call("shell.exec", &call, &["--yes", "--budget", budget])
    };
    for n in 0..5 {
        let outcome = long(n, "30000");
        assert_eq!(outcome["meta"]["reduced"], true, "{outcome}");
        let handle = outcome["meta"]["handle"].as_str().unwrap();
        place.call(
            "result.read",
            &json!({"handle": handle, "lines": "1-3"}),
            &[],
        );
    }
    // Said also where no more than a part can be shown.
    for budget in ["30000", "1000", "300"] {
        let outcome = long(9, budget);
        assert_ne!(outcome["meta"]["reduced"], true, "{outcome}");
        let told =
            "[not shortened: shortened results of `shell.exec head -n` kept being read again]";
        assert!(text(&outcome).contains(told), "{budget}: {outcome}");
        let fits = text(&outcome).chars().count() <= budget.parse().unwrap();
        assert!(fits, "{budget}: {outcome}");
    }
    place.run(["stats"]).exits(0).says("switched off");
    // Another command is another matter.
    let other = place.call("shell.exec", &json!({"command": "cat out"}), &["--yes"]);
    assert_eq!(other["meta"]["reduced"], true, "{other}");
}
