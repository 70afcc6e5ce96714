//! Proof of the whole journal: every record, every mark, and the end.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Journal;
use super::append;
use super::append::{ACCEPTED, CONTINUED, base, hash_at, signed_text};
use super::body::Body;
use super::chain::{COLUMNS, Hash, Link, genesis};
use super::head::Head;
use super::key::Key;
use crate::{Durability, StoreError, Tx};

/// So few records are looked at by one alone.
const ALONE: i64 = 5_000;

/// What holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Those that are proven
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
    /// Go on from what is there, although it is not what was signed. Says where it goes on from, and
    /// whether what is there proves itself but for its end. A journal with nothing wrong in it stays
    /// proven: there is nothing to accept.
    pub fn accept(&self, reason: &str) -> Result<(i64, bool), StoreError> {
        self.store.ready()?;
        if self.verify()?.is_ok() {
            return Err(StoreError::Whole);
        }
        let key = &self.inner.key;
        let whole = self.store.read(|tx| proven(tx, Some(key))).is_ok();
        Ok((self.go_on(reason, whole)?, whole))
    }

    pub(super) fn go_on(&self, reason: &str, whole: bool) -> Result<i64, StoreError> {
        let inner = self.inner.clone();
        let body = Body {
            reason: Some(reason.to_owned()),
            process: Some(inner.process.clone()),
            ..Body::default()
        };
        let accepted = self.store.write(Durability::Power, move |tx| {
            append::accept(tx, &inner, &body, whole)
        });
        let seq = accepted.wait()?;
        self.inner.fault.clear()?;
        Ok(seq)
    }

    /// Look at every record. An error only where there is nothing to be read at all. What is found
    /// is remembered; where all is well again, what was remembered is let go.
    pub fn verify(&self) -> Result<Result<Verified, Fault>, StoreError> {
        let unsigned = matches!(self.inner.head.read(), Ok(None));
        let found = match self.prove()? {
            // The first records may have come in between, and their signed end before them.
            Err(_) if unsigned => self.prove()?,
            found => found,
        };
        match &found {
            Ok(_) => self.inner.fault.clear()?,
            Err(Fault { seq, what }) => self.inner.fault.raise(&format!("record {seq}: {what}")),
        }
        Ok(found)
    }

    fn prove(&self) -> Result<Result<Verified, Fault>, StoreError> {
        // The head first: what is added meanwhile is beyond it.
        let head = match self.inner.head.read() {
            Ok(head) => head,
            Err(StoreError::Damaged(what)) => return Ok(Err(Fault::new(0, what))),
            Err(error) => return Err(error),
        };
        let store = &self.store;
        let result = store.read(|tx| {
            let proof = match Proof::begin(tx, Some(&self.inner.key), End::Signed(head))? {
                Ok(proof) => proof,
                Err(fault) => return Ok(Err(fault)),
            };
            let newest = tx.first_int("SELECT max(seq) FROM journal", &[])?;
            let middle = proof.start.seq + (newest.unwrap_or(0) - proof.start.seq) / 2;
            if middle - proof.start.seq < ALONE {
                let walked = proof.walk(tx, proof.start, None)?;
                return Ok(walked.and_then(|walked| proof.end(walked)));
            }
            // Each record is compared with the stored hash of the one before, so that two can look
            // at once; where the second begins, the first one ends.
            let (first, second) = std::thread::scope(|scope| {
                let second = scope.spawn(|| store.read(|tx| proof.second_half(tx, middle)));
                let first = proof.walk(tx, proof.start, Some(middle));
                (first, second.join().ok())
            });
            let first = match first? {
                Ok(walked) => walked,
                Err(fault) => return Ok(Err(fault)),
            };
            let rest = match second {
                Some(Ok(Some((begun, rest)))) if begun == first.at => rest,
                _ => proof.walk(tx, first.at, None)?,
            };
            Ok(rest.and_then(|rest| proof.end(first.and(rest))))
        });
        match result {
            Err(StoreError::Damaged(what)) => Ok(Err(Fault::new(0, what))),
            result => result,
        }
    }
}

/// What is known of the end.
enum End {
    Signed(Option<Head>),
    /// A copy ends where it was taken, with a mark
    Marked,
    /// Nobody can tell
    Open,
}

/// Without a key the signatures are not looked at: the chain holds together, and no more is known.
pub(super) fn proven(tx: &mut dyn Tx, key: Option<&Key>) -> Result<(), StoreError> {
    let end = match key {
        Some(_) => End::Marked,
        None => End::Open,
    };
    let proved = match Proof::begin(tx, key, end)? {
        Ok(proof) => {
            let walked = proof.walk(tx, proof.start, None)?;
            walked.and_then(|walked| proof.end(walked))
        }
        Err(fault) => Err(fault),
    };
    proved.map(drop).map_err(|fault| {
        let what = format!("record {} of the journal: {}", fault.seq, fault.what);
        StoreError::Damaged(what)
    })
}

/// A place in the chain: a record, and its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct At {
    seq: i64,
    hash: Hash,
}

/// What was walked: how many records, and where that ended.
#[derive(Debug, Clone, Copy)]
struct Walked {
    records: u64,
    first: Option<i64>,
    at: At,
}

type Walk = Result<Walked, Fault>;

impl Walked {
    fn and(self, rest: Walked) -> Walked {
        Walked {
            records: self.records + rest.records,
            first: self.first.or(rest.first),
            at: rest.at,
        }
    }
}

/// What is known before the records are looked at.
struct Proof {
    marks: BTreeMap<i64, Vec<Mark>>,
    start: At,
    /// Records before this one are not proven, and the owner knows
    accepted: Option<i64>,
    end: End,
}

impl Proof {
    fn begin(
        tx: &mut dyn Tx,
        key: Option<&Key>,
        end: End,
    ) -> Result<Result<Proof, Fault>, StoreError> {
        let marks = marks(tx)?;
        if let Some(fault) = key.and_then(|key| wrong_signature(key, &marks)) {
            return Ok(Err(fault));
        }
        let start = start(tx)?;
        let accepted = accepted(&marks).filter(|seq| *seq > start.seq);
        Ok(Ok(Proof {
            marks,
            start,
            accepted,
            end,
        }))
    }

    /// The records after the middle, with where that begins. None where that cannot be told: the
    /// one before is not there, or some were removed since the first half was begun.
    fn second_half(&self, tx: &mut dyn Tx, middle: i64) -> Result<Option<(At, Walk)>, StoreError> {
        let Some(hash) = hash_at(tx, middle)? else {
            return Ok(None);
        };
        if start(tx)? != self.start {
            return Ok(None);
        }
        let begin = At { seq: middle, hash };
        Ok(Some((begin, self.walk(tx, begin, None)?)))
    }

    /// Look at the records after one, up to another.
    fn walk(&self, tx: &mut dyn Tx, from: At, to: Option<i64>) -> Result<Walk, StoreError> {
        let head = match &self.end {
            End::Signed(head) => head.as_ref(),
            End::Marked | End::Open => None,
        };
        let mut walked = Walked {
            records: 0,
            first: None,
            at: from,
        };
        let mut fault = None;
        let mut bytes = Vec::new();
        let sql =
            format!("SELECT {COLUMNS} FROM journal WHERE seq >= $1 AND seq <= $2 ORDER BY seq");
        // Nothing may stand before the beginning.
        let after = match from == self.start {
            true => i64::MIN,
            false => from.seq + 1,
        };
        let range = [after.into(), to.unwrap_or(i64::MAX).into()];
        tx.each(&sql, &range, &mut |row| {
            let At { seq: last, hash } = walked.at;
            let unproven = self.accepted.is_some_and(|accepted| last + 1 < accepted);
            let (link, stored) = match Link::of(row) {
                Ok(read) => read,
                Err(StoreError::Damaged(_)) if unproven => {
                    walked.at.seq = row.cell(0)?.int().unwrap_or(last + 1);
                    return Ok(true);
                }
                Err(StoreError::Damaged(what)) => {
                    fault = Some(Fault::new(last + 1, what));
                    return Ok(false);
                }
                Err(error) => return Err(error),
            };
            fault = if self.accepted == Some(link.seq) {
                signed_hash(&self.marks, link.seq, &stored)
            } else if unproven {
                another_end(&link, &stored, head)
            } else {
                let expected = link.after_in(&hash, &mut bytes);
                judged(&link, &stored, last, expected, &self.marks, head)
            };
            walked.first = walked.first.or(Some(link.seq));
            walked.at = At {
                seq: link.seq,
                hash: stored,
            };
            walked.records += u64::from(!unproven);
            Ok(fault.is_none())
        })?;
        Ok(fault.map_or(Ok(walked), Err))
    }

    /// All of it was walked: whether the end is where it should be.
    fn end(&self, walked: Walked) -> Result<Verified, Fault> {
        let start = self.start.seq;
        let mut verified = Verified {
            records: walked.records,
            first: walked.first.unwrap_or(0),
            last: walked.first.map_or(0, |_| walked.at.seq),
            marks: self.marks.values().map(Vec::len).sum::<usize>() as u64,
            notices: Vec::new(),
        };
        if start > 0 {
            let notice =
                format!("records up to {start} were removed by `haft gc`, and that is signed");
            verified.notices.push(notice);
        }
        if let Some(accepted) = self.accepted {
            let notice = format!(
                "records before {accepted} were accepted by the owner as they were, and are not proven"
            );
            verified.notices.push(notice);
        }
        for (seq, _) in self.marks.iter().filter(|(_, marks)| {
            let mut marks = marks.iter();
            marks.any(|mark| mark.kind == CONTINUED)
        }) {
            let notice = format!(
                "records that came after {} are missing, accepted by the owner; all that are there are proven",
                seq - 1
            );
            verified.notices.push(notice);
        }
        match ending(&mut verified, walked.at.seq, start, &self.marks, &self.end) {
            Some(fault) => Err(fault),
            None => Ok(verified),
        }
    }
}

/// Where the chain begins.
fn start(tx: &mut dyn Tx) -> Result<At, StoreError> {
    let (seq, hash) = base(tx)?.unwrap_or((0, genesis()));
    Ok(At { seq, hash })
}

/// What is wrong with a record, seen from the one before.
fn judged(
    link: &Link<'_>,
    stored: &Hash,
    last: i64,
    expected: Hash,
    marks: &BTreeMap<i64, Vec<Mark>>,
    head: Option<&Head>,
) -> Option<Fault> {
    if link.seq != last + 1 {
        return Some(Fault::new(last + 1, "this record is missing"));
    }
    if expected != *stored {
        return Some(Fault::new(
            link.seq,
            "this record is not the one that was written",
        ));
    }
    another_end(link, stored, head).or_else(|| signed_hash(marks, link.seq, stored))
}

fn another_end(link: &Link<'_>, stored: &Hash, head: Option<&Head>) -> Option<Fault> {
    head.is_some_and(|head| head.seq == link.seq && head.hash != *stored)
        .then(|| {
            Fault::new(
                link.seq,
                "the signed end of the journal names another record",
            )
        })
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
    let head = match end {
        End::Signed(head) => head,
        // Hashes alone can be made up: what comes after the last mark is anybody's.
        End::Marked => {
            let signed = last == start || marks.contains_key(&last);
            return (!signed).then(|| Fault::new(last, "nobody has signed that this is the end"));
        }
        End::Open => return None,
    };
    let Some(head) = head else {
        return (last > start || start > 0)
            .then(|| Fault::new(last, "the signed end of the journal is gone"));
    };
    if head.alone {
        verified.notices.push(format!(
            "of the two signed ends of the journal one was lost with the machine's power: whether records came after {last} is not known"
        ));
    }
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
        .find(|(_, marks)| marks.iter().any(|mark| mark.kind == ACCEPTED))
        .map(|(seq, _)| *seq)
}
