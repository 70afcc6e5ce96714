//! What proves the list of keys: a sum over all its rows, under a seal. A list that was changed is made
//! again from the journal, which holds every key that was used.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Deserialize;

use super::Inner;
use crate::{Cell, StoreError, Tx, Values};

const KIND: &str = "keys";
const NAME: &str = "sum";

/// The rows' digests together, in whatever order.
type Sum = u128;

fn digest(inner: &Inner, session: &str, key: &str, seq: i64) -> Sum {
    let (long, longer) = (session.len(), key.len());
    let text = format!("key {long} {session} {longer} {key} {seq}");
    Sum::from_str_radix(&inner.key.digest(text), 16).unwrap_or_default()
}

fn sealed(inner: &Inner, sum: Sum) -> String {
    let seal = inner.key.digest(format!("sum of keys {sum:032x}"));
    format!("{sum:032x} {seal}")
}

/// The sum that was kept, if it is one of ours.
fn kept(tx: &mut dyn Tx, inner: &Inner) -> Result<Option<Sum>, StoreError> {
    let kept = Values::at(tx, KIND, NAME)?;
    let kept = kept.and_then(|bytes| String::from_utf8(bytes).ok());
    let sum = kept.as_deref().and_then(|text| text.split_once(' '));
    let sum = sum.and_then(|(sum, _)| Sum::from_str_radix(sum, 16).ok());
    Ok(sum.filter(|sum| kept == Some(sealed(inner, *sum))))
}

fn keep(tx: &mut dyn Tx, inner: &Inner, sum: Sum) -> Result<(), StoreError> {
    let value = sealed(inner, sum);
    let values = [
        KIND.into(),
        NAME.into(),
        Cell::Blob(value.as_bytes()),
        super::now().into(),
    ];
    tx.run(
        "INSERT INTO kept (kind, name, value, time) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value, time = excluded.time",
        &values,
    )
    .map(drop)
}

/// The sum of the rows up to a record.
fn summed(tx: &mut dyn Tx, inner: &Inner, last: i64) -> Result<Sum, StoreError> {
    let mut sum = 0;
    tx.each(
        "SELECT session, key, seq FROM call_keys WHERE seq <= $1",
        &[last.into()],
        &mut |row| {
            let (session, key, seq) = (row.cell(0)?, row.cell(1)?, row.cell(2)?);
            let seq = seq.int().unwrap_or_default();
            let word = |cell: Cell<'_>| cell.text().unwrap_or_default().to_owned();
            sum ^= digest(inner, &word(session), &word(key), seq);
            Ok(true)
        },
    )?;
    Ok(sum)
}

/// See to it that the list is as it was written, once in a process.
pub(super) fn check(tx: &mut dyn Tx, inner: &Arc<Inner>) -> Result<(), StoreError> {
    if inner.keys_checked.load(Ordering::Relaxed) {
        return Ok(());
    }
    if kept(tx, inner)? == Some(summed(tx, inner, i64::MAX)?) {
        inner.keys_checked.store(true, Ordering::Relaxed);
        return Ok(());
    }
    make_again(tx, inner)
}

fn make_again(tx: &mut dyn Tx, inner: &Inner) -> Result<(), StoreError> {
    #[derive(Deserialize)]
    struct Keyed {
        key: Option<String>,
    }
    let mut used = Vec::new();
    let sql = "SELECT seq, session, body FROM journal WHERE kind = 'intent' \
               AND body LIKE '%\"key\":%' ORDER BY seq";
    tx.each(sql, &[], &mut |row| {
        let body = row.cell(2)?;
        let keyed = serde_json::from_str::<Keyed>(body.text().unwrap_or_default());
        let key = keyed.ok().and_then(|keyed| keyed.key);
        let session = row.cell(1)?.text().map(str::to_owned);
        let seq = row.cell(0)?.int();
        used.extend(session.zip(key).zip(seq));
        Ok(true)
    })?;
    tx.run("DELETE FROM call_keys", &[])?;
    for ((session, key), seq) in used {
        put(tx, &session, &key, seq)?;
    }
    let sum = summed(tx, inner, i64::MAX)?;
    keep(tx, inner, sum)
}

fn put(tx: &mut dyn Tx, session: &str, key: &str, seq: i64) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO call_keys (session, key, seq) VALUES ($1, $2, $3) \
         ON CONFLICT (session, key) DO UPDATE SET seq = excluded.seq",
        &[session.into(), key.into(), seq.into()],
    )
    .map(drop)
}

/// The record of the newest call of a session under a key.
pub(super) fn find(tx: &mut dyn Tx, session: &str, key: &str) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT seq FROM call_keys WHERE session = $1 AND key = $2";
    tx.first_int(sql, &[session.into(), key.into()])
}

/// From now on this record is the one under a key.
pub(super) fn take(
    tx: &mut dyn Tx,
    inner: &Inner,
    (session, key): (&str, &str),
    seq: i64,
) -> Result<(), StoreError> {
    let before = find(tx, session, key)?.map_or(0, |seq| digest(inner, session, key, seq));
    put(tx, session, key, seq)?;
    match kept(tx, inner)? {
        Some(sum) => keep(tx, inner, sum ^ before ^ digest(inner, session, key, seq)),
        None => Ok(()),
    }
}

/// Records up to this one are gone, and so are their keys.
pub(super) fn forget(tx: &mut dyn Tx, inner: &Inner, last: i64) -> Result<(), StoreError> {
    let gone = summed(tx, inner, last)?;
    tx.run("DELETE FROM call_keys WHERE seq <= $1", &[last.into()])?;
    match kept(tx, inner)? {
        Some(sum) => keep(tx, inner, sum ^ gone),
        None => Ok(()),
    }
}
