//! A bus for events: any number of listeners, each of which may lag without holding up a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_core::{Event, EventKind, EventSink};
use tokio::sync::broadcast;

use crate::live::LiveText;

/// Events a listener may fall behind before it is told that it lost some.
const CAPACITY: usize = 4096;

/// Sends every event to every listener; secrets in progress text are masked before they leave.
#[derive(Clone)]
pub struct EventBus {
    sender: broadcast::Sender<Event>,
    /// Someone has listened: asking the channel would take its lock at every event
    heard: Arc<AtomicBool>,
    live: Arc<LiveText>,
}

impl EventBus {
    pub fn new() -> Self {
        EventBus {
            sender: broadcast::Sender::new(CAPACITY),
            heard: Arc::default(),
            live: Arc::default(),
        }
    }

    pub fn listen(&self) -> broadcast::Receiver<Event> {
        self.heard.store(true, Ordering::Relaxed);
        self.sender.subscribe()
    }
}

impl Default for EventBus {
    fn default() -> Self {
        EventBus::new()
    }
}

impl EventSink for EventBus {
    fn emit(&self, event: Event) {
        // No listener is no error.
        if let Some(text) = self.live.shown(&event) {
            let kind = EventKind::Progress { text, piece: true };
            let _ = self.sender.send(Event {
                call: event.call.clone(),
                kind,
            });
        }
        if !matches!(event.kind, EventKind::Progress { .. }) {
            let _ = self.sender.send(event);
        }
    }

    fn listening(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }
}
