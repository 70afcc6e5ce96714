//! Calls of which nobody knows whether they happened: how it became known after all.

use serde::Serialize;

use super::append::{Record, add, now};
use super::body::Body;
use super::{Journal, Line};
use crate::{Durability, StoreError};

/// What was found out about such a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    Happened,
    DidNotHappen,
}

impl Journal {
    /// Write down what became of a call, and who says so. A call that has an end already keeps it.
    pub fn settle(&self, call: &Line, settled: Settled, how: &str) -> Result<bool, StoreError> {
        let inner = self.inner.clone();
        let (seq, call_id, session, tool) = (
            call.seq,
            call.call_id.clone(),
            call.session.clone(),
            call.tool.clone(),
        );
        let body = Body {
            settled: Some(how.to_owned()),
            process: Some(inner.process.clone()),
            ..Body::default()
        };
        let state = match settled {
            Settled::Happened => "ok",
            Settled::DidNotHappen => "failed",
        };
        let settled = self.inner.store.write(Durability::Power, move |tx| {
            let known = "SELECT count(*) FROM journal WHERE intent = $1";
            if tx.first_int(known, &[seq.into()])? != Some(0) {
                return Ok(false);
            }
            let record = Record {
                time: now(),
                kind: "outcome",
                intent: Some(seq),
                call_id: &call_id,
                session: &session,
                tool: &tool,
                verdict: None,
                state: Some(state),
                duration_us: None,
                body: &body,
            };
            add(tx, &inner, &record).map(|_| true)
        });
        settled.wait()
    }
}
