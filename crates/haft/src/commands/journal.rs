//! `haft journal`: what was called, and proof that the record is whole.

use std::time::Duration;

use anyhow::{Result, bail};
use haft_runtime::visible;
use haft_store::{Filter, Journal, Line, Settled, State};

use super::{settle, since};
use crate::cli::{self, JournalAction};
use crate::exit;
use crate::home::Home;
use crate::recording::{existing, failed};
use crate::terminal::{fail, print, show, table};

/// Between two looks at a journal that is followed.
const LOOK: Duration = Duration::from_millis(200);
/// Calls listed where no limit is given.
const LIMIT: usize = 50;

pub(crate) fn run(command: cli::Journal) -> Result<u8> {
    let home = Home::locate()?;
    let mut journal = existing(&home)?;
    while command.follow && journal.is_none() {
        std::thread::sleep(LOOK);
        journal = existing(&home)?;
    }
    let Some(journal) = journal else {
        if !command.json {
            print::line("nothing has been called yet");
        }
        return Ok(match command.action {
            Some(JournalAction::Show { .. }) => exit::FAILED,
            _ => 0,
        });
    };
    match &command.action {
        None => list(&journal, &command),
        Some(JournalAction::Show { call }) => one(&journal, call),
        Some(JournalAction::Verify { json }) => verify(&journal, *json),
        Some(JournalAction::Accept { reason }) => accept(&journal, reason),
        Some(JournalAction::Settle {
            call: Some(call),
            happened: true,
            ..
        }) => settle::told(&journal, call, Settled::Happened),
        Some(JournalAction::Settle {
            call: Some(call),
            did_not: true,
            ..
        }) => settle::told(&journal, call, Settled::DidNotHappen),
        Some(JournalAction::Settle {
            call,
            retry: true,
            yes,
            ..
        }) => settle::retry(journal, call.as_deref(), *yes),
        Some(JournalAction::Settle { call, .. }) => settle::list(&journal, call.as_deref()),
    }
}

fn filter(command: &cli::Journal) -> Result<Filter> {
    Ok(Filter {
        tool: command.tool.clone(),
        session: command.session.clone(),
        since: since(command.since.as_deref())?,
        limit: Some(command.limit.unwrap_or(LIMIT)),
        ..Filter::default()
    })
}

fn list(journal: &Journal, command: &cli::Journal) -> Result<u8> {
    let mut filter = filter(command)?;
    let mut newest = 0;
    let mut head = true;
    // Calls that were shown before they had ended: they are shown again then.
    let mut running: Vec<i64> = Vec::new();
    loop {
        let mut lines = journal.calls(&running).map_err(failed)?;
        lines.retain(|line| line.state != State::Running);
        running.retain(|seq| lines.iter().all(|line| line.seq != *seq));
        lines.extend(journal.list(&filter).map_err(failed)?);
        shown(&lines, command.json, head)?;
        if !command.follow {
            return Ok(0);
        }
        head &= lines.is_empty();
        let unended = lines.iter().filter(|line| line.state == State::Running);
        running.extend(unended.map(|line| line.seq));
        newest = lines.iter().map(|line| line.seq).fold(newest, i64::max);
        filter.after = Some(newest);
        filter.limit = None;
        std::thread::sleep(LOOK);
    }
}

fn shown(lines: &[Line], as_json: bool, head: bool) -> Result<()> {
    if as_json {
        for line in lines {
            print::raw(format!("{}\n", serde_json::to_string(line)?).as_bytes())?;
        }
    } else if !lines.is_empty() {
        let titles = ["seq", "time", "call", "tool", "state", "ms", "verdict"];
        let titles = if head { titles } else { [""; 7] };
        table::print(&titles, lines.iter().map(row));
    }
    Ok(())
}

fn row(line: &Line) -> Vec<String> {
    let name = match line.state {
        State::Note => line.body.reason.clone().unwrap_or_default(),
        _ => line.tool.clone(),
    };
    vec![
        line.seq.to_string(),
        line.time.chars().take(19).collect(),
        visible(&line.call_id),
        visible(&name),
        coloured(line.state),
        line.duration_ms
            .map_or_else(String::new, |ms| format!("{ms:.1}")),
        line.verdict.clone().unwrap_or_default(),
    ]
}

fn coloured(state: State) -> String {
    state.as_str().to_owned()
}

fn one(journal: &Journal, call: &str) -> Result<u8> {
    let filter = Filter {
        call_id: Some(call.to_owned()),
        ..Filter::default()
    };
    let mut lines = journal.list(&filter).map_err(failed)?;
    if lines.is_empty() {
        // A number names a record.
        let seq = call.parse::<i64>().ok();
        let filter = Filter {
            after: seq.map(|seq| seq - 1),
            ..Filter::default()
        };
        if seq.is_some() {
            lines = journal.list(&filter).map_err(failed)?;
            lines.retain(|line| Some(line.seq) == seq);
        }
    }
    if lines.is_empty() {
        bail!(fail::Failed {
            message: format!("no such call: `{call}`"),
            hint: Some("list them with `haft journal`".to_owned()),
        });
    }
    for line in &lines {
        show::json(line)?;
    }
    Ok(0)
}

fn verify(journal: &Journal, as_json: bool) -> Result<u8> {
    match journal.verify().map_err(failed)? {
        Ok(verified) => {
            if as_json {
                show::json(&verified)?;
            } else {
                verified.notices.iter().for_each(|text| fail::notice(text));
                print::line(&format!(
                    "{} records are as they were written, {} signed marks hold",
                    verified.records, verified.marks
                ));
            }
            Ok(0)
        }
        Err(fault) => {
            if as_json {
                show::json(&fault)?;
            }
            fail::error(
                &format!("record {}: {}", fault.seq, fault.what),
                Some(
                    "go back with `haft restore FILE`, or go on from what is there with `haft journal accept`",
                ),
            );
            Ok(exit::FAILED)
        }
    }
}

fn accept(journal: &Journal, reason: &str) -> Result<u8> {
    let (seq, whole) = journal.accept(reason).map_err(failed)?;
    let before = match whole {
        true => "what is there before it is still proven",
        false => "what came before is not proven",
    };
    print::line(&format!(
        "accepted: the journal goes on from record {seq}; {before}"
    ));
    Ok(0)
}
