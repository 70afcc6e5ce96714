//! `haft gc`: what haft keeps for itself, within the limits of the config.

use anyhow::Result;
use haft_store::Journal;

use crate::cli::{self, Seat};
use crate::gc::Part;
use crate::recording::failed;
use crate::terminal::{fail, print, show, table};
use crate::wiring::{House, Wants};

pub(crate) fn run(command: &cli::Gc) -> Result<u8> {
    let house = House::open(&Seat::default(), Wants::default())?;
    fail::notices(&house.loaded.notices);
    if !Journal::is_there(house.home.path()) {
        print::line("nothing is kept yet");
        return Ok(0);
    }
    let mut report = house.collect(command.dry_run)?;
    if !command.dry_run {
        let journal = house.recording.journal().map_err(failed)?;
        // Room to write the file anew may be missing; it is tried again the next time.
        if let Err(error) = journal.store().compact() {
            fail::notice(&format!("the database keeps its holes: {error}"));
        }
        report.database = journal.bytes_on_disk();
    }
    if command.json {
        show::json(&report)?;
        return Ok(0);
    }
    let goes = if command.dry_run { "would go" } else { "gone" };
    table::print(
        &["kept", "", "size", goes, "size"],
        report.parts.iter().map(row),
    );
    print::line(&format!("\n{} in the database", size(report.database)));
    if report.uncertain > 0 {
        fail::notice(&format!(
            "nobody knows how {} calls ended, so their records stay and all after them: see `haft journal settle`",
            report.uncertain
        ));
    }
    Ok(0)
}

fn row(part: &Part) -> Vec<String> {
    vec![
        part.what.to_owned(),
        part.count.to_string(),
        size(part.bytes),
        part.goes.to_string(),
        size(part.goes_bytes),
    ]
}

/// Bytes as people read them.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1_024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1_024.0;
    let mut unit = 0;
    while value >= 1_024.0 && unit + 1 < UNITS.len() {
        value /= 1_024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}
