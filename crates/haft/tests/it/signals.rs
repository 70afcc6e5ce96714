//! Ctrl-C and worse: haft ends, and nothing it started outlives it.

use std::fs;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::place::{LEVELS, Place, processes_with, verdict, wait_for};
use crate::pty::Terminal;

/// A number of seconds that nothing else sleeps for marks the processes of one test.
fn marker(n: u32) -> String {
    // Of one width, so that no marker is the beginning of another.
    format!("{}.{n:02}", 8000 + u64::from(std::process::id()))
}

/// Children, grandchildren and one that left the session.
fn tree(marker: &str) -> String {
    format!(
        "sleep {marker} & (sleep {marker} & sleep {marker}) & setsid sleep {marker} & sh -c 'sleep {marker}; true' & echo up > up; wait"
    )
}

fn start(place: &Place, marker: &str) -> Child {
    let args = json!({"command": tree(marker)}).to_string();
    let child = place
        .haft()
        .args(["call", "shell.exec", &args, "--yes", "--json"])
        .spawn()
        .unwrap();
    wait_for("the tree", || {
        let sleeping = processes_with(marker)
            .iter()
            .filter(|pid| {
                fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == "sleep\n")
            })
            .count();
        (sleeping >= 5).then_some(())
    });
    child
}

fn signal(name: &str, pid: u32) {
    let status = Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

fn ended(child: &mut Child) -> ExitStatus {
    wait_for("haft to end", || child.try_wait().unwrap())
}

/// Gone means gone, and within the time a person would wait.
fn all_gone(marker: &str) {
    let start = Instant::now();
    wait_for("the tree to be gone", || {
        processes_with(marker).is_empty().then_some(())
    });
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn an_interrupt_exits_130_and_leaves_no_child() {
    let ways = LEVELS.map(|level| [(level, "INT"), (level, "TERM")]);
    for (n, (level, name)) in ways.into_iter().flatten().enumerate() {
        let place = Place::with_config(level);
        let marker = marker(n as u32);
        let mut child = start(&place, &marker);
        signal(name, child.id());
        let status = ended(&mut child);
        all_gone(&marker);
        assert_eq!(status.code(), Some(130), "{name} at {level}: {status}");
        let output = child.wait_with_output().unwrap();
        let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(verdict(&outcome), "cancelled");
    }
}

#[test]
fn a_killed_haft_leaves_no_child() {
    for (n, level) in LEVELS.into_iter().enumerate() {
        let place = Place::with_config(level);
        let marker = marker(10 + n as u32);
        let mut child = start(&place, &marker);
        signal("KILL", child.id());
        assert_eq!(ended(&mut child).code(), None, "{level}");
        all_gone(&marker);
    }
}

#[test]
fn a_batch_is_interrupted_as_a_whole() {
    let place = Place::new();
    let marker = marker(20);
    let calls = json!([
        {"id": "1", "name": "shell.exec", "args": {"command": format!("sleep {marker}")}},
        {"id": "2", "name": "shell.exec", "args": {"command": format!("sleep {marker}")}},
        {"id": "3", "name": "file.read", "args": {"path": "README.md"}},
    ]);
    let file = place.file("calls.json", calls.to_string());
    let mut child = place
        .haft()
        .args(["batch", file.to_str().unwrap(), "--yes", "--json"])
        .spawn()
        .unwrap();
    wait_for("a command", || {
        (!processes_with(&marker).is_empty()).then_some(())
    });
    signal("INT", child.id());
    assert_eq!(ended(&mut child).code(), Some(130));
    assert!(processes_with(&marker).is_empty());
    let output = child.wait_with_output().unwrap();
    let outcomes: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcomes.as_array().unwrap().len(), 3);
    assert_eq!(verdict(&outcomes[0]), "cancelled");
    assert_eq!(verdict(&outcomes[1]), "cancelled");
}

#[test]
fn ctrl_c_on_a_terminal() {
    let place = Place::new();
    let marker = marker(30);
    let args = json!({"command": format!("echo begun; sleep {marker}")}).to_string();
    let mut terminal = Terminal::start(&place, &["call", "shell.exec", &args, "--yes"], &[]);
    terminal.until("begun");
    terminal.types("\u{3}");
    let (code, shown) = terminal.end();
    assert_eq!(code, 130, "{shown}");
    assert!(processes_with(&marker).is_empty());
}

#[test]
fn ctrl_c_at_a_question_runs_nothing() {
    let place = Place::new();
    let mut terminal = Terminal::start(
        &place,
        &["call", "shell.exec", r#"{"command":"touch made"}"#],
        &[],
    );
    terminal.until("[y]es, [n]o");
    terminal.types("\u{3}");
    let (code, shown) = terminal.end();
    assert_eq!(code, 130, "{shown}");
    assert!(!place.workspace.join("made").exists());
}

#[test]
fn leaving_a_question_unanswered_runs_nothing() {
    let place = Place::new();
    let mut terminal = Terminal::start(
        &place,
        &["call", "shell.exec", r#"{"command":"touch made"}"#],
        &[],
    );
    terminal.until("[y]es, [n]o");
    terminal.types("\u{4}");
    let (code, shown) = terminal.end();
    assert_eq!(code, 1, "{shown}");
    assert!(!place.workspace.join("made").exists());
}
