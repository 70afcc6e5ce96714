//! `haft stats`: the journal in figures.

use anyhow::Result;
use haft_runtime::visible;
use haft_store::{Economy, chart};

use super::gc::size;
use super::since;
use crate::cli;
use crate::home::Home;
use crate::recording::{existing, failed};
use crate::terminal::{print, show, table};

pub(crate) fn run(command: cli::Stats) -> Result<u8> {
    let home = Home::locate()?;
    let from = since(command.since.as_deref())?;
    let (stats, economy) = match existing(&home)? {
        Some(journal) => (
            journal.stats(from).map_err(failed)?,
            journal.economy(from).map_err(failed)?,
        ),
        None => Default::default(),
    };
    if command.json {
        let mut all = serde_json::to_value(&stats)?;
        all["economy"] = serde_json::to_value(&economy)?;
        show::json(&all)?;
        return Ok(0);
    }
    print::line(&format!(
        "{} calls, {} failed, {} denied, {} asked, {} uncertain",
        stats.calls, stats.failures, stats.denied, stats.asked, stats.uncertain
    ));
    print::line(&format!(
        "p50 {:.1} ms, p99 {:.1} ms, {} characters kept from models, {} in the database\n",
        stats.p50_ms,
        stats.p99_ms,
        stats.chars_saved,
        size(stats.bytes_on_disk)
    ));
    if stats.over_time.len() > 1 {
        print::line(&format!("{}\n", chart(&stats.over_time)));
    }
    let most = stats.tools.iter().map(|tool| tool.calls).max().unwrap_or(0);
    let rows = stats.tools.iter().map(|tool| {
        let width = (tool.calls * 20).div_ceil(most.max(1)) as usize;
        vec![
            visible(&tool.tool),
            tool.calls.to_string(),
            tool.failures.to_string(),
            format!("{:.1}", tool.p50_ms),
            format!("{:.1}", tool.p99_ms),
            tool.chars_saved.to_string(),
            "█".repeat(width),
        ]
    });
    let titles = [
        "tool",
        "calls",
        "failed",
        "p50 ms",
        "p99 ms",
        "chars saved",
        " ",
    ];
    table::print(&titles, rows);
    told(&economy);
    Ok(0)
}

/// How results fared that were shown in part.
fn told(economy: &[Economy]) {
    let rows = economy.iter().map(|one| {
        let reducer = if one.off { "switched off" } else { "" };
        vec![
            visible(&one.subject),
            one.shortened.to_string(),
            one.read_again.to_string(),
            reducer.to_owned(),
        ]
    });
    if !economy.is_empty() {
        print::line("");
    }
    table::print(&["shown in part", "results", "read again", "reducer"], rows);
}
