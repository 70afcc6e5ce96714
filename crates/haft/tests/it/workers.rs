//! Workers, as the owner switches them on: calls end the same way, and a worker that dies takes
//! nobody along.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::place::{LEVELS, Place, verdict, wait_for};

/// The processes below this one that are workers.
fn workers_of(haft: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{haft}/task/{haft}/children"));
    let children = children.unwrap_or_default();
    let is_worker = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| {
            line.split(|byte| *byte == 0)
                .any(|word| word == b"__worker")
        })
    };
    let pids = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok());
    pids.filter(is_worker).collect()
}

/// Everything that does not say which process did it.
fn essence(mut outcome: serde_json::Value) -> serde_json::Value {
    for key in ["call_id", "duration_ms", "handle", "id", "metadata"] {
        outcome.as_object_mut().unwrap().remove(key);
    }
    if let Some(meta) = outcome["meta"].as_object_mut() {
        meta.remove("duration_ms");
    }
    if let Some(structured) = outcome["structured"].as_object_mut() {
        for key in ["sessionId", "startedAt", "endedAt", "durationMs"] {
            structured.remove(key);
        }
    }
    // How far it had come when its time was over is a matter of chance.
    if outcome["structured"]["timedOut"] == true {
        return outcome["error"].take();
    }
    outcome
}

#[test]
fn calls_end_as_they_do_without_workers() {
    for level in LEVELS {
        let place = Place::new();
        place.file("notes.txt", "one\ntwo\n");
        place.file("latin.txt", b"caf\xe9 au lait, s'il vous pla\xeet\n");
        place.file("dot.gif", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;");
        place.file("junk.bin", b"\x7fELF\x02\x01\x01\x00\x00\x00");
        let calls = json!([
            {"name": "file.read", "args": {"path": "notes.txt"}},
            {"name": "file.read", "args": {"path": "notes.txt", "encoding": "base64"}},
            {"name": "file.read", "args": {"path": "latin.txt"}},
            {"name": "file.read", "args": {"path": "dot.gif"}},
            {"name": "file.read", "args": {"path": "junk.bin"}},
            {"name": "file.read", "args": {"path": "missing"}},
            {"name": "file.read", "args": {"path": "../outside"}},
            {"name": "file.write", "args": {"path": "new/file.txt", "content": "ä\u{0}\n"}},
            {"name": "file.write", "args": {"path": "haft.yaml", "content": "tools: {}"}},
            {"name": "shell.exec", "args": {"command": "cat new/file.txt; echo $0; exit 4"}},
            {"name": "shell.exec", "args": {"command": "sleep 100", "timeout": 50}},
            {"name": "file.edit", "args": {"path": "notes.txt", "oldString": "two", "newString": "2"}},
            {"name": "shell.exec", "args": {"command": "pwd; test -t 1 && echo terminal", "pty": true}},
        ]);
        let answers = [String::new(), "workers: {count: 2}\n".to_owned()].map(|workers| {
            place.file("notes.txt", "one\ntwo\n");
            let _ = fs::remove_dir_all(place.workspace.join("new"));
            place.config(&format!("{level}{workers}"));
            let outcomes = place.batch(&calls, &["--yes"]);
            outcomes.into_iter().map(essence).collect::<Vec<_>>()
        });
        assert_eq!(answers[0].len(), 13);
        assert_eq!(verdict(&answers[0][12]), "ok", "{}", answers[0][12]);
        assert_eq!(answers[0], answers[1]);
        assert_eq!(place.read("notes.txt"), "one\n2\n");
    }
}

#[test]
fn what_workers_change_can_be_undone() {
    let place = Place::with_config("workers: {enabled: true}\n");
    place.file("a.txt", "before");
    let args = json!({"path": "a.txt", "content": "after"});
    assert_eq!(verdict(&place.call("file.write", &args, &["--yes"])), "ok");
    assert_eq!(place.read("a.txt"), "after");
    let args = json!({"command": "rm a.txt; echo new > b.txt"});
    assert_eq!(verdict(&place.call("shell.exec", &args, &["--yes"])), "ok");
    assert!(!place.workspace.join("a.txt").exists());
    place.run(["undo", "--yes"]).exits(0);
    assert_eq!(place.read("a.txt"), "after");
    assert!(!place.workspace.join("b.txt").exists());
}

#[test]
fn a_worker_that_is_killed_fails_its_call_alone() {
    for level in LEVELS {
        let place = Place::with_config(&format!("{level}workers: {{count: 1}}\n"));
        let calls = json!([
            {"name": "shell.exec", "args": {"command": "echo up > up; sleep 1000"}},
            {"name": "shell.exec", "args": {"command": "echo next"}},
        ]);
        let file = place.beside("calls.json");
        fs::write(&file, calls.to_string()).unwrap();
        let haft = place
            .haft()
            .args(["batch", "--json", "--yes", file.to_str().unwrap()])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let worker = wait_for("a worker at work", || {
            let worker = workers_of(haft.id()).pop()?;
            place.workspace.join("up").exists().then_some(worker)
        });
        let killed = Command::new("kill")
            .args(["-9", &worker.to_string()])
            .status();
        assert!(killed.unwrap().success());
        let output = haft.wait_with_output().unwrap();
        let outcomes: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(verdict(&outcomes[0]), "execution_failed");
        assert_eq!(
            outcomes[0]["error"]["message"],
            "the worker of this call died: SIGKILL"
        );
        assert_eq!(verdict(&outcomes[1]), "ok", "{}", outcomes[1]);
    }
}

#[test]
fn a_worker_over_its_memory_fails_its_call_alone() {
    let place = Place::with_config("workers: {count: 1, memory_mb: 64}\n");
    place.file("small.txt", "small\n");
    // What would be written over is read whole, to show the difference.
    place.file("big.txt", "many words in a line\n".repeat(5_000_000));
    let outcomes = place.batch(
        &json!([
            {"name": "file.write", "args": {"path": "big.txt", "content": "small\n"}},
            {"name": "file.write", "args": {"path": "small.txt", "content": "other\n"}},
        ]),
        &["--dry-run"],
    );
    assert_eq!(verdict(&outcomes[0]), "execution_failed", "{}", outcomes[0]);
    let hint = outcomes[0]["error"]["hint"].as_str().unwrap();
    assert!(
        hint.contains("64 MB (`workers.memory_mb` in the config)"),
        "{hint}"
    );
    assert_eq!(verdict(&outcomes[1]), "ok", "{}", outcomes[1]);
}

/// A file is larger than the memory of a worker, and what is read of it is not.
#[test]
fn no_file_is_too_large_for_a_worker() {
    let place = Place::with_config("workers: {count: 1, memory_mb: 64}\n");
    place.file("big.txt", "many words in a line\n".repeat(5_000_000));
    place.file("long.txt", "x".repeat(100 << 20));
    place.file("latin.txt", b"caf\xe9 au lait\n".repeat(1_000_000));
    place.file("fits.bin", vec![0; 4 << 20]);
    let base64 = |path: &str| json!({"path": path, "encoding": "base64"});
    let check = |args: serde_json::Value, expected: &str| {
        let told = place.call("file.read", &args, &["--yes"]).to_string();
        let beginning: String = told.chars().take(1_000).collect();
        assert!(told.contains(expected), "{args}: {beginning}");
    };
    check(
        json!({"path": "big.txt"}),
        "[5000000 lines, 105000000 bytes; shown are the first 200",
    );
    check(
        json!({"path": "big.txt", "offset": 4_000_000, "limit": 1}),
        "4000001\\tmany",
    );
    check(json!({"path": "big.txt", "offset": 1}), "\"more\":true");
    check(
        json!({"path": "long.txt"}),
        "this line has 104857600 characters",
    );
    check(
        json!({"path": "latin.txt"}),
        "perhaps text in another encoding",
    );
    check(base64("fits.bin"), "\"bytes\":4194304");
    check(base64("big.txt"), "larger than 4 MB: ");
    check(base64("big.txt"), "(105000000 bytes)");
    check(base64("big.txt"), "`workers.memory_mb`");
}

#[test]
fn doctor_names_the_workers_when_there_are_any() {
    let check = |config: &str, expected: serde_json::Value| {
        let place = Place::with_config(config);
        let report = place.run(["doctor", "--json"]).json();
        assert_eq!(report["workers"], expected, "{config}");
    };
    let some = |count: u64, memory_mb: u64| json!({"count": count, "memory_mb": memory_mb, "trouble": null});
    check("", json!(null));
    check("workers: {memory_mb: 100}\n", json!(null));
    check("workers: {count: 0}\n", json!(null));
    check("workers: {enabled: false, count: 3}\n", json!(null));
    check("workers: {enabled: true}\n", some(4, 256));
    check("workers: {count: 3, memory_mb: 100}\n", some(3, 100));
    let place = Place::with_config("workers: {count: 2}\n");
    place
        .run(["doctor"])
        .exits(0)
        .says("2 at most, 256 MB each");
}

#[test]
fn a_project_cannot_choose_workers() {
    let place = Place::new();
    place.file("haft.yaml", "workers: {count: 200}\n");
    let ran = place.run(["doctor", "--json"]);
    assert_eq!(ran.json()["workers"], json!(null));
    let notices = ran.json()["notices"].to_string();
    assert!(notices.contains("`workers` in"), "{notices}");
}
