//! Calls of which nobody knows whether they happened: how it became known after all.

use std::sync::Arc;

use serde::Serialize;

use super::append::{Record, add, now};
use super::body::Body;
use super::list::{by_seq, by_seqs};
use super::spans::Ends;
use super::{Inner, Journal, Line};
use crate::store::Writing;
use crate::{Durability, StoreError, Tx};

/// What was found out about such a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    Happened,
    DidNotHappen,
}

impl Journal {
    /// Calls that were about to happen and of which no end is known, oldest first.
    pub fn open_calls(&self) -> Result<Vec<Line>, StoreError> {
        self.noticed(self.store.read(|tx| {
            let open = Ends::new(tx)?.open(tx)?;
            by_seqs(tx, &open)
        }))
    }

    /// Write down what became of a call, and who says so. A call that has an end already keeps it.
    pub fn settle(&self, call: &Line, settled: Settled, how: &str) -> Result<bool, StoreError> {
        self.settling(call.seq, settled, how).wait()
    }

    pub(super) fn settling(&self, seq: i64, settled: Settled, how: &str) -> Writing<bool> {
        let inner = self.inner.clone();
        let state = match settled {
            Settled::Happened => "ok",
            Settled::DidNotHappen => "failed",
        };
        let how = how.to_owned();
        self.store.write(Durability::Power, move |tx| {
            close(tx, &inner, seq, state, &how)
        })
    }
}

/// Give a call an end, if it has none.
pub(super) fn close(
    tx: &mut dyn Tx,
    inner: &Arc<Inner>,
    seq: i64,
    state: &str,
    how: &str,
) -> Result<bool, StoreError> {
    let open = Ends::new(tx)?.of(tx, seq)?.is_none();
    let Some(call) = by_seq(tx, seq)?.filter(|_| open) else {
        return Ok(false);
    };
    let body = Body {
        settled: Some(how.to_owned()),
        process: Some(inner.process.clone()),
        ..Body::default()
    };
    let record = Record {
        time: now(),
        kind: "outcome",
        intent: Some(seq),
        call_id: &call.call_id,
        session: &call.session,
        tool: &call.tool,
        verdict: None,
        state: Some(state),
        duration_us: None,
        body: &body,
    };
    add(tx, inner, &record).map(|_| true)
}
