//! `haft journal settle`: calls of which nobody knows whether they happened. Tools are asked where
//! they can tell, what does no harm is made again, the rest waits for a person.

use anyhow::{Result, bail};
use haft_core::{Call, Outcome};
use haft_runtime::visible;
use haft_store::{Journal, Line, Settled, State};

use crate::cli::Manner;
use crate::exit;
use crate::home::Home;
use crate::recorded::{again, by_seat};
use crate::recording::{existing, failed};
use crate::terminal::live::Voices;
use crate::terminal::{drive, fail, print, table};
use crate::wiring::House;

/// The calls meant: all of them, or one by its id or number.
fn uncertain(journal: &Journal, call: Option<&str>) -> Result<Vec<Line>> {
    let mut open = journal.open_calls().map_err(failed)?;
    open.retain(|line| {
        let meant = |call: &str| line.call_id == call || line.seq.to_string() == call;
        line.state == State::Uncertain && call.is_none_or(meant)
    });
    if let (Some(call), true) = (call, open.is_empty()) {
        bail!(fail::Failed {
            message: format!("no such uncertain call: `{call}`"),
            hint: Some("list them with `haft journal settle`".to_owned()),
        });
    }
    Ok(open)
}

/// Say what became of a call.
pub(super) fn told(journal: &Journal, call: &str, settled: Settled) -> Result<u8> {
    for line in uncertain(journal, Some(call))? {
        journal
            .settle(&line, settled, "a person said so")
            .map_err(failed)?;
        print::line(&format!("settled: {}", visible(&line.call_id)));
    }
    Ok(0)
}

pub(super) fn list(journal: &Journal, call: Option<&str>) -> Result<u8> {
    let uncertain = uncertain(journal, call)?;
    if uncertain.is_empty() {
        print::line("no call is uncertain");
    }
    let rows = uncertain.iter().map(|line| {
        let repeat = line.body.repeat.clone().unwrap_or_default();
        let way = match repeat.as_str() {
            _ if again(line).is_err() => "a person decides",
            "read" | "idempotent" => "made again by `--retry`",
            "keyed" if line.body.key.is_some() => "made again with its key by `--retry`",
            _ => "a person decides",
        };
        vec![
            line.seq.to_string(),
            visible(&line.call_id),
            visible(&line.tool),
            repeat,
            way.to_owned(),
        ]
    });
    table::print(&["seq", "call", "tool", "repeat", ""], rows);
    Ok(0)
}

/// How a call became certain, or why it did not.
enum Way {
    Verified(bool),
    MadeAgain(Box<Outcome>),
    Left(&'static str),
}

/// Ask tools, and make again what may be made again.
pub(super) fn retry(journal: Journal, call: Option<&str>, yes: bool) -> Result<u8> {
    let lines = uncertain(&journal, call)?;
    drop(journal);
    let mut left = 0;
    for (seat, lines) in by_seat(lines) {
        let manner = Manner {
            yes,
            seat,
            ..Manner::default()
        };
        let (ways, mut unmade): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|line| again(line).is_ok());
        let mut done = Vec::new();
        for line in unmade.drain(..) {
            let why = again(&line).err().unwrap_or_default();
            done.push((line, Way::Left(why)));
        }
        if !ways.is_empty() {
            done.extend(tried(&manner, ways)?);
        }
        left += settled(done)?;
    }
    Ok(if left == 0 { 0 } else { exit::FAILED })
}

fn tried(manner: &Manner, lines: Vec<Line>) -> Result<Vec<(Line, Way)>> {
    let house = House::open(&manner.seat, drive::wants(manner))?;
    fail::notices(&house.loaded.notices);
    let driven = drive::to_the_end(&house, manner, Voices::Many, async |runtime, session| {
        let mut done = Vec::new();
        for line in lines {
            let Ok(call) = again(&line) else {
                continue;
            };
            let way = match runtime.verify(session, call.clone()).await {
                Some(happened) => Way::Verified(happened),
                None if may_be_made(&line, &call) => {
                    Way::MadeAgain(Box::new(runtime.call(session, call).await))
                }
                None => Way::Left("a person decides"),
            };
            done.push((line, way));
        }
        done
    })?;
    Ok(driven.result)
}

fn may_be_made(line: &Line, call: &Call) -> bool {
    match line.body.repeat.as_deref() {
        Some("read" | "idempotent") => true,
        Some("keyed") => call.key.is_some(),
        _ => false,
    }
}

/// Write down what is certain now. Says how many calls are not.
fn settled(done: Vec<(Line, Way)>) -> Result<usize> {
    let Some(journal) = existing(&Home::locate()?)? else {
        return Ok(done.len());
    };
    let mut left = 0;
    for (line, way) in done {
        let (settled, how) = match way {
            Way::Verified(true) => (Settled::Happened, "the tool looked for it".to_owned()),
            Way::Verified(false) => (Settled::DidNotHappen, "the tool looked for it".to_owned()),
            Way::MadeAgain(outcome) if outcome.ok => (
                Settled::Happened,
                format!("made again as call `{}`", outcome.call_id),
            ),
            Way::MadeAgain(outcome) => {
                left += 1;
                let error = outcome.into_body().error;
                let why = error.map(|error| error.message).unwrap_or_default();
                fail::notice(&format!(
                    "left: {}: {}",
                    visible(&line.call_id),
                    visible(&why)
                ));
                continue;
            }
            Way::Left(why) => {
                left += 1;
                fail::notice(&format!("left: {}: {why}", visible(&line.call_id)));
                continue;
            }
        };
        // A call with a key has been settled by the one that took its place.
        journal.settle(&line, settled, &how).map_err(failed)?;
        print::line(&format!("settled: {}: {how}", visible(&line.call_id)));
    }
    Ok(left)
}
