//! `haft replay`: the reading calls of a session made again, and what differs from then.

use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use haft_core::{Block, Outcome};
use haft_runtime::visible;
use haft_store::{Filter, Journal, Line, Results, State};
use haft_tools::difference;
use serde::Serialize;

use crate::cli::{self, Manner};
use crate::exit;
use crate::home::Home;
use crate::recorded::{again, by_seat};
use crate::recording::{existing, failed};
use crate::terminal::live::Voices;
use crate::terminal::{drive, fail, print, show, table};
use crate::wiring::House;

/// What the ids of calls begin with that were made again; they are no part of the session.
const PREFIX: &str = "replay.";
/// Texts beyond this are not compared line by line.
const LARGEST: u64 = 4 << 20;
/// Lines of one difference on the terminal.
const LINES: usize = 60;

#[derive(Debug, Serialize)]
struct Row {
    seq: i64,
    call_id: String,
    tool: String,
    /// `same`, `differs`, `not replayed`
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// What became of the text, where both are there whole
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

pub(crate) fn run(command: &cli::Replay) -> Result<u8> {
    let journal = existing(&Home::locate()?)?;
    let lines = match &journal {
        Some(journal) => reading_calls(journal, &command.session)?,
        None => Vec::new(),
    };
    drop(journal);
    if lines.is_empty() {
        bail!(fail::Failed {
            message: format!("no reading call in session `{}`", command.session),
            hint: Some("list sessions with `haft journal --json`".to_owned()),
        });
    }
    let mut rows = Vec::new();
    for (seat, lines) in by_seat(lines) {
        let manner = Manner {
            seat,
            ..Manner::default()
        };
        rows.extend(replayed(&manner, lines)?);
    }
    rows.sort_by_key(|row| row.seq);
    let differs = rows.iter().any(|row| row.result == "differs");
    if command.json {
        show::json(&rows)?;
    } else {
        told(&rows);
    }
    Ok(if differs { exit::FAILED } else { 0 })
}

fn told(rows: &[Row]) {
    let count = |result: &str| rows.iter().filter(|row| row.result == result).count();
    let others = rows.iter().filter(|row| row.result != "same").map(|row| {
        vec![
            row.seq.to_string(),
            visible(&row.call_id),
            visible(&row.tool),
            row.result.to_owned(),
            visible(row.why.as_deref().unwrap_or_default()),
        ]
    });
    table::print(&["seq", "call", "tool", "result", "why"], others);
    for row in rows {
        row.diff.iter().for_each(|diff| shown(row, diff));
    }
    print::line(&format!(
        "{} the same, {} differ, {} not replayed",
        count("same"),
        count("differs"),
        count("not replayed")
    ));
}

fn shown(row: &Row, diff: &str) {
    print::line(&format!("\n{} {}", row.seq, visible(&row.tool)));
    for line in diff.lines().take(LINES) {
        print::line(&visible(line));
    }
    if let more @ 1.. = diff.lines().count().saturating_sub(LINES) {
        print::line(&format!("… and {more} more lines; `--json` has all"));
    }
}

/// The calls of a session that changed nothing and were answered.
fn reading_calls(journal: &Journal, session: &str) -> Result<Vec<Line>> {
    let filter = Filter {
        session: Some(session.to_owned()),
        ..Filter::default()
    };
    let mut lines = journal.list(&filter).map_err(failed)?;
    lines.retain(|line| {
        line.body.repeat.as_deref() == Some("read")
            && matches!(line.state, State::Ok | State::Failed)
            && !line.body.dry_run
            && line.verdict.is_some()
            && !line.call_id.starts_with(PREFIX)
    });
    Ok(lines)
}

fn replayed(manner: &Manner, lines: Vec<Line>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut calls = Vec::new();
    // Each run has ids of its own: an id means one call.
    let run = SystemTime::now().duration_since(UNIX_EPOCH);
    let run = run.unwrap_or_default().as_micros();
    for line in lines {
        match again(&line) {
            Ok(call) => {
                let call = call.id(format!("{PREFIX}{run:x}.{}", line.call_id));
                calls.push((line, call));
            }
            Err(why) => rows.push(row(&line, "not replayed", Some(why.to_owned()))),
        }
    }
    if calls.is_empty() {
        return Ok(rows);
    }
    let house = House::open(&manner.seat, drive::wants(manner))?;
    let driven = drive::to_the_end(&house, manner, Voices::Many, async |runtime, session| {
        let mut made = Vec::new();
        for (line, call) in calls {
            let outcome = runtime.call(session, call).await;
            made.push((line, outcome));
        }
        made
    })?;
    // It was finished with the last call, and has all of them now.
    let home = Home::locate()?;
    let Some(journal) = existing(&home)? else {
        return Ok(rows);
    };
    for (line, outcome) in driven.result {
        rows.push(compared(&home, &journal, &line, &outcome)?);
    }
    Ok(rows)
}

/// Two calls are compared by what the journal says of both.
fn compared(home: &Home, journal: &Journal, then: &Line, outcome: &Outcome) -> Result<Row> {
    let filter = Filter {
        call_id: Some(outcome.call_id.to_string()),
        limit: Some(1),
        ..Filter::default()
    };
    let now = journal.list(&filter).map_err(failed)?.pop();
    let Some(now) = now else {
        return Ok(row(
            then,
            "not replayed",
            Some("it was not written down".to_owned()),
        ));
    };
    if then.body.result.is_none() {
        let why = "the record is older than the digests of results".to_owned();
        return Ok(row(then, "not replayed", Some(why)));
    }
    let same = then.body.result == now.body.result && then.body.code == now.body.code;
    if same && then.body.message == now.body.message {
        return Ok(row(then, "same", None));
    }
    let told = |line: &Line| match (&line.body.message, line.body.chars) {
        (Some(message), _) => message.clone(),
        (None, chars) => format!("{} characters", chars.unwrap_or(0)),
    };
    let why = match (told(then), told(&now)) {
        (then, now) if then == now => format!("{now}, but others"),
        (then, now) => format!("then {then}, now {now}"),
    };
    let mut row = row(then, "differs", Some(why));
    let results = Results::new(journal.store().clone(), home.path());
    let texts = whole(&results, then).zip(whole(&results, &now).or_else(|| text(outcome)));
    row.diff = texts.map(|(then, now)| difference(("then", &then), ("now", &now)));
    Ok(row)
}

/// The whole result of a call, if it was kept and is not too large.
fn whole(results: &Results, line: &Line) -> Option<String> {
    if line.body.text.is_some() {
        return line.body.text.clone();
    }
    let handle = line.body.handle.as_deref()?;
    let file = results.open(&line.session, handle).ok()??;
    let mut text = String::new();
    file.take(LARGEST + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= LARGEST).then_some(text)
}

/// The same of one that was answered whole.
fn text(outcome: &Outcome) -> Option<String> {
    let whole = !outcome.meta.truncated && !outcome.meta.reduced && !outcome.meta.untrusted;
    let texts = outcome.content.iter().filter_map(Block::as_text);
    whole.then(|| texts.collect::<Vec<_>>().join("\n"))
}

fn row(line: &Line, result: &'static str, why: Option<String>) -> Row {
    Row {
        seq: line.seq,
        call_id: line.call_id.clone(),
        tool: line.tool.clone(),
        result,
        why,
        diff: None,
    }
}
