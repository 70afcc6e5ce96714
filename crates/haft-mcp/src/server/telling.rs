//! What a running call tells, as notifications for the client that made it: progress where the
//! client gave a token, log messages where it asked for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::{CallTag, EventKind, EventSink};
use haft_runtime::LiveText;
use serde_json::{Value, json};

use super::outbox::Outbox;
use crate::wire::notification;

/// Characters of one message.
const MESSAGE: usize = 2_000;

pub(super) struct Telling {
    inner: Arc<dyn EventSink>,
    outbox: Arc<Outbox>,
    token: Option<Value>,
    log: bool,
    told: AtomicU64,
    live: LiveText,
}

impl Telling {
    /// None where the client wants to hear nothing.
    pub(super) fn over(
        inner: &Arc<dyn EventSink>,
        outbox: &Arc<Outbox>,
        token: Option<Value>,
        log: bool,
    ) -> Option<Arc<dyn EventSink>> {
        if token.is_none() && !log {
            return None;
        }
        Some(Arc::new(Telling {
            inner: inner.clone(),
            outbox: outbox.clone(),
            token,
            log,
            told: AtomicU64::new(0),
            live: LiveText::default(),
        }))
    }

    fn tell(&self, text: &str) {
        let message: String = text.chars().take(MESSAGE).collect();
        if let Some(token) = &self.token {
            let count = self.told.fetch_add(1, Ordering::Relaxed) + 1;
            let params = json!({"progressToken": token, "progress": count, "message": message});
            self.outbox
                .tell(notification("notifications/progress", &params));
        }
        if self.log {
            let params = json!({"level": "info", "logger": "haft", "data": message});
            self.outbox
                .tell(notification("notifications/message", &params));
        }
    }
}

impl EventSink for Telling {
    fn emit(&self, call: &Arc<CallTag>, kind: EventKind) {
        if let Some(text) = self.live.shown(call, &kind) {
            self.tell(&text);
        }
        self.inner.emit(call, kind);
    }
}
