//! `cargo xtask crash`: `kill -9` at every fsync of the load, and a broken or full disk at every
//! write.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use super::{Acknowledged, Tally, conclude, load, look, publish};

/// Pieces of work in the load.
const COUNT: &str = "24";

/// Run with `--points all` or `--points N`: so many of each kind, spread evenly.
pub(crate) fn run(options: &[&str]) -> Result<bool> {
    let most = match options {
        [] | ["--points", "all"] => usize::MAX,
        ["--points", n] => n.parse()?,
        _ => bail!("usage: cargo xtask crash [--points all|N]"),
    };
    let load = load()?;
    let mut rows = Vec::new();
    for call in ["fdatasync", "fsync"] {
        let tally = series(&load, "good", &["signal=KILL"], call, most)?;
        rows.push((format!("good, killed at {call}"), tally));
    }
    for error in ["EIO", "ENOSPC"] {
        let error_at = format!("error={error}");
        let tally = series(&load, "good", &[&error_at], "pwrite64", most)?;
        rows.push((format!("good, {error} at write"), tally));
    }
    for (name, mode) in [
        ("effect before intent", "effect-first"),
        ("acknowledged before it is written", "word-first"),
    ] {
        // One of the two kinds of fsync may come where it shows nothing.
        let mut joined = Tally::default();
        for call in ["fdatasync", "fsync"] {
            joined.add(&series(&load, mode, &["signal=KILL"], call, most)?);
        }
        rows.push((format!("fault: {name}, killed at any fsync"), joined));
    }
    if most == usize::MAX {
        publish(
            "Crash",
            &rows,
            "The process is killed at its Nth fsync, or its Nth write fails, for every N.",
        )?;
    }
    Ok(conclude(&rows))
}

/// One run for every point.
fn series(load: &Path, mode: &str, what: &[&str], call: &str, most: usize) -> Result<Tally> {
    let found = points(load, mode, call)?;
    let step = found.div_ceil(most.max(1)).max(1);
    let mut tally = Tally {
        found,
        ..Tally::default()
    };
    for point in (1..=found).step_by(step) {
        let home = tempfile::tempdir()?;
        let inject = format!("inject={call}:{}:when={point}", what.join(":"));
        let (acknowledged, log) = traced(load, home.path(), mode, &["-e", &inject], call)?;
        let hit = log.contains("INJECTED") || log.contains("killed by SIGKILL");
        tally.hit += usize::from(hit);
        let answer = look(load, &[home.path().to_owned()])?.remove(0);
        let before = tally.faults();
        tally.judge(&acknowledged, &answer);
        if tally.faults() > before && mode == "good" {
            println!("{call} {point} {what:?}: {answer}");
        }
    }
    tally.found = found.div_ceil(step);
    Ok(tally)
}

/// How often the load makes this call in one thread.
fn points(load: &Path, mode: &str, call: &str) -> Result<usize> {
    let home = tempfile::tempdir()?;
    let (_, log) = traced(load, home.path(), mode, &[], call)?;
    let mut counts = std::collections::BTreeMap::new();
    for line in log
        .lines()
        .filter(|line| line.contains(&format!("{call}(")))
    {
        let thread = line
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned();
        *counts.entry(thread).or_insert(0) += 1;
    }
    match counts.into_values().max() {
        Some(most) => Ok(most),
        None => bail!("the load makes no `{call}`: is strace there?"),
    }
}

/// The load under strace; what it acknowledged, and what strace saw.
fn traced(
    load: &Path,
    home: &Path,
    mode: &str,
    more: &[&str],
    call: &str,
) -> Result<(Acknowledged, String)> {
    let log = tempfile::NamedTempFile::new()?;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o"]).arg(log.path());
    strace.args(["-e", &format!("trace={call}")]).args(more);
    if call == "pwrite64" {
        for name in ["haft.db", "haft.db-wal"] {
            strace.arg("-P").arg(home.join(name));
        }
    }
    let output = strace
        .arg(load)
        .arg("run")
        .arg(home)
        .args([mode, COUNT])
        .stderr(Stdio::null())
        .output()?;
    let mut acknowledged = Acknowledged::default();
    acknowledged.hear(&String::from_utf8_lossy(&output.stdout));
    let seen = std::fs::read(log.path())?;
    Ok((acknowledged, String::from_utf8_lossy(&seen).into_owned()))
}
