//! A bus for events: any number of listeners, each of which may lag without holding up a call.
//! Every call tells of its begin and its end, so telling has to cost next to nothing: a listener
//! takes all that has come at once, and is only woken when it waits.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use haft_core::{CallTag, Event, EventKind, EventSink};

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
    boxes: Mutex<Boxes>,
    /// Someone has listened: events are made from then on
    heard: AtomicBool,
    live: LiveText,
}

/// One for each that listens, all behind one lock.
#[derive(Default)]
struct Boxes {
    next: u64,
    all: Vec<Mailbox>,
}

/// What waits for one listener.
#[derive(Default)]
struct Mailbox {
    id: u64,
    events: VecDeque<Event>,
    lost: u64,
    waits: Option<Waker>,
}

/// Hears every event from when it began to listen.
pub struct Listener {
    shared: Arc<Shared>,
    mailbox: u64,
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
        let mut boxes = self.shared.boxes();
        boxes.next += 1;
        let mailbox = Mailbox {
            id: boxes.next,
            ..Mailbox::default()
        };
        boxes.all.push(mailbox);
        self.shared.heard.store(true, Ordering::Relaxed);
        Listener {
            shared: self.shared.clone(),
            mailbox: boxes.next,
            taken: VecDeque::new(),
        }
    }

    fn send(&self, call: &Arc<CallTag>, kind: EventKind) {
        let event = |kind| Event {
            call: call.clone(),
            kind,
        };
        let mut wake = Vec::new();
        {
            let mut boxes = self.shared.boxes();
            let Some((last, others)) = boxes.all.split_last_mut() else {
                return;
            };
            for one in others {
                wake.extend(one.put(event(kind.clone())));
            }
            wake.extend(last.put(event(kind)));
        }
        wake.into_iter().for_each(Waker::wake);
    }
}

impl Shared {
    fn boxes(&self) -> MutexGuard<'_, Boxes> {
        self.boxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mailbox {
    /// Whoever waits for it is to be woken.
    fn put(&mut self, event: Event) -> Option<Waker> {
        if self.events.len() >= CAPACITY {
            self.events.pop_front();
            self.lost += 1;
        }
        self.events.push_back(event);
        self.waits.take()
    }
}

impl EventSink for EventBus {
    fn emit(&self, call: &Arc<CallTag>, kind: EventKind) {
        if !self.listening() {
            return;
        }
        if let Some(text) = self.shared.live.shown(call, &kind) {
            let measure = match kind {
                EventKind::Progress { measure, .. } => measure,
                _ => None,
            };
            let said = EventKind::Progress {
                text,
                piece: true,
                measure,
            };
            self.send(call, said);
        }
        if !matches!(kind, EventKind::Progress { .. }) {
            self.send(call, kind);
        }
    }

    fn listening(&self) -> bool {
        self.shared.heard.load(Ordering::Relaxed)
    }
}

impl Listener {
    /// The next one, as soon as it is there.
    pub async fn next(&mut self) -> Heard {
        poll_fn(|task| match self.look(Some(task.waker())) {
            Some(heard) => Poll::Ready(heard),
            None => Poll::Pending,
        })
        .await
    }

    /// The next one, if it is there.
    pub fn try_next(&mut self) -> Option<Heard> {
        self.look(None)
    }

    /// What is there, or a word left to be woken by when something is.
    fn look(&mut self, waker: Option<&Waker>) -> Option<Heard> {
        if self.taken.is_empty() {
            let mut boxes = self.shared.boxes();
            let mut all = boxes.all.iter_mut();
            let mailbox = all.find(|one| one.id == self.mailbox)?;
            mem::swap(&mut mailbox.events, &mut self.taken);
            let lost = mem::take(&mut mailbox.lost);
            if lost > 0 {
                return Some(Heard::Lost(lost));
            }
            if self.taken.is_empty() {
                mailbox.waits = waker.cloned();
            }
        }
        self.taken.pop_front().map(Heard::Event)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut boxes = self.shared.boxes();
        boxes.all.retain(|one| one.id != self.mailbox);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tell(bus: &EventBus, call: usize) {
        let call = CallTag {
            call_id: call.to_string().into(),
            session: "s".into(),
            tool: "t".into(),
        };
        bus.emit(&Arc::new(call), EventKind::Begin { dry_run: false });
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
        tell(&bus, 1);
        let mut second = bus.listen();
        tell(&bus, 2);
        assert_eq!(heard(&mut first), "1 2");
        assert_eq!(heard(&mut second), "2");
        drop(first);
        tell(&bus, 3);
        assert_eq!(heard(&mut second), "3");
        assert_eq!(bus.shared.boxes().all.len(), 1);
    }

    #[test]
    fn who_lags_loses_the_oldest_and_is_told() {
        let bus = EventBus::new();
        let mut listener = bus.listen();
        (0..CAPACITY + 3).for_each(|n| tell(&bus, n));
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
        tell(&bus, 1);
        tokio::task::yield_now().await;
        tell(&bus, 2);
        assert!(waiting.await.unwrap());
    }
}
