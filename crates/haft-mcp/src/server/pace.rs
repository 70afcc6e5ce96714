//! Waiting awake. To fall asleep and be woken takes the machine longer than many a server takes to
//! answer, so while messages follow each other that closely, the next one is waited for awake, for
//! a moment. Whoever calls now and then is waited for asleep.

use std::future::pending;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use tokio::task::yield_now;

/// What comes sooner is worth waiting for.
const MOMENT: Duration = Duration::from_micros(60);

/// Looks for the next message before others get the processor, about ten microseconds.
const PATIENCE: u32 = 8;

pub(super) struct Pace {
    /// Somebody else can go on while we wait
    has_room: bool,
    /// The last wait was a short one
    quick: bool,
}

impl Pace {
    pub(super) fn new() -> Self {
        Pace {
            has_room: available_parallelism().is_ok_and(|processors| processors.get() > 1),
            quick: false,
        }
    }

    /// Never ends; keeps the engine from falling asleep meanwhile, where that is worth it.
    pub(super) async fn keep_awake(&self, since: Instant) {
        let mut looks = 0;
        while self.is_worth_it(since) {
            looks += 1;
            if looks % PATIENCE == 0 {
                // Whom we wait for may wait for this very processor.
                std::thread::yield_now();
            }
            yield_now().await;
        }
        pending().await
    }

    fn is_worth_it(&self, since: Instant) -> bool {
        self.has_room && self.quick && since.elapsed() < MOMENT
    }

    /// Something came that was waited for.
    pub(super) fn came(&mut self, since: Instant) {
        self.quick = since.elapsed() < 2 * MOMENT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_quick_conversation_is_waited_for_awake_and_not_for_long() {
        let long_ago = Instant::now() - Duration::from_secs(1);
        // A moment that has not begun yet cannot be over, however slow the machine is.
        let soon = Instant::now() + Duration::from_secs(60);
        let check = |has_room, came, since, expected| {
            let mut pace = Pace {
                has_room,
                quick: false,
            };
            pace.came(came);
            assert_eq!(pace.is_worth_it(since), expected);
        };
        check(true, soon, soon, true);
        check(true, soon, long_ago, false);
        check(true, long_ago, soon, false);
        check(false, soon, soon, false);
    }
}
