//! Figures from the journal.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Journal;
use super::append::base;
use super::body::Body;
use super::chain::{COLUMNS, Hash, Link, genesis};
use super::list::{accepted, changed};
use crate::{StoreError, Tx};

/// Bars of the chart over time.
const BARS: usize = 40;

/// What happened, in figures.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Stats {
    pub calls: u64,
    pub failures: u64,
    pub denied: u64,
    pub asked: u64,
    pub uncertain: u64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// Characters that reducers and trimming kept from models
    pub chars_saved: u64,
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
    pub tools: Vec<ToolStats>,
    /// Calls over time, oldest first
    pub over_time: Vec<u64>,
    pub bytes_on_disk: u64,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct ToolStats {
    pub tool: String,
    pub calls: u64,
    pub failures: u64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub chars_saved: u64,
}

#[derive(Default)]
struct Tally {
    calls: u64,
    failures: u64,
    durations: Vec<i64>,
    saved: u64,
}

impl Journal {
    /// Figures of all calls since a time, in microseconds since 1970.
    pub fn stats(&self, since: Option<i64>) -> Result<Stats, StoreError> {
        let mut stats = Stats::default();
        let mut tools: BTreeMap<String, Tally> = BTreeMap::new();
        let mut times = Vec::new();
        self.noticed(self.store.read(|tx| {
            each(tx, since, &mut |link| {
                count(link, &mut stats, &mut tools, &mut times);
            })
        }))?;
        stats.uncertain = self
            .open_calls()?
            .iter()
            .filter(|line| line.state == super::State::Uncertain)
            .count() as u64;
        let mut all = Vec::new();
        for (tool, mut tally) in tools {
            stats.chars_saved += tally.saved;
            all.extend_from_slice(&tally.durations);
            stats.tools.push(ToolStats {
                tool,
                calls: tally.calls,
                failures: tally.failures,
                p50_ms: at_share(&mut tally.durations, 0.50),
                p99_ms: at_share(&mut tally.durations, 0.99),
                chars_saved: tally.saved,
            });
        }
        stats
            .tools
            .sort_by_key(|tool| std::cmp::Reverse(tool.calls));
        stats.p50_ms = at_share(&mut all, 0.50);
        stats.p99_ms = at_share(&mut all, 0.99);
        stats.over_time = over_time(&times);
        stats.bytes_on_disk = self.bytes_on_disk();
        Ok(stats)
    }

    /// What the database takes, its log included.
    pub fn bytes_on_disk(&self) -> u64 {
        let file = self.store.path();
        let mut log = file.as_os_str().to_owned();
        log.push("-wal");
        let size = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |found| found.len());
        size(file) + size(std::path::Path::new(&log))
    }
}

/// Look at the records of calls since a time, each compared with its hash: a changed one is an
/// error, and no part of any figure.
fn each(
    tx: &mut dyn Tx,
    since: Option<i64>,
    look: &mut dyn FnMut(&Link<'_>),
) -> Result<(), StoreError> {
    let accepted = accepted(tx)?;
    let (start, first) = base(tx)?.unwrap_or((0, genesis()));
    let sql = format!(
        "SELECT {COLUMNS}, (SELECT hash FROM journal AS earlier WHERE earlier.seq = journal.seq - 1) \
         FROM journal WHERE time >= $1 AND kind IN ('call', 'intent', 'outcome')"
    );
    let mut bytes = Vec::new();
    tx.each(&sql, &[since.unwrap_or(i64::MIN).into()], &mut |row| {
        let seq = row.cell(0)?.int().unwrap_or_default();
        let (link, hash) = match Link::of(row) {
            Err(StoreError::Damaged(_)) if seq < accepted => return Ok(true),
            read => read?,
        };
        let earlier: Option<Hash> = match seq == start + 1 {
            true => Some(first),
            false => row.cell(12)?.blob().and_then(|hash| hash.try_into().ok()),
        };
        let holds =
            earlier.is_some_and(|hash_before| link.after_in(&hash_before, &mut bytes) == hash);
        if !holds && seq >= accepted {
            return Err(changed(seq));
        }
        look(&link);
        Ok(true)
    })
}

/// Add one record to the figures.
fn count(
    link: &Link<'_>,
    stats: &mut Stats,
    tools: &mut BTreeMap<String, Tally>,
    times: &mut Vec<i64>,
) {
    if !tools.contains_key(link.tool) {
        tools.insert(link.tool.to_owned(), Tally::default());
    }
    let Some(tally) = tools.get_mut(link.tool) else {
        return;
    };
    if link.kind != "outcome" {
        tally.calls += 1;
        stats.calls += 1;
        stats.asked += u64::from(link.verdict == Some("ask"));
        times.push(link.time);
    }
    if link.kind == "intent" {
        return;
    }
    match link.state {
        Some("ok" | "dry") => {}
        Some("denied") => stats.denied += 1,
        _ => {
            tally.failures += 1;
            stats.failures += 1;
        }
    }
    tally.durations.extend(link.duration_us);
    if link.body.contains("\"truncated\"") || link.body.contains("\"reduced\"") {
        let body: Body = serde_json::from_str(link.body).unwrap_or_default();
        let whole = body.chars.unwrap_or(0);
        tally.saved += whole.saturating_sub(body.shown.unwrap_or(whole)) as u64;
    }
}

/// The duration in milliseconds that so large a share of calls stays under.
fn at_share(durations: &mut [i64], share: f64) -> f64 {
    if durations.is_empty() {
        return 0.0;
    }
    durations.sort_unstable();
    let at = (durations.len() as f64 * share).ceil() as usize;
    durations[at.clamp(1, durations.len()) - 1] as f64 / 1_000.0
}

fn over_time(times: &[i64]) -> Vec<u64> {
    let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else {
        return Vec::new();
    };
    let mut bars = vec![0; BARS];
    for time in times {
        let at = (time - first) as f64 / ((last - first) as f64 + 1.0) * BARS as f64;
        bars[(at as usize).min(BARS - 1)] += 1;
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        let mut durations: Vec<i64> = (1..=100).rev().map(|n| n * 1_000).collect();
        assert!((at_share(&mut durations, 0.5) - 50.0).abs() < 1e-9);
        assert!((at_share(&mut durations, 0.99) - 99.0).abs() < 1e-9);
        assert!(at_share(&mut [], 0.5).abs() < 1e-9);
        assert!((at_share(&mut [7_000], 0.99) - 7.0).abs() < 1e-9);
    }

    #[test]
    fn every_call_is_in_a_bar() {
        let bars = over_time(&[5, 5, 6, 1_000_000, 999_999, -3]);
        assert_eq!(bars.iter().sum::<u64>(), 6);
        assert_eq!(bars[0], 4);
        assert_eq!(bars[BARS - 1], 2);
        assert!(over_time(&[]).is_empty());
    }
}
