//! Adding records. All of it happens inside the writer's transaction, so that two processes never
//! add after the same record.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use haft_core::{Ending, Intent};

use super::Inner;
use super::body::Body;
use super::chain::{Hash, Link, genesis};
use super::end::{End, compare};
use super::spans::{self, Span};
use super::told::{add_ending, name, state, told, tool_name};
use super::{economy, keys};
use crate::store::lock;
use crate::{Cell, StoreError, Tx};

/// Records between two signed marks.
const MARK_EVERY: i64 = 1_024;

/// Bytes that the body of a record seldom exceeds.
const USUAL: usize = 1_024;

/// Kinds of marks beside the usual ones: what came before is not proven; or it is, but it once went
/// on to another end.
pub(super) const ACCEPTED: &str = "accepted";
pub(super) const CONTINUED: &str = "continued";
/// Where a copy ends.
const COPIED: &str = "copy";

/// A record before it is put into words.
pub(super) struct Draft {
    intent: Intent,
    intended: Option<i64>,
    ending: Option<Ending>,
    time: i64,
}

impl Draft {
    pub(super) fn of(intent: Intent, intended: Option<i64>, ending: Option<Ending>) -> Self {
        Draft {
            intent,
            intended,
            ending,
            time: now(),
        }
    }
}

/// Microseconds since 1970, as the clock has it.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}

/// A record in words.
pub(super) struct Record<'a> {
    pub(super) time: i64,
    pub(super) kind: &'a str,
    pub(super) intent: Option<i64>,
    pub(super) call_id: &'a str,
    pub(super) session: &'a str,
    pub(super) tool: &'a str,
    pub(super) verdict: Option<&'a str>,
    pub(super) state: Option<&'a str>,
    pub(super) duration_us: Option<i64>,
    pub(super) body: &'a Body,
}

/// Add a call's record and give its number.
pub(super) fn row(tx: &mut dyn Tx, inner: &Arc<Inner>, draft: &Draft) -> Result<i64, StoreError> {
    let intent = &draft.intent;
    let kind = match (&draft.ending, draft.intended) {
        (None, _) => "intent",
        (Some(_), Some(_)) => "outcome",
        (Some(_), None) => "call",
    };
    let mut body = match draft.intended {
        None => told(inner, intent),
        Some(_) => Body::default(),
    };
    if let Some(ending) = &draft.ending {
        add_ending(inner, &mut body, ending);
        economy::shortened(tx, ending, draft.time)?;
    }
    if kind == "intent" {
        inner.fault.look_again();
        keys::check(tx, inner, intent)?;
    }
    let verdict = intent.ruling.as_ref().map(|ruling| ruling.verdict);
    let record = Record {
        time: draft.time,
        kind,
        intent: draft.intended,
        call_id: &intent.call_id,
        session: &name(inner, &intent.caller.session),
        tool: &tool_name(inner, &intent.tool),
        verdict,
        state: draft
            .ending
            .as_ref()
            .map(|ending| state(ending, draft.intended.is_some(), intent.dry_run)),
        duration_us: draft
            .ending
            .as_ref()
            .map(|ending| ending.duration.as_micros() as i64),
        body: &body,
    };
    let seq = add(tx, inner, &record)?;
    if kind == "intent" {
        keys::take(tx, inner, intent, seq)?;
    }
    Ok(seq)
}

/// The end of the journal while a transaction adds to it.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    pub(super) seq: i64,
    pub(super) hash: Hash,
    marked: i64,
}

/// What this process wrote last, and what it remembers of the span that this is in: nobody has to
/// read that again, unless another process wrote in between.
#[derive(Default)]
pub(super) struct Known(Mutex<Option<(Tail, Option<Span>)>>);

impl Known {
    /// The end of the journal, if it is what we wrote.
    fn tail(&self, seq: i64, hash: &Hash) -> Option<Tail> {
        let known = lock(&self.0);
        let tail = known.as_ref().map(|(tail, _)| tail);
        tail.filter(|tail| tail.seq == seq && tail.hash == *hash)
            .cloned()
    }

    /// What is remembered of the span with this end. It is forgotten here: the record to come may
    /// not stand.
    fn take_span(&self, end: &Tail) -> Option<Span> {
        let (tail, span) = lock(&self.0).take()?;
        (tail.seq == end.seq && tail.hash == end.hash)
            .then_some(span)
            .flatten()
    }

    fn keep(&self, tail: &Tail, span: Option<Span>) {
        *lock(&self.0) = Some((tail.clone(), span));
    }
}

/// Add a record after the last one.
pub(super) fn add(
    tx: &mut dyn Tx,
    inner: &Arc<Inner>,
    record: &Record<'_>,
) -> Result<i64, StoreError> {
    let tail = match tail_of(tx) {
        Some(tail) => tail,
        None => compared(tx, inner)?,
    };
    let tail = put(tx, inner, tail, record)?;
    tell_head(tx, inner, &tail, false);
    let seq = tail.seq;
    *tx.scratch() = Some(Box::new(tail));
    Ok(seq)
}

fn tail_of(tx: &mut dyn Tx) -> Option<Tail> {
    tx.scratch().as_ref()?.downcast_ref::<Tail>().cloned()
}

fn tell_head(tx: &mut dyn Tx, inner: &Arc<Inner>, tail: &Tail, go_back: bool) {
    let (inner, seq, hash) = (inner.clone(), tail.seq, tail.hash);
    if go_back {
        let work = move |durable| {
            // What could not be signed now is signed with the next commit.
            let _ = inner.head.go_back(seq, &hash, durable);
        };
        tx.after_commit("head anew", Box::new(work));
    } else {
        let work = move |durable| inner.head.reached(seq, &hash, durable);
        tx.after_commit("head", Box::new(work));
    }
}

fn put(
    tx: &mut dyn Tx,
    inner: &Inner,
    tail: Tail,
    record: &Record<'_>,
) -> Result<Tail, StoreError> {
    let mut body = Vec::with_capacity(USUAL);
    serde_json::to_writer(&mut body, record.body)
        .map_err(|error| StoreError::Failed(error.to_string()))?;
    let body = String::from_utf8(body).map_err(|error| StoreError::Failed(error.to_string()))?;
    let link = Link {
        seq: tail.seq + 1,
        time: record.time,
        kind: record.kind,
        intent: record.intent,
        call_id: record.call_id,
        session: record.session,
        tool: record.tool,
        verdict: record.verdict,
        state: record.state,
        duration_us: record.duration_us,
        body: &body,
    };
    let hash = link.after(&tail.hash);
    let span = match tail.seq {
        0 => Some(Span::new(link.seq)),
        _ => inner.known.take_span(&tail),
    };
    tx.run(
        "INSERT INTO journal (seq, time, kind, intent, call_id, session, tool, verdict, state, \
         duration_us, body, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        &[
            link.seq.into(),
            link.time.into(),
            link.kind.into(),
            link.intent.into(),
            link.call_id.into(),
            link.session.into(),
            link.tool.into(),
            link.verdict.into(),
            link.state.into(),
            link.duration_us.into(),
            link.body.into(),
            Cell::Blob(&hash),
        ],
    )?;
    let mut tail = Tail {
        seq: link.seq,
        hash,
        marked: tail.marked,
    };
    let mut span = span.and_then(|span| span.with(&link));
    if tail.seq - tail.marked >= MARK_EVERY {
        mark(tx, inner, "mark", tail.seq, &tail.hash)?;
        tail.marked = tail.seq;
        let end = spans::catch_up(tx, Some(&inner.key), tail.seq, span)?;
        span = (end == tail.seq).then(|| Span::new(end + 1));
    }
    inner.known.keep(&tail, span);
    Ok(tail)
}

/// What a mark's signature covers.
pub(super) fn signed_text(kind: &str, seq: i64, time: i64, hash: &[u8]) -> Vec<u8> {
    let mut text = format!("haft journal {kind} {seq} {time} ").into_bytes();
    text.extend_from_slice(hash);
    text
}

/// Sign that the record `seq` had this hash.
pub(super) fn mark(
    tx: &mut dyn Tx,
    inner: &Inner,
    kind: &str,
    seq: i64,
    hash: &Hash,
) -> Result<(), StoreError> {
    let time = now();
    let signature = inner.key.sign(&signed_text(kind, seq, time, hash));
    tx.run(
        "INSERT INTO journal_marks (seq, kind, time, hash, signature) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (kind, seq) DO UPDATE SET time = excluded.time, hash = excluded.hash, \
         signature = excluded.signature",
        &[
            seq.into(),
            kind.into(),
            time.into(),
            Cell::Blob(hash),
            Cell::Blob(&signature),
        ],
    )?;
    Ok(())
}

/// Sign where a copy ends.
pub(super) fn sign_copy(tx: &mut dyn Tx, inner: &Inner) -> Result<(), StoreError> {
    let tail = stored_tail(tx)?;
    mark(tx, inner, COPIED, tail.seq, &tail.hash)
}

/// The last record, as the database has it.
fn last(tx: &mut dyn Tx) -> Result<Option<(i64, Hash)>, StoreError> {
    let mut tail = None;
    tx.each(
        "SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1",
        &[],
        &mut |row| {
            let hash = row.cell(1)?.blob().and_then(|bytes| bytes.try_into().ok());
            tail = row.cell(0)?.int().zip(hash);
            Ok(false)
        },
    )?;
    Ok(tail)
}

/// The end of the journal, as the database has it.
pub(super) fn stored_tail(tx: &mut dyn Tx) -> Result<Tail, StoreError> {
    let last = last(tx)?;
    // Of one kind alone, which is one look at their index.
    let marked = "SELECT max(seq) FROM journal_marks WHERE kind = 'mark'";
    let marked = tx.first_int(marked, &[])?.unwrap_or(0);
    let (seq, hash) = match last {
        Some(last) => last,
        None => base(tx)?.unwrap_or((0, genesis())),
    };
    Ok(Tail { seq, hash, marked })
}

/// Where the journal begins, after older records were removed.
pub(super) fn base(tx: &mut dyn Tx) -> Result<Option<(i64, Hash)>, StoreError> {
    let mut found = None;
    tx.each(
        "SELECT seq, hash FROM journal_marks WHERE kind = 'base' ORDER BY seq DESC LIMIT 1",
        &[],
        &mut |row| {
            let hash = row.cell(1)?.blob().and_then(|bytes| bytes.try_into().ok());
            found = row.cell(0)?.int().zip(hash);
            Ok(false)
        },
    )?;
    Ok(found)
}

/// The end of the journal, compared with the signed one when this process first adds to it.
fn compared(tx: &mut dyn Tx, inner: &Arc<Inner>) -> Result<Tail, StoreError> {
    if inner.checked.load(Ordering::Relaxed) {
        let known = last(tx)?.and_then(|(seq, hash)| inner.known.tail(seq, &hash));
        return known.map_or_else(|| stored_tail(tx), Ok);
    }
    let tail = stored_tail(tx)?;
    let tail = match compare(tx, tail.seq, inner.head.read()?.as_ref())? {
        End::Unsigned => {
            // Before the first record: from then on a head that is missing was taken away.
            inner.head.go_back(0, &tail.hash, true)?;
            tail
        }
        End::Signed => tail,
        End::Lost(count) => {
            let body = Body {
                lost: Some(count),
                reason: Some("power was lost before they were on the disk".to_owned()),
                ..Body::default()
            };
            let tail = put(tx, inner, tail, &by_ourselves("gap", &body))?;
            tell_head(tx, inner, &tail, true);
            tail
        }
    };
    inner.checked.store(true, Ordering::Relaxed);
    Ok(tail)
}

/// The hash of a record, if it is there.
pub(super) fn hash_at(tx: &mut dyn Tx, seq: i64) -> Result<Option<Hash>, StoreError> {
    let mut found = None;
    tx.each(
        "SELECT hash FROM journal WHERE seq = $1",
        &[seq.into()],
        &mut |row| {
            found = row.cell(0)?.blob().and_then(|bytes| bytes.try_into().ok());
            Ok(false)
        },
    )?;
    Ok(found)
}

pub(super) fn by_ourselves<'a>(kind: &'a str, body: &'a Body) -> Record<'a> {
    Record {
        time: now(),
        kind,
        intent: None,
        call_id: "",
        session: "",
        tool: "",
        verdict: None,
        state: None,
        duration_us: None,
        body,
    }
}

/// Go on from the last record there is, whatever was signed before. Where all that is there proves
/// itself and only the end is another, it goes on doing so.
pub(super) fn accept(
    tx: &mut dyn Tx,
    inner: &Arc<Inner>,
    body: &Body,
    whole: bool,
) -> Result<i64, StoreError> {
    let tail = stored_tail(tx)?;
    spans::cut_off(tx, tail.seq)?;
    if !whole {
        // Marks prove nothing before this any more, and one that was forged would spoil what follows.
        tx.run("DELETE FROM journal_marks", &[])?;
    }
    let tail = put(tx, inner, tail, &by_ourselves("accepted", body))?;
    let kind = if whole { CONTINUED } else { ACCEPTED };
    mark(tx, inner, kind, tail.seq, &tail.hash)?;
    tell_head(tx, inner, &tail, true);
    inner.checked.store(true, Ordering::Relaxed);
    let seq = tail.seq;
    *tx.scratch() = Some(Box::new(tail));
    Ok(seq)
}
