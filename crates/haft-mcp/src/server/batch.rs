//! Several messages in one, as the revision of 2025-03-26 has them, and no other.

use std::sync::Arc;

use futures_util::future::join_all;
use haft_core::BoxFuture;
use serde_json::value::RawValue;

use super::connection::{Accepted, Connection};
use super::outbox::Outbox;
use crate::wire::{Id, Incoming, Outgoing, Reply, Revision, RpcError, code};

/// Messages of one batch.
const MOST: usize = 1_000;

impl Connection {
    /// Take a batch in. Its requests are served side by side, and answered together in their order.
    pub(super) fn accept_batch(
        self: &Arc<Self>,
        batch: &[u8],
        outbox: &Arc<Outbox>,
    ) -> Result<Accepted, RpcError> {
        let revision = self.agreed().map(|agreed| agreed.revision);
        let messages: Vec<&RawValue> = serde_json::from_slice(batch)
            .map_err(|error| RpcError::new(code::PARSE, format!("not JSON: {error}")))?;
        if revision != Some(Revision::V2025_03_26) {
            let spoken = revision.map_or("nothing was agreed on", Revision::as_str);
            return Err(RpcError::invalid_request(format!(
                "batches are of revision 2025-03-26 alone ({spoken}): send one message at a time"
            )));
        }
        if messages.is_empty() || messages.len() > MOST {
            let text = format!("a batch has 1 to {MOST} messages");
            return Err(RpcError::invalid_request(text));
        }
        let parts = messages.into_iter();
        let answers: Vec<_> = parts.filter_map(|part| self.part(part, outbox)).collect();
        if answers.is_empty() {
            return Ok(Accepted::Done);
        }
        Ok(Accepted::Work("null".into(), Box::pin(together(answers))))
    }

    /// The answer to one message; none where it wants none.
    fn part(self: &Arc<Self>, message: &RawValue, outbox: &Arc<Outbox>) -> Option<Part> {
        let at_once = |id: Id, reply: Reply| -> Option<Part> {
            Some((id, Box::pin(std::future::ready(Some(reply)))))
        };
        match Incoming::parse(message.get().as_bytes()) {
            Err((id, error)) => at_once(id.unwrap_or_else(|| "null".into()), error.into()),
            Ok(message) => match self.accept(message.kind, outbox) {
                Accepted::Done => None,
                Accepted::Reply(id, reply) => at_once(id, reply),
                Accepted::Work(id, work) => Some((id, work)),
            },
        }
    }
}

type Part = (Id, BoxFuture<'static, Option<Reply>>);

/// All answers as one message; none where the client has given up all it asked for.
async fn together(parts: Vec<Part>) -> Option<Reply> {
    let (ids, work): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let mut out = Outgoing::default();
    let answered = ids.iter().zip(join_all(work).await);
    for (id, reply) in answered.filter_map(|(id, reply)| Some((id, reply?))) {
        out.push(if out.is_empty() { b"[" } else { b"," });
        reply.write(id, &mut out);
    }
    (!out.is_empty()).then(|| {
        out.push(b"]");
        Reply::Batch(out.into_vec())
    })
}
