//! `haft policy backtest`: what a draft would have said to the calls that were made.

use std::path::Path;

use anyhow::Result;
use haft_runtime::visible;

use super::since;
use crate::backtest::{self, Report};
use crate::cli::Seat;
use crate::home::Home;
use crate::recording::existing;
use crate::terminal::{fail, print, show, table};
use crate::wiring::{House, Wants};

/// Changes that are listed for a person; JSON has all.
const LISTED: usize = 50;

pub(crate) fn run(draft: &Path, from: Option<&str>, as_json: bool) -> Result<u8> {
    let house = House::open(&Seat::default(), Wants::default())?;
    let journal = existing(&Home::locate()?)?;
    let report = backtest::run(&house, journal.as_ref(), draft, since(from)?)?;
    if as_json {
        show::json(&report)?;
        return Ok(0);
    }
    told(&report);
    Ok(0)
}

fn told(report: &Report) {
    print::line(&format!(
        "{} calls judged again: {} the same, {} would change, {} unknown",
        report.calls,
        report.same,
        report.changes.len() - report.unknown,
        report.unknown
    ));
    for (why, count) in &report.unknown_because {
        fail::notice(&format!("unknown: {why} ({count} calls)"));
    }
    let rows = report.changes.iter().take(LISTED).map(|change| {
        vec![
            change.seq.to_string(),
            visible(&change.call_id),
            visible(&change.tool),
            change.was.to_string(),
            change.now.to_owned(),
            visible(&change.reason),
        ]
    });
    table::print(&["seq", "call", "tool", "was", "now", "why"], rows);
    if report.changes.len() > LISTED {
        let more = report.changes.len() - LISTED;
        print::line(&format!("and {more} more: all of them with `--json`"));
    }
    if report.proposals.is_empty() {
        return;
    }
    let spared: usize = report.proposals.iter().map(|one| one.questions).sum();
    print::line(&format!(
        "\nof {} questions these rules under `tools.rules.allow` would spare {spared}:",
        report.questions
    ));
    let rows = report
        .proposals
        .iter()
        .map(|one| vec![visible(&one.rule), one.questions.to_string()]);
    table::print(&["rule", "questions"], rows);
}
