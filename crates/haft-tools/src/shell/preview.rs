//! What a dry run of a command answers: what the command said, what it would change, and what it
//! could not try.

use std::path::Path;
use std::time::Duration;

use haft_core::Output;
use haft_host::{Change, Finished, Kind, Trial, Verb, holds_secrets};
use serde_json::{Value, json};
use similar::TextDiff;

/// A longer file is named and not shown.
const FILE_LIMIT: u64 = 256 * 1024;
/// Characters of all diffs together.
const DIFF_LIMIT: usize = 60_000;
/// Changes that the text names one by one; the structured answer names all.
const SHOWN: usize = 200;

/// What a dry run is kept from, so that nobody takes its answer for the whole truth.
const NOT_TRIED: [&str; 4] = [
    "the network: every connection failed",
    "sockets of other programs",
    "other processes: none could be seen or signalled",
    "writing outside the workspace: it was read-only",
];

/// The answer of a dry run.
pub(super) fn answer(finished: &Finished, trial: &Trial, workdir: &str, told: &str) -> Output {
    let diff = diff(trial);
    let mut text = told.to_owned();
    text.push_str(&format!("\n[would change: {}]\n", counts(&trial.changes)));
    for change in trial.changes.iter().take(SHOWN) {
        text.push_str(&format!("{}\n", line(trial, change)));
    }
    if trial.changes.len() > SHOWN {
        text.push_str(&format!("… and {} more\n", trial.changes.len() - SHOWN));
    }
    text.push_str(&diff);
    let left_out = left_out(trial);
    if !left_out.is_empty() {
        text.push_str(&format!("[left out: {}]\n", left_out.join(", ")));
    }
    text.push_str(&format!("[not tried: {}]\n", NOT_TRIED.join("; ")));
    text.push_str(&format!(
        "[id {}: apply with shell.commit, drop with shell.discard]",
        trial.id
    ));
    Output::text(text).and_structured(json!({
        "id": trial.id,
        "exitCode": finished.exit_code,
        "signal": finished.signal,
        "timedOut": finished.timed_out,
        "output": finished.output,
        "tail": finished.tail,
        "truncated": finished.truncated,
        "workdir": workdir,
        "isolation": finished.level.as_str(),
        "changes": listed(trial),
        "changeCount": trial.changes.len(),
        "diff": diff,
        "leftOut": left_out,
        "notTried": NOT_TRIED,
    }))
}

/// What would not be put in place.
pub(super) fn left_out(trial: &Trial) -> Vec<String> {
    let names = trial.left_out.iter();
    names
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}

/// Every change as data.
pub(super) fn listed(trial: &Trial) -> Vec<Value> {
    let one = |change: &Change| {
        let mut one = json!({
            "path": change.path.to_string_lossy(),
            "change": verb(change),
            "kind": kind(change),
            "bytes": change.after.as_ref().or(change.before.as_ref()).map(|state| state.size),
        });
        if let Some(target) = trial.target(change) {
            one["target"] = target.to_string_lossy().into();
        }
        if let Some((before, after)) = modes(change) {
            one["mode"] = json!([before, after]);
        }
        let attributes = change.attributes();
        if !attributes.is_empty() {
            one["attributes"] = attributes.into();
        }
        if let Some(time) = change.time() {
            one["modified"] = time.into();
        }
        if let Some(other) = trial.link_to(change) {
            one["linkTo"] = other.to_string_lossy().into();
        }
        one
    };
    trial.changes.iter().map(one).collect()
}

/// Who may do what with it, before and after, where that changes.
fn modes(change: &Change) -> Option<(String, String)> {
    let (before, after) = (change.before.as_ref()?, change.after.as_ref()?);
    let shown = |mode: u32| format!("{mode:04o}");
    (before.mode != after.mode).then(|| (shown(before.mode), shown(after.mode)))
}

/// How many of each, in words.
pub(super) fn counts(changes: &[Change]) -> String {
    let count = |wanted: Verb| changes.iter().filter(|one| one.verb() == wanted).count();
    if changes.is_empty() {
        return "nothing".to_owned();
    }
    format!(
        "{} added, {} changed, {} deleted",
        count(Verb::Added),
        count(Verb::Changed),
        count(Verb::Deleted)
    )
}

fn verb(change: &Change) -> &'static str {
    match change.verb() {
        Verb::Added => "added",
        Verb::Changed => "changed",
        Verb::Deleted => "deleted",
    }
}

fn kind(change: &Change) -> &'static str {
    match change.after.as_ref().or(change.before.as_ref()) {
        Some(state) if state.kind == Kind::Folder => "folder",
        Some(state) if state.kind == Kind::Link => "link",
        Some(state) if state.kind == Kind::Other => "other",
        _ => "file",
    }
}

fn line(trial: &Trial, change: &Change) -> String {
    let mark = if kind(change) == "folder" { "/" } else { "" };
    let mut line = format!("{} {}{mark}", verb(change), change.path.display());
    if let Some(target) = trial.target(change) {
        line.push_str(&format!(" -> {}", target.display()));
    }
    if let Some((before, after)) = modes(change) {
        line.push_str(&format!(" (mode {before} to {after})"));
    }
    let attributes = change.attributes();
    if !attributes.is_empty() {
        let names = attributes.join(", ").escape_debug().to_string();
        line.push_str(&format!(" (attributes {names})"));
    }
    if let Some(time) = change.time() {
        line.push_str(&format!(" (time set to @{time})"));
    }
    if let Some(other) = trial.link_to(change) {
        line.push_str(&format!(" (hard link to {})", other.display()));
    }
    line
}

/// The files as diffs, as far as they are text and there is room.
fn diff(trial: &Trial) -> String {
    let mut all = String::new();
    let mut missing = 0;
    for change in &trial.changes {
        if kind(change) != "file" {
            continue;
        }
        let Some(text) = file_diff(trial, change).filter(|_| all.len() < DIFF_LIMIT) else {
            missing += 1;
            continue;
        };
        if all.len() + text.len() > DIFF_LIMIT {
            missing += 1;
            continue;
        }
        all.push_str(&text);
    }
    if missing > 0 {
        all.push_str(&format!(
            "[{missing} files without a diff: too long, binary or secret]\n"
        ));
    }
    all
}

fn file_diff(trial: &Trial, change: &Change) -> Option<String> {
    if holds_secrets(&change.path).is_some() {
        return None;
    }
    let (before, after) = trial.contents(change, FILE_LIMIT);
    if change
        .before
        .as_ref()
        .is_some_and(|old| old.kind == Kind::File)
        && before.is_none()
    {
        return None;
    }
    let before = String::from_utf8(before.unwrap_or_default()).ok()?;
    let after = match change.verb() {
        Verb::Deleted => String::new(),
        Verb::Added | Verb::Changed => String::from_utf8(after?).ok()?,
    };
    if before.contains('\0') || after.contains('\0') {
        return None;
    }
    Some(unified(&change.path, &before, &after, change.verb()))
}

fn unified(path: &Path, before: &str, after: &str, verb: Verb) -> String {
    let (old, new) = (
        format!("a/{}", path.display()),
        format!("b/{}", path.display()),
    );
    let (old, new) = match verb {
        Verb::Added => ("/dev/null", new.as_str()),
        Verb::Changed => (old.as_str(), new.as_str()),
        Verb::Deleted => (old.as_str(), "/dev/null"),
    };
    let diff = TextDiff::configure()
        .timeout(Duration::from_millis(200))
        .diff_lines(before, after);
    diff.unified_diff().header(old, new).to_string()
}
