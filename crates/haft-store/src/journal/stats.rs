//! Figures from the journal.

use serde::Serialize;

use super::chain::{COLUMNS, Hash, Link};
use super::figures::Figures;
use super::list::{accepted, changed, hash_before};
use super::{Inner, Journal};
use crate::{StoreError, Tx, paths};

/// Bars of the chart over time.
const BARS: usize = 40;
/// Spans whose figures are held at once.
const AT_ONCE: i64 = 64;

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

impl Journal {
    /// Figures of all calls since a time, in microseconds since 1970.
    pub fn stats(&self, since: Option<i64>) -> Result<Stats, StoreError> {
        let (figures, missing) = self.noticed(self.store.read(|tx| all(tx, &self.inner, since)))?;
        self.keep_missing(missing);
        let uncertain = self.open_calls()?;
        let uncertain = uncertain.iter();
        let mut stats = Stats {
            denied: figures.denied,
            asked: figures.asked,
            uncertain: uncertain
                .filter(|line| line.state == super::State::Uncertain)
                .count() as u64,
            ..Stats::default()
        };
        let mut all = Vec::new();
        for (tool, mut tally) in figures.tools {
            stats.calls += tally.calls;
            stats.failures += tally.failures;
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
        stats.over_time = over_time(&figures.times);
        stats.bytes_on_disk = self.bytes_on_disk();
        Ok(stats)
    }

    /// What had to be counted need not be counted again. Nobody waits for it.
    fn keep_missing(&self, missing: Vec<(i64, Figures)>) {
        if missing.is_empty() {
            return;
        }
        let inner = self.inner.clone();
        self.store.hand_over(move |tx| {
            let mut missing = missing.iter();
            missing.try_for_each(|(last, figures)| figures.keep(tx, &inner.key, *last))
        });
    }

    /// What the database takes, its log included.
    pub fn bytes_on_disk(&self) -> u64 {
        let file = self.store.path();
        let size = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |found| found.len());
        size(file) + size(&paths::with_end(file, "-wal"))
    }
}

/// One span, and what was kept of it.
struct Kept {
    first: i64,
    last: i64,
    figures: Option<Figures>,
}

/// The figures of all records since a time, and those of spans of which none were kept. Each record
/// that is counted anew is compared with its hash: a changed one is an error, and no part of any
/// figure.
fn all(
    tx: &mut dyn Tx,
    inner: &Inner,
    since: Option<i64>,
) -> Result<(Figures, Vec<(i64, Figures)>), StoreError> {
    let since = since.unwrap_or(i64::MIN);
    let accepted = accepted(tx)?;
    let (mut sum, mut missing) = (Figures::default(), Vec::new());
    let mut at = i64::MIN;
    loop {
        let page = page(tx, inner, at)?;
        if page.is_empty() {
            break;
        }
        for span in page {
            // Whatever is in no span.
            count(tx, (at, span.first - 1), since, accepted, &mut sum)?;
            at = span.last + 1;
            match span.figures {
                Some(figures) if figures.newest < Some(since) => {}
                Some(figures) if figures.oldest >= Some(since) => sum.add(figures),
                Some(_) => count(tx, (span.first, span.last), since, accepted, &mut sum)?,
                None => {
                    let mut own = Figures::default();
                    count(tx, (span.first, span.last), since, accepted, &mut own)?;
                    if since == i64::MIN && span.first > accepted {
                        missing.push((span.last, own.clone()));
                    }
                    sum.add(own);
                }
            }
        }
    }
    count(tx, (at, i64::MAX), since, accepted, &mut sum)?;
    Ok((sum, missing))
}

/// Spans that begin with this record or later, oldest first.
fn page(tx: &mut dyn Tx, inner: &Inner, from: i64) -> Result<Vec<Kept>, StoreError> {
    let mut page = Vec::new();
    tx.each(
        "SELECT first, last, figures, seal FROM journal_spans WHERE last >= $1 ORDER BY last \
         LIMIT $2",
        &[from.into(), AT_ONCE.into()],
        &mut |row| {
            let last = row.cell(1)?.int().unwrap_or_default();
            let kept = row.cell(2)?.text().zip(row.cell(3)?.text());
            page.push(Kept {
                first: row.cell(0)?.int().unwrap_or_default(),
                last,
                figures: kept.and_then(|(text, seal)| Figures::kept(&inner.key, last, text, seal)),
            });
            Ok(true)
        },
    )?;
    Ok(page)
}

/// Look at the records of a range that are no older than a time.
fn count(
    tx: &mut dyn Tx,
    (first, last): (i64, i64),
    since: i64,
    accepted: i64,
    sum: &mut Figures,
) -> Result<(), StoreError> {
    let mut before: Option<(i64, Hash)> = None;
    let start = tx.first_int(
        "SELECT min(seq) FROM journal WHERE seq >= $1 AND seq <= $2",
        &[first.into(), last.into()],
    )?;
    let Some(start) = start else {
        return Ok(());
    };
    if let Some(hash) = hash_before(tx, start)? {
        before = Some((start - 1, hash));
    }
    let sql = format!("SELECT {COLUMNS} FROM journal WHERE seq >= $1 AND seq <= $2 ORDER BY seq");
    let mut bytes = Vec::new();
    tx.each(&sql, &[start.into(), last.into()], &mut |row| {
        let seq = row.cell(0)?.int().unwrap_or_default();
        let (link, hash) = match Link::of(row) {
            Err(StoreError::Damaged(_)) if seq < accepted => {
                before = None;
                return Ok(true);
            }
            read => read?,
        };
        let holds = before.is_some_and(|(earlier, before)| {
            earlier == seq - 1 && link.after_in(&before, &mut bytes) == hash
        });
        if !holds && seq >= accepted && link.time >= since {
            return Err(changed(seq));
        }
        before = Some((seq, hash));
        if link.time >= since {
            sum.count(&link);
        }
        Ok(true)
    })
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
