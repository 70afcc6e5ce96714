//! What a running call tells, as notifications for the client that made it: progress where the
//! client gave a token, log messages where it asked for them. A call that says nothing for a while
//! gets a sign of life, because clients give up on one that is quiet.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::{CallTag, EventKind, EventSink, Measure};
use haft_runtime::LiveText;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::outbox::Outbox;
use crate::wire::notification;

/// Characters of one message.
const MESSAGE: usize = 2_000;

/// Longest silence towards a client that wants to hear of progress.
const BEAT: Duration = Duration::from_secs(5);

/// What lies between two notices that count nothing, where others do: each has to be further than
/// the one before.
const HARDLY: f64 = 0.001;

pub(super) struct Telling {
    inner: Arc<dyn EventSink>,
    outbox: Arc<Outbox>,
    token: Option<Value>,
    log: bool,
    told: Mutex<Told>,
    live: LiveText,
}

/// What was told of progress.
#[derive(Default)]
struct Told {
    count: u64,
    last: Option<f64>,
    /// The call counts for itself
    measured: bool,
}

impl Told {
    /// How far the next notice is.
    fn next(&mut self, measure: Option<Measure>) -> f64 {
        self.measured |= measure.is_some();
        let step = if self.measured { HARDLY } else { 1.0 };
        let least = self.last.map_or(step.min(1.0), |last| last + step);
        let said = measure.map(|measure| measure.progress);
        let further = said.filter(|said| self.last.is_none_or(|last| *said > last));
        let progress = further.unwrap_or(least);
        self.last = Some(progress);
        self.count += 1;
        progress
    }
}

impl Telling {
    /// None where the client wants to hear nothing.
    pub(super) fn over(
        inner: &Arc<dyn EventSink>,
        outbox: &Arc<Outbox>,
        token: Option<Value>,
        log: bool,
    ) -> Option<Arc<Telling>> {
        if token.is_none() && !log {
            return None;
        }
        Some(Arc::new(Telling {
            inner: inner.clone(),
            outbox: outbox.clone(),
            token,
            log,
            told: Mutex::default(),
            live: LiveText::default(),
        }))
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Do the work, and tell every now and then that it goes on.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if self.token.is_none() {
            return work.await;
        }
        let begun = Instant::now();
        let mut count = 0;
        loop {
            if let Ok(done) = timeout(BEAT, &mut work).await {
                return done;
            }
            let told = self.told().count;
            if told == count {
                let text = format!("still at work after {} s", begun.elapsed().as_secs());
                self.further(&text, None);
            }
            count = self.told().count;
        }
    }

    fn tell(&self, text: &str, measure: Option<Measure>) {
        let message: String = text.chars().take(MESSAGE).collect();
        self.further(&message, measure);
        if self.log {
            let params = json!({"level": "info", "logger": "haft", "data": message});
            self.outbox
                .tell(notification("notifications/message", &params));
        }
    }
}

impl Telling {
    fn further(&self, message: &str, measure: Option<Measure>) {
        let Some(token) = &self.token else {
            return;
        };
        // Held until it is on its way, so that the order is that of the numbers.
        let mut told = self.told();
        let progress = number(told.next(measure));
        let mut params = json!({"progressToken": token, "progress": progress, "message": message});
        if let Some(total) = measure.and_then(|measure| measure.total) {
            params["total"] = number(total);
        }
        self.outbox
            .tell(notification("notifications/progress", &params));
    }
}

/// Whole numbers are written as such.
fn number(value: f64) -> Value {
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => json!(value as i64),
        false => json!(value),
    }
}

impl EventSink for Telling {
    fn emit(&self, call: &Arc<CallTag>, kind: EventKind) {
        if let Some(text) = self.live.shown(call, &kind) {
            let measure = match kind {
                EventKind::Progress { measure, .. } => measure,
                _ => None,
            };
            self.tell(&text, measure);
        }
        self.inner.emit(call, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notice_is_further_than_the_one_before() {
        let measured = |progress: f64| {
            Some(Measure {
                progress,
                total: None,
            })
        };
        let check = |said: &[Option<Measure>], expected: &[f64]| {
            let mut told = Told::default();
            let all: Vec<f64> = said.iter().map(|one| told.next(*one)).collect();
            assert_eq!(all, expected);
        };
        check(&[None, None, None], &[1.0, 2.0, 3.0]);
        check(&[measured(0.0), measured(10.0)], &[0.0, 10.0]);
        check(
            &[measured(10.0), None, measured(10.0), measured(11.0)],
            &[10.0, 10.001, 10.001 + HARDLY, 11.0],
        );
        check(&[None, measured(0.5), measured(2.0)], &[1.0, 1.001, 2.0]);
    }
}
