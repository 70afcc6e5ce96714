//! Results that were shortened, and whether they were read again in full. A way to shorten that
//! keeps being read again saves nothing.

use haft_core::Ending;
use serde::Serialize;

use super::Journal;
use super::append::now;
use crate::{StoreError, Tx};

/// The newest so many results of a subject are looked at, no older than this, in microseconds.
const NEWEST: i64 = 20;
const MONTH: i64 = 30 * 86_400 * 1_000_000;
/// With fewer nothing is said.
const FEWEST: u64 = 5;
/// Of a hundred so many read again are too many.
const TOO_MANY: u64 = 60;

/// How a kind of result fared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Economy {
    /// The tool, and its command where it has one
    pub subject: String,
    pub shortened: u64,
    pub read_again: u64,
    /// Its reducer is switched off
    pub off: bool,
}

/// Note that a result was shown in part.
pub(super) fn shortened(tx: &mut dyn Tx, ending: &Ending, time: i64) -> Result<(), StoreError> {
    let (Some(handle), Some(subject)) = (&ending.handle, &ending.subject) else {
        return Ok(());
    };
    tx.run(
        "INSERT INTO shortened (handle, subject, reduced, looked_up, time) \
         VALUES ($1, $2, $3, 0, $4) ON CONFLICT (handle) DO NOTHING",
        &[
            handle.as_str().into(),
            subject.as_str().into(),
            i64::from(ending.reduced).into(),
            time.into(),
        ],
    )?;
    Ok(())
}

impl Journal {
    /// Somebody reads the whole result behind this handle.
    pub fn looked_up(&self, handle: &str) {
        let handle = handle.to_owned();
        self.store.hand_over_rows(move |tx| {
            let sql = "UPDATE shortened SET looked_up = 1 WHERE handle = $1";
            tx.run(sql, &[handle.as_str().into()]).map(drop)
        });
    }

    /// Whether reduced results of this subject keep being read again.
    pub fn keeps_being_read(&self, subject: &str) -> Result<bool, StoreError> {
        self.store.read(|tx| too_often(tx, subject))
    }

    /// How results fared that were shown in part, by subject, those with most first.
    pub fn economy(&self, since: Option<i64>) -> Result<Vec<Economy>, StoreError> {
        self.store.read(|tx| {
            let mut found = Vec::new();
            tx.each(
                "SELECT subject, count(*), sum(looked_up) FROM shortened WHERE time >= $1 \
                 GROUP BY subject ORDER BY count(*) DESC, subject",
                &[since.unwrap_or(i64::MIN).into()],
                &mut |row| {
                    found.push(Economy {
                        subject: row.cell(0)?.text().unwrap_or_default().to_owned(),
                        shortened: row.cell(1)?.int().unwrap_or(0) as u64,
                        read_again: row.cell(2)?.int().unwrap_or(0) as u64,
                        off: false,
                    });
                    Ok(true)
                },
            )?;
            for one in &mut found {
                one.off = too_often(tx, &one.subject)?;
            }
            Ok(found)
        })
    }
}

fn too_often(tx: &mut dyn Tx, subject: &str) -> Result<bool, StoreError> {
    let (mut all, mut again) = (0, 0);
    tx.each(
        "SELECT looked_up FROM shortened WHERE subject = $1 AND reduced = 1 AND time >= $2 \
         ORDER BY time DESC LIMIT $3",
        &[subject.into(), (now() - MONTH).into(), NEWEST.into()],
        &mut |row| {
            all += 1;
            again += row.cell(0)?.int().unwrap_or(0) as u64;
            Ok(true)
        },
    )?;
    Ok(all >= FEWEST && again * 100 >= all * TOO_MANY)
}
