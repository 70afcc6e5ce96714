//! A bus for events: any number of listeners, each of which may lag without holding up a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_core::{Event, EventKind, EventSink};
use tokio::sync::broadcast;

use crate::secrets;

/// Events a listener may fall behind before it is told that it lost some.
const CAPACITY: usize = 4096;

/// Sends every event to every listener; secrets in progress text are masked before they leave.
#[derive(Clone)]
pub struct EventBus {
    sender: broadcast::Sender<Event>,
    /// Someone has listened: asking the channel would take its lock at every event
    heard: Arc<AtomicBool>,
}

impl EventBus {
    pub fn new() -> Self {
        EventBus {
            sender: broadcast::Sender::new(CAPACITY),
            heard: Arc::default(),
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
    fn emit(&self, mut event: Event) {
        if let EventKind::Progress { text } = &mut event.kind {
            let masked = secrets::mask(text);
            if masked.count > 0 {
                *text = masked.text.into_owned();
            }
        }
        // No listener is no error.
        let _ = self.sender.send(event);
    }

    fn listening(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }
}
