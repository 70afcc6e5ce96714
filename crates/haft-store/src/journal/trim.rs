//! Removing old records. What is left still proves itself: the place where it begins is signed.

use serde::Serialize;

use super::append::{hash_at, mark};
use super::chain::genesis;
use super::list::accepted;
use super::spans::{self, Ends};
use super::{Inner, Journal, keyring};
use crate::{Durability, StoreError, Tx};

/// What a record takes beside its body: columns, hash, and its place in the indexes.
const AROUND: i64 = 400;

/// What may stay of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalLimits {
    /// Nothing older than this, in microseconds since 1970
    pub since: i64,
    /// Bytes of all records together, about
    pub bytes: u64,
}

/// So many records, and what they take, about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Records {
    pub count: u64,
    pub bytes: u64,
}

/// So much can pass at once before the clock is doubted, in microseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000_000;

impl Journal {
    /// The time from which ages are counted, in microseconds since 1970. A clock that has jumped
    /// ahead would make everything old at once: it is believed as far as a day after the newest
    /// record that is a day old by it. Where haft is used daily that is the clock's own time; after
    /// a jump, or a long pause, it is so again once a day has been written down.
    pub fn trusted_now(&self) -> Result<i64, StoreError> {
        let now = super::now();
        let sql = "SELECT time FROM journal WHERE time <= $1 ORDER BY seq DESC LIMIT 1";
        let before = self
            .store
            .read(|tx| tx.first_int(sql, &[(now - DAY).into()]))?;
        Ok(before.map_or(now, |before| now.min(before + DAY)))
    }

    /// How much there is.
    pub fn size(&self) -> Result<Records, StoreError> {
        self.store.read(|tx| records(tx, i64::MAX))
    }

    /// How much is beyond the limits, up to the first record that must stay: one that is within
    /// them, or a call of which no end is known.
    pub fn beyond(&self, limits: &JournalLimits) -> Result<Records, StoreError> {
        self.store.read(|tx| match cut(tx, limits)? {
            Some(cut) => records(tx, cut),
            None => Ok(Records::default()),
        })
    }

    /// Remove it.
    pub fn trim(&self, limits: &JournalLimits) -> Result<Records, StoreError> {
        let (inner, limits) = (self.inner.clone(), *limits);
        let removed = self
            .store
            .write(Durability::Power, move |tx| remove(tx, &inner, &limits));
        removed.wait()
    }
}

/// The records up to one.
fn records(tx: &mut dyn Tx, last: i64) -> Result<Records, StoreError> {
    let mut found = Records::default();
    tx.each(
        "SELECT count(*), sum(octet_length(body)) FROM journal WHERE seq <= $1",
        &[last.into()],
        &mut |row| {
            let count = row.cell(0)?.int().unwrap_or(0);
            let bytes = row.cell(1)?.int().unwrap_or(0) + count * AROUND;
            found = Records {
                count: count as u64,
                bytes: bytes as u64,
            };
            Ok(false)
        },
    )?;
    Ok(found)
}

/// The first record of the newest that fit into so many bytes together.
fn first_that_fits(tx: &mut dyn Tx, bytes: u64) -> Result<Option<i64>, StoreError> {
    let mut left = i64::try_from(bytes).unwrap_or(i64::MAX);
    let mut first = None;
    tx.each(
        "SELECT seq, octet_length(body) FROM journal ORDER BY seq DESC",
        &[],
        &mut |row| {
            left = left.saturating_sub(row.cell(1)?.int().unwrap_or(0) + AROUND);
            if left >= 0 {
                first = row.cell(0)?.int();
            }
            Ok(left >= 0)
        },
    )?;
    Ok(first)
}

/// The last record that may go.
fn cut(tx: &mut dyn Tx, limits: &JournalLimits) -> Result<Option<i64>, StoreError> {
    let from = spans::since(tx, limits.since)?;
    let young = tx.first_int(
        "SELECT seq FROM journal WHERE seq >= $1 AND time >= $2 ORDER BY seq LIMIT 1",
        &[from.into(), limits.since.into()],
    )?;
    // Both limits hold, so what stays is what is within both.
    let within = match first_that_fits(tx, limits.bytes)? {
        None => None,
        fitting => young.max(fitting).filter(|_| young.is_some()),
    };
    let ends = Ends::new(tx)?;
    let open = ends.open(tx)?.first().copied();
    let newest = tx.first_int("SELECT max(seq) FROM journal", &[])?;
    // The newest record stays, so that there is always one to go on from. An outcome goes with
    // its intent: the call is whole or gone.
    let mut cut = [within, open, newest]
        .into_iter()
        .flatten()
        .min()
        .map(|first_to_stay| first_to_stay - 1)
        .unwrap_or(0);
    while let Some(intent) = ends.split(tx, cut)? {
        cut = intent - 1;
    }
    let first = tx.first_int("SELECT min(seq) FROM journal", &[])?;
    Ok(first.filter(|first| *first <= cut).map(|_| cut))
}

fn remove(tx: &mut dyn Tx, inner: &Inner, limits: &JournalLimits) -> Result<Records, StoreError> {
    let Some(cut) = cut(tx, limits)? else {
        return Ok(Records::default());
    };
    let removed = records(tx, cut)?;
    let hash = match hash_at(tx, cut)? {
        Some(hash) => hash,
        // The next one is not proven either, so it does not matter what it follows.
        None if cut + 1 < accepted(tx)? => genesis(),
        None => {
            return Err(StoreError::Damaged(format!(
                "record {cut} of the journal is missing"
            )));
        }
    };
    tx.run("DELETE FROM journal_marks WHERE seq <= $1", &[cut.into()])?;
    mark(tx, inner, "base", cut, &hash)?;
    tx.run("DELETE FROM journal WHERE seq <= $1", &[cut.into()])?;
    keyring::forget(tx, inner, cut)?;
    spans::forget(tx, cut)?;
    let since = limits.since;
    tx.run("DELETE FROM shortened WHERE time < $1", &[since.into()])?;
    Ok(removed)
}
