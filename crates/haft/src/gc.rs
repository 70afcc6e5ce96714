//! Retention: what haft keeps for itself stays within the limits of the config. The same work is
//! done by `haft gc` and, now and then, at the end of a call.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use haft_host::{Amount, Checkpoints};
use haft_store::{Blobs, Journal, JournalLimits, Results, State, StoreError, Swept};
use serde::Serialize;

use crate::recording::failed;
use crate::servers::forgotten;
use crate::wiring::House;

/// One kind of thing: how much there is, and how much of it goes.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Part {
    pub(crate) what: &'static str,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) goes: u64,
    pub(crate) goes_bytes: u64,
}

/// What there is and what goes.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) parts: Vec<Part>,
    /// Bytes of the database with its log
    pub(crate) database: u64,
    /// Calls of which nobody knows the end: they, and all records after them, stay
    pub(crate) uncertain: usize,
}

impl House {
    /// Keep to the limits, unless that was done a short while ago. Nothing depends on it, so
    /// nobody is told when it fails.
    pub(crate) fn tidy(&self) {
        let home = self.home.path();
        if Journal::is_there(home) && haft_host::tidy_is_due(home).unwrap_or(false) {
            let _ = self.collect(false);
        }
    }

    /// Keep to the limits of the config; with `dry_run` only say what that would take.
    pub(crate) fn collect(&self, dry_run: bool) -> Result<Report> {
        let config = &self.loaded.effective;
        let journal = self.recording.journal().map_err(failed)?;
        let store = journal.store();
        usable(journal, dry_run)?;
        let results = Results::new(store.clone(), self.home.path());
        let blobs = Blobs::new(store.clone(), self.home.path());
        let mut report = Report {
            uncertain: uncertain(journal)?,
            ..Report::default()
        };

        let now = journal.trusted_now().map_err(failed)?;
        let since = |age| since(now, age);
        let kept = config.journal.retention();
        let limits = JournalLimits {
            since: since(kept.age),
            bytes: kept.bytes,
        };
        let size = journal.size().map_err(failed)?;
        let gone = match dry_run {
            true => journal.beyond(&limits),
            false => journal.trim(&limits),
        };
        let gone = gone.map_err(failed)?;
        report.add(
            "journal records",
            amount(size.count, size.bytes),
            amount(gone.count, gone.bytes),
        );

        if !dry_run {
            results.take_all().map_err(failed)?;
        }
        let kept = config.results.retention();
        let (all, gone) = results
            .limit(since(kept.age), kept.bytes, dry_run)
            .map_err(failed)?;
        report.add("results", of(all), of(gone));
        if !dry_run {
            // Sessions without results have seen nothing that matters.
            let sights = self.recording.sights().map_err(failed)?;
            sights.take_over().map_err(failed)?;
            sights.forget(since(kept.age)).map_err(failed)?;
        }

        let kept = config.undo.retention();
        let cut_short = Checkpoints::new(self.home.path(), config.undo.limits());
        let (mut all, mut gone) = cut_short.tidy(&kept, time(now), dry_run)?;
        let changes = self.recording.changes().map_err(failed)?;
        if !dry_run {
            changes.take_all().map_err(failed)?;
        }
        let (listed, unlisted) = changes
            .limit(since(kept.age), kept.bytes, dry_run)
            .map_err(failed)?;
        all += of(listed);
        gone += of(unlisted);
        report.add("changes to undo", all, gone);

        let workspace = &self.loaded.workspace;
        let (all, gone) = forgotten::sweep(&self.home, workspace, &self.recording, dry_run)?;
        report.add("what MCP servers offer", all, gone);

        let swept = of(blobs.sweep(dry_run).map_err(failed)?);
        report.add("files nobody needs", swept, swept);
        report.database = journal.bytes_on_disk();
        Ok(report)
    }
}

/// Whether the store may be looked at, or have something removed from it.
fn usable(journal: &Journal, dry_run: bool) -> Result<()> {
    match journal.store().ready() {
        Err(StoreError::ReadOnly(_)) if dry_run => return Ok(()),
        ready => ready.map_err(failed)?,
    }
    match dry_run {
        true => Ok(()),
        false => Ok(journal.check().map_err(failed)?),
    }
}

impl Report {
    fn add(&mut self, what: &'static str, all: Amount, goes: Amount) {
        self.parts.push(Part {
            what,
            count: all.count,
            bytes: all.bytes,
            goes: goes.count,
            goes_bytes: goes.bytes,
        });
    }
}

fn amount(count: u64, bytes: u64) -> Amount {
    Amount { count, bytes }
}

fn of(swept: Swept) -> Amount {
    amount(swept.blobs, swept.bytes)
}

/// So long before a time, in microseconds since 1970.
fn since(now: i64, age: Duration) -> i64 {
    let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    now.saturating_sub(age)
}

fn time(micros: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(micros.try_into().unwrap_or(0))
}

fn uncertain(journal: &Journal) -> Result<usize> {
    let open = journal.open_calls().map_err(failed)?;
    let uncertain = open.iter().filter(|line| line.state == State::Uncertain);
    Ok(uncertain.count())
}
