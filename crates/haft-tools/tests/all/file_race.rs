use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use haft_core::ErrorCode;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// Long enough for the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a call must have got through, and how often it must have been refused.
const READS: usize = 1_000;
const WRITES: usize = 200;

/// Calls a tool while another thread swaps a folder or file of the workspace with a link that
/// leads out, as fast as it can, until both ends of the race were seen often enough.
fn race(swapped: &str, enough: usize, calls: &[(&str, Value)]) {
    let f = Fixture::new();
    f.put("race/secret.txt", "inside");
    f.put("file.txt", "inside");
    std::os::unix::fs::symlink(f.at("out"), f.at("ws/race.other")).unwrap();
    std::os::unix::fs::symlink(f.at("out/secret.txt"), f.at("ws/file.txt.other")).unwrap();
    let (a, b) = (
        f.at("ws").join(swapped),
        f.at("ws").join(format!("{swapped}.other")),
    );
    let stop = AtomicBool::new(false);
    let swaps = AtomicU64::new(0);
    let (mut passed, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let started = Instant::now();
        let mut round = 0;
        while (passed < enough || refused < enough) && started.elapsed() < PATIENCE {
            round += 1;
            let (tool, args) = &calls[round % calls.len()];
            let answer = f.call(tool, args.clone());
            assert!(
                !answer.text().contains("top secret"),
                "read outside in round {round}"
            );
            match &answer.result {
                Ok(_) => passed += 1,
                Err(error) => {
                    assert_ne!(error.code, ErrorCode::InputInvalid, "{error}");
                    refused += 1;
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(swaps.load(Ordering::Relaxed) > 100, "there was no race");
    assert!(
        passed >= enough && refused >= enough,
        "{passed} passed, {refused} refused"
    );
    let outside: Vec<_> = std::fs::read_dir(f.at("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(outside, ["secret.txt"], "something was written outside");
    let secret = std::fs::read_to_string(f.at("out/secret.txt")).unwrap();
    assert_eq!(secret, "top secret");
}

#[test]
fn no_read_follows_a_folder_swapped_for_a_link() {
    race(
        "race",
        READS,
        &[("file.read", json!({"path": "race/secret.txt"}))],
    );
}

#[test]
fn no_read_follows_a_file_swapped_for_a_link() {
    race(
        "file.txt",
        READS,
        &[("file.read", json!({"path": "file.txt"}))],
    );
}

#[test]
fn no_listing_follows_a_folder_swapped_for_a_link() {
    race(
        "race",
        READS / 3,
        &[("file.list", json!({"path": "race", "recursive": true}))],
    );
}

#[test]
fn no_search_follows_a_folder_swapped_for_a_link() {
    race(
        "race",
        READS / 10,
        &[
            ("file.grep", json!({"path": "race", "pattern": "e"})),
            ("file.glob", json!({"path": "race", "pattern": "**"})),
        ],
    );
}

#[test]
fn no_write_follows_a_folder_swapped_for_a_link() {
    race(
        "race",
        WRITES,
        &[
            (
                "file.write",
                json!({"path": "race/secret.txt", "content": "inside"}),
            ),
            (
                "file.write",
                json!({"path": "race/new/deep.txt", "content": "inside"}),
            ),
            (
                "file.edit",
                json!({"path": "race/secret.txt", "search": "side", "replace": "sid"}),
            ),
        ],
    );
}

#[test]
fn no_move_or_delete_follows_a_folder_swapped_for_a_link() {
    race(
        "race",
        WRITES,
        &[
            ("file.write", json!({"path": "race/x", "content": "x"})),
            ("file.delete", json!({"path": "race/x"})),
            ("file.write", json!({"path": "y", "content": "x"})),
            (
                "file.move",
                json!({"from": "y", "to": "race/secret.txt", "overwrite": true}),
            ),
            (
                "file.move",
                json!({"from": "race/secret.txt", "to": "z", "overwrite": true}),
            ),
            (
                "file.write",
                json!({"path": "race/secret.txt", "content": "inside"}),
            ),
            (
                "file.batch",
                json!({"operation": "transform", "directory": "race", "pattern": "*.txt",
                       "find": "side", "replace": "sid"}),
            ),
            (
                "file.batch",
                json!({"operation": "rename", "directory": "race", "pattern": "secret",
                       "replacement": "moved"}),
            ),
            (
                "file.batch",
                json!({"operation": "rename", "directory": "race", "pattern": "moved",
                       "replacement": "secret"}),
            ),
        ],
    );
}
