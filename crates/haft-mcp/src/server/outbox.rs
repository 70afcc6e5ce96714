//! What is waiting to be sent on one stream, whole messages in order. Tools tell of their progress
//! from wherever they are, so putting something in never waits; what may be lost is dropped when
//! the other end does not keep up.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Bytes that may wait before news that can be missed is dropped.
const NEWS_LIMIT: usize = 1024 * 1024;

#[derive(Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
    filled: Notify,
}

#[derive(Default)]
struct Waiting {
    messages: Vec<Vec<u8>>,
    bytes: usize,
}

impl Outbox {
    /// Send this.
    pub(crate) fn put(&self, message: Vec<u8>) {
        let mut waiting = self.lock();
        waiting.bytes += message.len();
        waiting.messages.push(message);
        drop(waiting);
        self.filled.notify_one();
    }

    /// Send this unless the same is waiting already.
    pub(crate) fn put_once(&self, message: Vec<u8>) {
        if !self.lock().messages.contains(&message) {
            self.put(message);
        }
    }

    /// Send this unless too much is waiting already.
    pub(crate) fn tell(&self, message: Vec<u8>) {
        if self.lock().bytes < NEWS_LIMIT {
            self.put(message);
        }
    }

    /// Everything that waits.
    pub(crate) fn take(&self) -> Vec<Vec<u8>> {
        let mut waiting = self.lock();
        waiting.bytes = 0;
        std::mem::take(&mut waiting.messages)
    }

    /// Resolves when something has been put in.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_dropped_when_nobody_reads_and_answers_are_not() {
        let outbox = Outbox::default();
        for _ in 0..10 {
            outbox.tell(vec![b'x'; NEWS_LIMIT / 4]);
        }
        outbox.put(b"answer".to_vec());
        let sent = outbox.take();
        assert_eq!(sent.len(), 5);
        assert_eq!(sent[4], b"answer");
        outbox.put_once(b"again".to_vec());
        outbox.put_once(b"again".to_vec());
        assert_eq!(outbox.take().len(), 1);
    }
}
