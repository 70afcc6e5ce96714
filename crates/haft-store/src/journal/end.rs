//! Whether the journal ends where it was signed. A log that was cut takes notes and rules with it as
//! well as records, so whoever shows or changes any of them looks here first.

use std::path::Path;

use super::Journal;
use super::append::{hash_at, stored_tail};
use super::fault::FaultFile;
use super::head::{Head, HeadFile};
use super::key::Key;
use crate::{Store, StoreError, Tx};

/// The version of the tables that has the journal.
const SINCE: i64 = 1;

/// How the stored end stands to the signed one, where nothing is wrong.
pub(super) enum End {
    /// Nothing was ever written
    Unsigned,
    Signed,
    /// Power was lost: so many records of calls without effects are gone, nothing else
    Lost(i64),
}

/// Compare the last record with the signed end.
pub(super) fn compare(tx: &mut dyn Tx, last: i64, head: Option<&Head>) -> Result<End, StoreError> {
    let damaged = |what: String| Err(StoreError::Damaged(what));
    let Some(head) = head else {
        return match last {
            0 => Ok(End::Unsigned),
            _ => damaged("the signed end of the journal is gone".to_owned()),
        };
    };
    if last >= head.seq {
        return match hash_at(tx, head.seq)? {
            Some(hash) if hash != head.hash => damaged(format!(
                "record {} of the journal is not the one that was signed",
                head.seq
            )),
            _ => Ok(End::Signed),
        };
    }
    if head.is_of_another_boot()
        && last >= head.durable_seq
        && hash_at(tx, head.durable_seq)?.is_none_or(|hash| hash == head.durable_hash)
    {
        return Ok(End::Lost(head.seq - last));
    }
    damaged(format!(
        "the journal ends at record {last}, but record {} was signed",
        head.seq
    ))
}

/// Compare the records with the head, which is read first: what it names was committed before.
fn look(
    signed: &HeadFile,
    records: impl Fn(Option<Head>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let head = signed.read()?;
    let unsigned = head.is_none();
    match records(head) {
        // The first ones may have come in between, and their head before them.
        Err(StoreError::Damaged(_)) if unsigned => records(signed.read()?),
        looked => looked,
    }
}

impl Journal {
    /// An error where damage is known of, or where the journal does not end as it was signed. For
    /// whoever changes the store past the pipeline, before that.
    pub fn check(&self) -> Result<(), StoreError> {
        self.inner.fault.check()?;
        self.noticed(look(&self.inner.head, |head| {
            self.store.read(|tx| {
                let last = stored_tail(tx)?.seq;
                compare(tx, last, head.as_ref()).map(drop)
            })
        }))
    }

    /// The same for a home that nobody here has opened, before something of it is shown. What cannot
    /// be looked at is told by whoever opens it.
    pub fn check_at(home: &Path) -> Result<(), StoreError> {
        let fault = FaultFile::new(home);
        fault.check()?;
        if !Journal::is_there(home) || !Key::is_there(home) {
            return Ok(());
        }
        let signed = HeadFile::new(home, &Key::load(home, true)?, None);
        let looked = look(&signed, |head| {
            let compared = Store::peek(&Journal::file(home), SINCE, |tx| {
                let last = stored_tail(tx)?.seq;
                compare(tx, last, head.as_ref()).map(drop)
            })?;
            let gone = compared.is_none() && head.is_some_and(|head| head.seq > 0);
            match gone {
                true => Err(StoreError::Damaged(
                    "records were signed, and the store is gone".to_owned(),
                )),
                false => Ok(()),
            }
        });
        if let Err(StoreError::Damaged(what)) = &looked {
            fault.raise(what);
        }
        looked
    }
}
