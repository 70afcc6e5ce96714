//! `cargo xtask test`: the one test command. Every step runs, whatever happened to the one
//! before, so that one run tells everything; a step that cannot run counts as failed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::faults;
use crate::needs;
use crate::tidy;
use crate::workspace::cargo;

/// What one step found out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
}

/// A step's name and the arguments of cargo that make it.
type Step = (&'static str, &'static [&'static str]);

const STEPS: &[Step] = &[
    ("format", &["fmt", "--all", "--check"]),
    (
        "clippy",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
    ),
    (
        "build",
        &["build", "--workspace", "--quiet", "--bins", "--examples"],
    ),
    (
        "tests",
        &[
            "test",
            "--workspace",
            "--no-fail-fast",
            "--quiet",
            "--lib",
            "--bins",
            "--tests",
        ],
    ),
    (
        "doc tests",
        &["test", "--workspace", "--no-fail-fast", "--quiet", "--doc"],
    ),
];

/// Run everything; true when nothing failed.
pub(crate) fn run() -> Result<bool> {
    let start = Instant::now();
    let mut report = Vec::new();
    step("needs", &mut report, || {
        needs::provide(needs::NEEDS).map(|()| Tally::default())
    });
    for (name, arguments) in STEPS {
        step(name, &mut report, || run_cargo(arguments));
    }
    step("faults", &mut report, || {
        let crash = faults::crash::run(&["--points", "4"])?;
        let loss = faults::powerloss::run(&["--images", "100"])?;
        let count = |good: bool| Tally {
            passed: usize::from(good),
            failed: usize::from(!good),
        };
        let (crash, loss) = (count(crash), count(loss));
        Ok(Tally {
            passed: crash.passed + loss.passed,
            failed: crash.failed + loss.failed,
        })
    });
    step("tidy", &mut report, || match tidy::run()? {
        0 => Ok(Tally::default()),
        n => bail!("{n} findings"),
    });
    println!();
    for (name, took, tally) in &report {
        let verdict = if tally.failed == 0 { "ok" } else { "FAILED" };
        println!("{name:<12} {:>7.1} s  {verdict}", took.as_secs_f64());
    }
    println!(
        "{:<12} {:>7.1} s",
        "together",
        start.elapsed().as_secs_f64()
    );
    let total = report
        .iter()
        .fold(Tally::default(), |sum, (_, _, tally)| Tally {
            passed: sum.passed + tally.passed,
            failed: sum.failed + tally.failed,
        });
    println!("{} passed, {} failed", total.passed, total.failed);
    Ok(total.failed == 0)
}

fn step(
    name: &'static str,
    report: &mut Vec<(&'static str, Duration, Tally)>,
    work: impl FnOnce() -> Result<Tally>,
) {
    println!("== {name}");
    let start = Instant::now();
    let tally = work().unwrap_or_else(|error| {
        println!("{name}: {error:#}");
        Tally {
            passed: 0,
            failed: 1,
        }
    });
    report.push((name, start.elapsed(), tally));
}

fn run_cargo(arguments: &[&str]) -> Result<Tally> {
    let mut command = cargo();
    command.args(arguments);
    run_and_count(command)
}

/// Run a command, pass its output on, and add up what its tests reported.
fn run_and_count(mut command: Command) -> Result<Tally> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start it")?;
    let stdout = child.stdout.take().context("its output is not there")?;
    let mut tally = Tally::default();
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        if let Some(counted) = test_result(&line) {
            tally.passed += counted.passed;
            tally.failed += counted.failed;
        }
    }
    let status = child.wait()?;
    // A test binary that crashed, or code that did not compile, reports no failed test.
    if !status.success() && tally.failed == 0 {
        println!("ended with {status}");
        tally.failed = 1;
    }
    Ok(tally)
}

/// Lines such as "test result: ok. 12 passed; 0 failed; 0 ignored; …".
fn test_result(line: &str) -> Option<Tally> {
    let rest = line.trim().strip_prefix("test result: ")?;
    let (_, counts) = rest.split_once(". ")?;
    let count = |word: &str| {
        counts
            .split("; ")
            .find_map(|part| part.strip_suffix(word)?.trim().parse().ok())
    };
    Some(Tally {
        passed: count("passed")?,
        failed: count("failed")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, passed: usize, failed: usize) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let tally = run_and_count(command).unwrap();
        assert_eq!(tally, Tally { passed, failed }, "{script}");
    }

    const GOOD: &str = "echo 'test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured'";
    const BAD: &str = "echo 'test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured'";

    #[test]
    fn results_are_added_up() {
        check("true", 0, 0);
        check(&format!("{GOOD}; {GOOD}"), 6, 0);
        check(&format!("{GOOD}; {BAD}; exit 101"), 7, 2);
    }

    #[test]
    fn a_crash_without_a_failed_test_is_a_failure() {
        check(&format!("{GOOD}; kill -9 $$"), 3, 1);
        check("exit 1", 0, 1);
    }

    #[test]
    fn a_step_that_cannot_run_is_a_failure() {
        let mut report = Vec::new();
        step("gone", &mut report, || {
            run_and_count(Command::new("a-program-that-is-not-there"))
        });
        assert_eq!(
            report[0].2,
            Tally {
                passed: 0,
                failed: 1
            }
        );
    }
}
