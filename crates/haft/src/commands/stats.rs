//! `haft stats`: the journal in figures.

use anyhow::Result;
use haft_runtime::visible;
use haft_store::chart;

use super::since;
use crate::cli;
use crate::home::Home;
use crate::recording::{existing, failed};
use crate::terminal::{print, show, table};

pub(crate) fn run(command: cli::Stats) -> Result<u8> {
    let home = Home::locate()?;
    let stats = match existing(&home)? {
        Some(journal) => journal
            .stats(since(command.since.as_deref())?)
            .map_err(|error| failed(&error))?,
        None => haft_store::Stats::default(),
    };
    if command.json {
        show::json(&stats)?;
        return Ok(0);
    }
    print::line(&format!(
        "{} calls, {} failed, {} denied, {} asked, {} uncertain",
        stats.calls, stats.failures, stats.denied, stats.asked, stats.uncertain
    ));
    print::line(&format!(
        "p50 {:.1} ms, p99 {:.1} ms, {} characters kept from models, {} KB on the disk\n",
        stats.p50_ms,
        stats.p99_ms,
        stats.chars_saved,
        stats.bytes_on_disk.div_ceil(1_024)
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
    Ok(0)
}
