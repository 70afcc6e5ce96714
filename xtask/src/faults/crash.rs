//! `cargo xtask crash`: `kill -9` at every fsync of the load, and a broken or full disk at every
//! write.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use super::{Acknowledged, Tally, conclude, load, look, publish};

/// Pieces of work in the load.
const COUNT: &str = "24";

/// The mode in which the store's thread makes all commits, as it makes the store itself in every
/// mode. In the others the caller's thread does, and only that one is followed: strace counts the
/// points of each thread by themselves.
const APART: &str = "apart";

/// Whose turn it is to commit depends on how quick the disk was: how often a point is tried that was
/// not come to.
const TRIES: usize = 10;

/// Run with `--points all` or `--points N`: so many of each kind, spread evenly.
pub(crate) fn run(options: &[&str]) -> Result<bool> {
    let most = match options {
        [] | ["--points", "all"] => usize::MAX,
        ["--points", n] => n.parse()?,
        _ => bail!("usage: cargo xtask crash [--points all|N]"),
    };
    let load = load()?;
    let mut rows = Vec::new();
    let tally = series(&load, "good", &["signal=KILL"], "fdatasync", most)?;
    rows.push(("good, killed at an effect's fdatasync".to_owned(), tally));
    for (who, mode) in [
        ("the store's thread", APART),
        ("its caller's thread", "good"),
    ] {
        let tally = series(&load, mode, &["signal=KILL"], "fsync", most)?;
        rows.push((format!("good, {who} killed at fsync"), tally));
        for error in ["EIO", "ENOSPC"] {
            let error_at = format!("error={error}");
            let tally = series(&load, mode, &[&error_at], "pwrite64", most)?;
            rows.push((format!("good, {error} at a write of {who}"), tally));
        }
    }
    // One of the two kinds of fsync may come where it shows nothing.
    let mut joined = Tally::default();
    for call in ["fdatasync", "fsync"] {
        joined.add(&series(
            &load,
            "effect-first",
            &["signal=KILL"],
            call,
            most,
        )?);
    }
    let name = "fault: effect before intent, killed at any fsync";
    rows.push((name.to_owned(), joined));
    // What a process has written outlives it, also before it is synced.
    let tally = series(&load, "word-first", &["signal=KILL"], "pwrite64", most)?;
    let name = "fault: acknowledged before it is written, killed at any write";
    rows.push((name.to_owned(), tally));
    if most == usize::MAX {
        publish(
            "Crash",
            &rows,
            "The process is killed at its Nth fsync or write, or its Nth write fails, for every N. A commit is \
             made by the store's thread or by that of whoever waits for it. A span of 1,024 records is \
             full in the midst of the work.",
        )?;
    }
    Ok(conclude(&rows))
}

/// One run for every point, or as many as it takes to come to it.
fn series(load: &Path, mode: &str, what: &[&str], call: &str, most: usize) -> Result<Tally> {
    let found = points(load, mode, call)?;
    let step = found.div_ceil(most.max(1)).max(1);
    let mut tally = Tally {
        found,
        ..Tally::default()
    };
    for point in (1..=found).step_by(step) {
        let inject = format!("inject={call}:{}:when={point}", what.join(":"));
        for _ in 0..TRIES {
            let home = tempfile::tempdir()?;
            let (acknowledged, log) = traced(load, home.path(), mode, &["-e", &inject], call)?;
            let hit = log.contains("INJECTED") || log.contains("killed by SIGKILL");
            tally.hit += usize::from(hit);
            let answer = look(load, &[home.path().to_owned()])?.remove(0);
            let before = tally.faults();
            tally.judge(&acknowledged, &answer);
            if tally.faults() > before && matches!(mode, "good" | APART) {
                println!("{call} {point} {what:?}: {answer}");
            }
            if hit {
                break;
            }
        }
    }
    tally.found = found.div_ceil(step);
    Ok(tally)
}

/// How often the load makes this call in one thread; the most of several runs, since on a busy
/// machine the store's thread may be there before its caller.
fn points(load: &Path, mode: &str, call: &str) -> Result<usize> {
    let mut most = 0;
    for _ in 0..3 {
        let home = tempfile::tempdir()?;
        let (_, log) = traced(load, home.path(), mode, &[], call)?;
        let mut counts = std::collections::BTreeMap::new();
        for line in log.lines() {
            // Before the call is the number of its thread, where several are followed.
            if let Some((thread, _)) = line.split_once(&format!("{call}(")) {
                *counts.entry(thread.trim().to_owned()).or_insert(0) += 1;
            }
        }
        most = counts.into_values().max().unwrap_or(0).max(most);
    }
    match most {
        0 => bail!("the load makes no `{call}`: is strace there?"),
        most => Ok(most),
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
    if mode == APART {
        strace.arg("-f");
    }
    strace.args(["-qq", "-o"]).arg(log.path());
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
