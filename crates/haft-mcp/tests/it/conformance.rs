//! The official conformance suite. Every scenario that a revision requires has to run and pass;
//! what is not scored may fail, and only that.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const REVISIONS: [(&str, &str); 2] = [
    (
        "2025-11-25",
        include_str!("../requirements/conformance-requirements-2025-11-25.yaml"),
    ),
    (
        "2026-07-28",
        include_str!("../requirements/conformance-requirements-2026-07-28.yaml"),
    ),
];

/// All scenarios run at once: on a busy machine each of them takes its time.
const PATIENCE_MS: &str = "300000";

/// The names under `server:` or `client:`.
fn required<'a>(requirements: &'a str, leg: &str) -> Vec<&'a str> {
    let start = format!("\n{leg}:\n");
    let (_, rest) = requirements.split_once(&start).expect("the leg");
    rest.lines()
        .map_while(|line| line.strip_prefix("  - "))
        .collect()
}

/// Scenarios of a summary with what passed and what failed: `✓ tools-list: 3 passed, 0 failed`.
fn results(summary: &str) -> Vec<(&str, u32, u32)> {
    let (_, summary) = summary.split_once("SUMMARY ===").expect("a summary");
    summary
        .lines()
        .filter_map(|line| {
            let (name, counts) = line
                .strip_prefix("✓ ")
                .or_else(|| line.strip_prefix("✗ "))?
                .split_once(": ")?;
            let (passed, failed) = counts.split_once(", ")?;
            let passed = passed.strip_suffix(" passed")?.parse().ok()?;
            let failed = failed.strip_suffix(" failed")?.parse().ok()?;
            Some((name, passed, failed))
        })
        .collect()
}

fn check(revision: &str, requirements: &str, leg: &str, output: &str) {
    let results = results(output);
    let required = required(requirements, leg);
    assert!(required.len() > 10, "{required:?}");
    for name in required {
        let result = results.iter().find(|(ran, ..)| *ran == name);
        let good = result.is_some_and(|(_, passed, failed)| *passed > 0 && *failed == 0);
        assert!(good, "{leg} {revision} {name}\n{output}");
    }
}

/// Our example of this name, built beside this test.
pub(crate) fn example(name: &str) -> PathBuf {
    let beside = std::env::current_exe().unwrap();
    let target = beside.parent().and_then(Path::parent).unwrap();
    target.join("examples").join(name)
}

struct Fixture(Child);

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_server_side_of_the_suite_passes() {
    let peers = haft_testkit::npm(env!("CARGO_TARGET_TMPDIR"));
    let bin = peers.join("node_modules/.bin");
    let mut fixture = Fixture(
        Command::new(example("conformance"))
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the fixture"),
    );
    let stdout = fixture.0.stdout.take().unwrap();
    let mut url = String::new();
    BufReader::new(stdout).read_line(&mut url).unwrap();
    for (revision, requirements) in REVISIONS {
        let output = Command::new(bin.join("node"))
            .arg(bin.join("conformance"))
            .args(["server", "--url", url.trim(), "--requirements", revision])
            .current_dir(std::env::temp_dir())
            .output()
            .expect("the suite");
        let output = String::from_utf8_lossy(&output.stdout);
        check(revision, requirements, "server", &output);
    }
}

#[test]
fn the_client_side_of_the_suite_passes() {
    let peers = haft_testkit::npm(env!("CARGO_TARGET_TMPDIR"));
    let bin = peers.join("node_modules/.bin");
    for (revision, requirements) in REVISIONS {
        let output = Command::new(bin.join("node"))
            .arg(bin.join("conformance"))
            .arg("client")
            .arg("--command")
            .arg(example("conformance_client"))
            .args(["--requirements", revision, "--timeout", PATIENCE_MS])
            .current_dir(std::env::temp_dir())
            .output()
            .expect("the suite");
        let output = String::from_utf8_lossy(&output.stdout);
        check(revision, requirements, "client", &output);
    }
}
