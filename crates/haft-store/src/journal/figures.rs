//! What records amount to, so that it can be added up without looking at them again. Figures of a
//! whole span are kept, under a seal: nobody without the key can make up others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::body::Body;
use super::chain::Link;
use super::key::Key;
use crate::{StoreError, Tx};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) denied: u64,
    pub(super) asked: u64,
    /// When calls began
    pub(super) times: Vec<i64>,
    pub(super) tools: BTreeMap<String, Tally>,
    /// Between these all of it was written
    pub(super) oldest: Option<i64>,
    pub(super) newest: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) calls: u64,
    pub(super) failures: u64,
    /// Microseconds
    pub(super) durations: Vec<i64>,
    pub(super) saved: u64,
}

impl Figures {
    /// Add one record; notes of the journal about itself are no calls.
    pub(super) fn count(&mut self, link: &Link<'_>) {
        self.oldest = Some(
            self.oldest
                .map_or(link.time, |oldest| oldest.min(link.time)),
        );
        self.newest = self.newest.max(Some(link.time));
        if !matches!(link.kind, "call" | "intent" | "outcome") {
            return;
        }
        if !self.tools.contains_key(link.tool) {
            self.tools.insert(link.tool.to_owned(), Tally::default());
        }
        let Some(tally) = self.tools.get_mut(link.tool) else {
            return;
        };
        if link.kind != "outcome" {
            tally.calls += 1;
            self.asked += u64::from(link.verdict == Some("ask"));
            self.times.push(link.time);
        }
        if link.kind == "intent" {
            return;
        }
        match link.state {
            Some("ok" | "dry") => {}
            Some("denied") => self.denied += 1,
            _ => tally.failures += 1,
        }
        tally.durations.extend(link.duration_us);
        if link.body.contains("\"truncated\"") || link.body.contains("\"reduced\"") {
            let body: Body = serde_json::from_str(link.body).unwrap_or_default();
            let whole = body.chars.unwrap_or(0);
            tally.saved += whole.saturating_sub(body.shown.unwrap_or(whole)) as u64;
        }
    }

    /// Add others.
    pub(super) fn add(&mut self, other: Figures) {
        self.denied += other.denied;
        self.asked += other.asked;
        self.times.extend(other.times);
        for (tool, tally) in other.tools {
            let sum = self.tools.entry(tool).or_default();
            sum.calls += tally.calls;
            sum.failures += tally.failures;
            sum.durations.extend(tally.durations);
            sum.saved += tally.saved;
        }
    }

    /// Keep them for the span that ends with this record.
    pub(super) fn keep(&self, tx: &mut dyn Tx, key: &Key, last: i64) -> Result<(), StoreError> {
        let text =
            serde_json::to_string(self).map_err(|error| StoreError::Failed(error.to_string()))?;
        let seal = seal(key, last, &text);
        tx.run(
            "UPDATE journal_spans SET figures = $1, seal = $2 WHERE last = $3",
            &[text.as_str().into(), seal.as_str().into(), last.into()],
        )
        .map(drop)
    }

    /// Those that were kept, if they are still what they were.
    pub(super) fn kept(key: &Key, last: i64, text: &str, sealed: &str) -> Option<Figures> {
        (seal(key, last, text) == sealed)
            .then(|| serde_json::from_str(text).ok())
            .flatten()
    }
}

fn seal(key: &Key, last: i64, text: &str) -> String {
    key.digest(format!("figures up to {last}: {text}"))
}
