//! Removing old records. What is left still proves itself: the place where it begins is signed.

use super::append::{hash_at, mark};
use super::{Inner, Journal};
use crate::{Durability, StoreError, Tx};

impl Journal {
    /// How many records are older than a time, up to the first that must stay: one that is newer,
    /// or a call of which no end is known.
    pub fn older_than(&self, time: i64) -> Result<i64, StoreError> {
        self.inner.store.read(|tx| {
            let Some(cut) = cut(tx, time)? else {
                return Ok(0);
            };
            let count = "SELECT count(*) FROM journal WHERE seq <= $1";
            Ok(tx.first_int(count, &[cut.into()])?.unwrap_or(0))
        })
    }

    /// Remove them.
    pub fn trim(&self, time: i64) -> Result<i64, StoreError> {
        let inner = self.inner.clone();
        let removed = self
            .inner
            .store
            .write(Durability::Power, move |tx| remove(tx, &inner, time));
        removed.wait()
    }
}

/// The last record that may go.
fn cut(tx: &mut dyn Tx, time: i64) -> Result<Option<i64>, StoreError> {
    let newer = tx.first_int(
        "SELECT min(seq) FROM journal WHERE time >= $1",
        &[time.into()],
    )?;
    let open = tx.first_int(
        "SELECT min(seq) FROM journal AS open WHERE kind = 'intent' AND NOT EXISTS \
         (SELECT 1 FROM journal AS done WHERE done.intent = open.seq)",
        &[],
    )?;
    let newest = tx.first_int("SELECT max(seq) FROM journal", &[])?;
    // The newest record stays, so that there is always one to go on from. An outcome goes with
    // its intent: the call is whole or gone.
    let mut cut = [newer, open, newest]
        .into_iter()
        .flatten()
        .min()
        .map(|first_to_stay| first_to_stay - 1)
        .unwrap_or(0);
    loop {
        let split = tx.first_int(
            "SELECT min(intent) FROM journal WHERE seq > $1 AND intent <= $1 AND intent IS NOT NULL",
            &[cut.into()],
        )?;
        match split {
            Some(intent) => cut = intent - 1,
            None => break,
        }
    }
    let first = tx.first_int("SELECT min(seq) FROM journal", &[])?;
    Ok(first.filter(|first| *first <= cut).map(|_| cut))
}

fn remove(tx: &mut dyn Tx, inner: &Inner, time: i64) -> Result<i64, StoreError> {
    let Some(cut) = cut(tx, time)? else {
        return Ok(0);
    };
    let Some(hash) = hash_at(tx, cut)? else {
        return Err(StoreError::Damaged(format!(
            "record {cut} of the journal is missing"
        )));
    };
    tx.run("DELETE FROM journal_marks WHERE seq <= $1", &[cut.into()])?;
    mark(tx, inner, "base", cut, &hash)?;
    let removed = tx.run("DELETE FROM journal WHERE seq <= $1", &[cut.into()])?;
    Ok(removed as i64)
}
