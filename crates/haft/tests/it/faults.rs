//! Commands that misbehave, at the default level and through the binary: each ends in time, with
//! all it started, and says what happened. The same without a sandbox is the host's to show.

use serde_json::json;

use crate::place::{Place, processes_with, verdict, wait_for};

/// What a command can do to outlive its call or to be in the way. `SLEEP` would run for long.
const FAULTS: [(&str, &str); 12] = [
    ("foreground", "SLEEP"),
    ("background", "SLEEP & wait"),
    ("double fork", "( ( SLEEP & ) & ); SLEEP"),
    ("new session", "setsid SLEEP & wait"),
    ("new session, double fork", "( setsid SLEEP & ); SLEEP"),
    ("nohup", "nohup SLEEP >/dev/null 2>&1 & wait"),
    ("deaf to SIGTERM", "trap '' TERM; SLEEP & wait; SLEEP"),
    ("stopped", "SLEEP & kill -STOP $!; wait; SLEEP"),
    ("closes its pipes", "exec <&- >&- 2>&-; SLEEP"),
    ("empty environment", "env -i setsid SLEEP & wait"),
    ("forks for ever", "while :; do ( SLEEP & ); done"),
    ("floods", "SLEEP & yes"),
];

#[test]
fn whatever_a_command_does_it_ends_with_all_it_started() {
    let place = Place::new();
    let marker = format!("4711.{}", std::process::id());
    let calls: Vec<_> = FAULTS
        .iter()
        .map(|(name, line)| {
            let line = line.replace("SLEEP", &format!("sleep {marker}"));
            json!({"id": name, "name": "shell.exec", "args": {"command": line, "timeout": 400}})
        })
        .collect();
    let outcomes = place.batch(&json!(calls), &["--yes"]);
    for ((name, _), outcome) in FAULTS.iter().zip(&outcomes) {
        assert_eq!(verdict(outcome), "timed_out", "{name}: {outcome}");
        let told = &outcome["structured"];
        assert_eq!(told["isolation"], "sandboxed", "{name}");
        assert_eq!(told["timedOut"], true, "{name}");
        let kept = told["output"].as_str().unwrap().chars().count();
        assert!(kept <= 200_000, "{name}: {kept}");
    }
    wait_for("all of them to be gone", || {
        processes_with(&marker).is_empty().then_some(())
    });
}
