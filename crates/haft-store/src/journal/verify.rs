//! Proof of the whole journal: every record, every mark, and the end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Journal;
use super::append::{base, signed_text};
use super::chain::{COLUMNS, Hash, Link, genesis};
use super::head::Head;
use super::key::Key;
use crate::{StoreError, Tx, backup};

/// What holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    pub records: u64,
    pub first: i64,
    pub last: i64,
    pub marks: u64,
    /// What a reader should know although nothing is wrong
    pub notices: Vec<String>,
}

/// The first record that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    pub seq: i64,
    pub what: String,
}

impl Fault {
    fn new(seq: i64, what: impl Into<String>) -> Self {
        Fault {
            seq,
            what: what.into(),
        }
    }
}

struct Mark {
    kind: String,
    time: i64,
    hash: Vec<u8>,
    signature: Vec<u8>,
}

impl Journal {
    /// Copy the store to a new file, and prove the copy before it is called good. Gives its size.
    pub fn backup(&self, to: &Path) -> Result<u64, StoreError> {
        self.inner.store.ready()?;
        backup::backup(self.inner.store.path(), to, &|tx| {
            proven(tx, &self.inner.key)
        })
    }

    /// Put a copy back in the place of the store of this home, once it has proven itself. What was
    /// there is kept, under the name that is answered with. Nobody may have the store open.
    pub fn restore(home: &Path, from: &Path) -> Result<Option<PathBuf>, StoreError> {
        let key = Key::load(home, true)?;
        backup::restore(from, &Journal::file(home), &|tx| proven(tx, &key))
    }

    /// Look at every record. An error only where there is nothing to be read at all.
    pub fn verify(&self) -> Result<Result<Verified, Fault>, StoreError> {
        // The head first: what is added meanwhile is beyond it.
        let head = self.inner.head.read();
        self.inner.store.read(|tx| {
            let head = match head {
                Ok(head) => head,
                Err(StoreError::Damaged(what)) => return Ok(Err(Fault::new(0, what))),
                Err(error) => return Err(error),
            };
            match walk(tx, &self.inner.key, End::Signed(head)) {
                Err(StoreError::Damaged(what)) => Ok(Err(Fault::new(0, what))),
                result => result,
            }
        })
    }
}

/// What is known of the end.
enum End {
    Signed(Option<Head>),
    /// A copy ends where it was taken
    Open,
}

fn proven(tx: &mut dyn Tx, key: &Key) -> Result<(), StoreError> {
    match walk(tx, key, End::Open)? {
        Ok(_) => Ok(()),
        Err(fault) => Err(StoreError::Damaged(format!(
            "record {} of the journal: {}",
            fault.seq, fault.what
        ))),
    }
}

fn walk(tx: &mut dyn Tx, key: &Key, end: End) -> Result<Result<Verified, Fault>, StoreError> {
    let marks = marks(tx)?;
    if let Some(fault) = wrong_signature(key, &marks) {
        return Ok(Err(fault));
    }
    let mut verified = Verified {
        marks: marks.values().map(Vec::len).sum::<usize>() as u64,
        ..Verified::default()
    };
    let (mut last, mut hash) = base(tx)?.unwrap_or((0, genesis()));
    let start = last;
    if start > 0 {
        let notice = format!("records up to {start} were removed by `haft gc`, and that is signed");
        verified.notices.push(notice);
    }
    let accepted = accepted(&marks).filter(|seq| *seq > start);
    if let Some(accepted) = accepted {
        let notice = format!(
            "records before {accepted} were accepted by the owner as they were, and are not proven"
        );
        verified.notices.push(notice);
    }
    let head = match &end {
        End::Signed(head) => head.as_ref(),
        End::Open => None,
    };
    let mut fault = None;
    let sql = format!("SELECT {COLUMNS} FROM journal ORDER BY seq");
    tx.each(&sql, &[], &mut |row| {
        let unproven = accepted.is_some_and(|accepted| last + 1 < accepted);
        let (link, stored) = match Link::of(row) {
            Ok(read) => read,
            Err(StoreError::Damaged(what)) => {
                fault = Some(Fault::new(last + 1, what));
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let found = if accepted == Some(link.seq) {
            signed_hash(&marks, link.seq, &stored)
        } else if unproven {
            None
        } else {
            judged(&link, &stored, last, &hash, &marks, head)
        };
        fault = found;
        if verified.records == 0 {
            verified.first = link.seq;
        }
        (last, hash) = (link.seq, stored);
        verified.records += 1;
        verified.last = link.seq;
        Ok(fault.is_none())
    })?;
    Ok(
        match fault.or_else(|| ending(&mut verified, last, start, &marks, &end)) {
            Some(fault) => Err(fault),
            None => Ok(verified),
        },
    )
}

/// What is wrong with a record, seen from the one before.
fn judged(
    link: &Link<'_>,
    stored: &Hash,
    last: i64,
    hash: &Hash,
    marks: &BTreeMap<i64, Vec<Mark>>,
    head: Option<&Head>,
) -> Option<Fault> {
    if link.seq != last + 1 {
        return Some(Fault::new(last + 1, "this record is missing"));
    }
    if link.after(hash) != *stored {
        return Some(Fault::new(
            link.seq,
            "this record is not the one that was written",
        ));
    }
    if head.is_some_and(|head| head.seq == link.seq && head.hash != *stored) {
        return Some(Fault::new(
            link.seq,
            "the signed end of the journal names another record",
        ));
    }
    signed_hash(marks, link.seq, stored)
}

fn signed_hash(marks: &BTreeMap<i64, Vec<Mark>>, seq: i64, stored: &Hash) -> Option<Fault> {
    let marks = marks.get(&seq)?;
    (!marks.iter().all(|mark| mark.hash == stored))
        .then(|| Fault::new(seq, "a signed mark names another record"))
}

/// What is missing at the end.
fn ending(
    verified: &mut Verified,
    last: i64,
    start: i64,
    marks: &BTreeMap<i64, Vec<Mark>>,
    end: &End,
) -> Option<Fault> {
    if marks.keys().any(|seq| *seq > last) {
        return Some(Fault::new(
            last + 1,
            "records were cut off: a later one is signed",
        ));
    }
    let End::Signed(head) = end else {
        return None;
    };
    let Some(head) = head else {
        return (last > start || start > 0)
            .then(|| Fault::new(last, "the signed end of the journal is gone"));
    };
    if head.seq <= last {
        return None;
    }
    if head.is_of_another_boot() && last >= head.durable_seq {
        let lost = head.seq - last;
        verified.notices.push(format!(
            "the last {lost} records, of calls without effects, were lost with the machine's power"
        ));
        return None;
    }
    let what = format!("records were cut off: number {} is signed", head.seq);
    Some(Fault::new(last + 1, what))
}

fn marks(tx: &mut dyn Tx) -> Result<BTreeMap<i64, Vec<Mark>>, StoreError> {
    let mut marks: BTreeMap<i64, Vec<Mark>> = BTreeMap::new();
    tx.each(
        "SELECT seq, kind, time, hash, signature FROM journal_marks",
        &[],
        &mut |row| {
            let mark = Mark {
                kind: row.cell(1)?.text().unwrap_or_default().to_owned(),
                time: row.cell(2)?.int().unwrap_or_default(),
                hash: row.cell(3)?.blob().unwrap_or_default().to_owned(),
                signature: row.cell(4)?.blob().unwrap_or_default().to_owned(),
            };
            let seq = row.cell(0)?.int().unwrap_or_default();
            marks.entry(seq).or_default().push(mark);
            Ok(true)
        },
    )?;
    Ok(marks)
}

fn wrong_signature(key: &Key, marks: &BTreeMap<i64, Vec<Mark>>) -> Option<Fault> {
    marks.iter().find_map(|(seq, marks)| {
        let good = |mark: &Mark| {
            let text = signed_text(&mark.kind, *seq, mark.time, &mark.hash);
            key.signed(&text, &mark.signature)
        };
        (!marks.iter().all(good)).then(|| Fault::new(*seq, "a mark's signature is not valid"))
    })
}

fn accepted(marks: &BTreeMap<i64, Vec<Mark>>) -> Option<i64> {
    marks
        .iter()
        .rev()
        .find(|(_, marks)| marks.iter().any(|mark| mark.kind == "accepted"))
        .map(|(seq, _)| *seq)
}
