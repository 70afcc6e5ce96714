//! Waiting awake. To fall asleep and be woken takes the machine longer than many a server takes to
//! answer, so while messages follow each other that closely, the next one is waited for awake, for
//! a moment. Whoever calls now and then is waited for asleep.

use std::future::pending;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use tokio::task::yield_now;

/// What comes sooner is worth waiting for.
const MOMENT: Duration = Duration::from_micros(60);

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
        if self.has_room && self.quick {
            while since.elapsed() < MOMENT {
                yield_now().await;
            }
        }
        pending().await
    }

    /// Something came that was waited for.
    pub(super) fn came(&mut self, since: Instant) {
        self.quick = since.elapsed() < 2 * MOMENT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake, Waker};

    #[derive(Default)]
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn only_a_quick_conversation_is_waited_for_awake_and_not_for_long() {
        let long_ago = Instant::now() - Duration::from_secs(1);
        let wakes = |has_room, came: Instant, since| {
            let mut pace = Pace {
                has_room,
                quick: false,
            };
            pace.came(came);
            let count = Arc::new(Count::default());
            let waker = Waker::from(count.clone());
            let waiting = pin!(pace.keep_awake(since));
            assert!(waiting.poll(&mut Context::from_waker(&waker)).is_pending());
            count.0.load(Ordering::SeqCst)
        };
        // A moment that has not begun yet cannot be over, however slow the machine is.
        let soon = Instant::now() + Duration::from_secs(60);
        assert_eq!(wakes(true, soon, soon), 1);
        assert_eq!(wakes(true, soon, long_ago), 0);
        assert_eq!(wakes(true, long_ago, soon), 0);
        assert_eq!(wakes(false, soon, soon), 0);
    }
}
