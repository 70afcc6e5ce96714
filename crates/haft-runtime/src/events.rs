//! A bus for events: any number of listeners, each of which may lag without holding up a call.
//! Every call tells of its begin and its end, so telling has to cost next to nothing: a listener
//! takes all that has come at once, and is only woken when it waits.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use haft_core::{Event, EventKind, EventSink};

use crate::live::LiveText;

/// Events a listener may fall behind before it loses the oldest.
const CAPACITY: usize = 4096;

/// Sends every event to every listener; secrets in progress text are masked before they leave.
#[derive(Clone, Default)]
pub struct EventBus {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    boxes: Mutex<Vec<Arc<Mutex<Mailbox>>>>,
    /// Someone has listened: events are made from then on
    heard: AtomicBool,
    live: LiveText,
}

/// What waits for one listener.
#[derive(Default)]
struct Mailbox {
    events: VecDeque<Event>,
    lost: u64,
    waits: Option<Waker>,
}

/// Hears every event from when it began to listen.
pub struct Listener {
    shared: Arc<Shared>,
    mailbox: Arc<Mutex<Mailbox>>,
    /// Taken from the mailbox, not heard yet
    taken: VecDeque<Event>,
}

#[derive(Debug)]
pub enum Heard {
    Event(Event),
    /// So many were not heard in time and are gone
    Lost(u64),
}

impl EventBus {
    pub fn new() -> Self {
        EventBus::default()
    }

    pub fn listen(&self) -> Listener {
        let mailbox = Arc::<Mutex<Mailbox>>::default();
        lock(&self.shared.boxes).push(mailbox.clone());
        self.shared.heard.store(true, Ordering::Relaxed);
        Listener {
            shared: self.shared.clone(),
            mailbox,
            taken: VecDeque::new(),
        }
    }

    fn send(&self, event: Event) {
        let boxes = lock(&self.shared.boxes);
        if let Some((last, others)) = boxes.split_last() {
            others.iter().for_each(|one| put(one, event.clone()));
            put(last, event);
        }
    }
}

fn put(mailbox: &Mutex<Mailbox>, event: Event) {
    let waits = {
        let mut mailbox = lock(mailbox);
        if mailbox.events.len() >= CAPACITY {
            mailbox.events.pop_front();
            mailbox.lost += 1;
        }
        mailbox.events.push_back(event);
        mailbox.waits.take()
    };
    if let Some(waits) = waits {
        waits.wake();
    }
}

impl EventSink for EventBus {
    fn emit(&self, event: Event) {
        if let Some(text) = self.shared.live.shown(&event) {
            let kind = EventKind::Progress { text, piece: true };
            let call = event.call.clone();
            self.send(Event { call, kind });
        }
        if !matches!(event.kind, EventKind::Progress { .. }) {
            self.send(event);
        }
    }

    fn listening(&self) -> bool {
        self.shared.heard.load(Ordering::Relaxed)
    }
}

impl Listener {
    /// The next one, as soon as it is there.
    pub async fn next(&mut self) -> Heard {
        poll_fn(|task| {
            if let Some(heard) = self.try_next() {
                return Poll::Ready(heard);
            }
            let mut mailbox = lock(&self.mailbox);
            if mailbox.events.is_empty() {
                mailbox.waits = Some(task.waker().clone());
                return Poll::Pending;
            }
            // It came between the two looks.
            drop(mailbox);
            self.try_next().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// The next one, if it is there.
    pub fn try_next(&mut self) -> Option<Heard> {
        if self.taken.is_empty() {
            let mut mailbox = lock(&self.mailbox);
            mem::swap(&mut mailbox.events, &mut self.taken);
            let lost = mem::take(&mut mailbox.lost);
            if lost > 0 {
                return Some(Heard::Lost(lost));
            }
        }
        self.taken.pop_front().map(Heard::Event)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        lock(&self.shared.boxes).retain(|one| !Arc::ptr_eq(one, &self.mailbox));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use haft_core::CallTag;

    use super::*;

    fn event(call: usize) -> Event {
        let call = CallTag {
            call_id: call.to_string().into(),
            session: "s".into(),
            tool: "t".into(),
        };
        Event {
            call: Arc::new(call),
            kind: EventKind::Begin { dry_run: false },
        }
    }

    fn heard(listener: &mut Listener) -> String {
        let mut all = Vec::new();
        while let Some(heard) = listener.try_next() {
            all.push(match heard {
                Heard::Event(event) => event.call.call_id.to_string(),
                Heard::Lost(count) => format!("{count} lost"),
            });
        }
        all.join(" ")
    }

    #[test]
    fn every_listener_hears_what_came_since_it_listens() {
        let bus = EventBus::new();
        assert!(!bus.listening());
        let mut first = bus.listen();
        bus.emit(event(1));
        let mut second = bus.listen();
        bus.emit(event(2));
        assert_eq!(heard(&mut first), "1 2");
        assert_eq!(heard(&mut second), "2");
        drop(first);
        bus.emit(event(3));
        assert_eq!(heard(&mut second), "3");
        assert_eq!(lock(&bus.shared.boxes).len(), 1);
    }

    #[test]
    fn who_lags_loses_the_oldest_and_is_told() {
        let bus = EventBus::new();
        let mut listener = bus.listen();
        (0..CAPACITY + 3).for_each(|n| bus.emit(event(n)));
        let heard = heard(&mut listener);
        assert!(heard.starts_with("3 lost 3 4 "), "{}", &heard[..40]);
    }

    #[tokio::test]
    async fn who_waits_is_woken() {
        let bus = EventBus::new();
        let mut listener = bus.listen();
        let waiting = tokio::spawn(async move {
            let first = listener.next().await;
            let second = listener.next().await;
            matches!((first, second), (Heard::Event(_), Heard::Event(_)))
        });
        tokio::task::yield_now().await;
        bus.emit(event(1));
        tokio::task::yield_now().await;
        bus.emit(event(2));
        assert!(waiting.await.unwrap());
    }
}
