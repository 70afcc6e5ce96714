//! Work that makes more work, shared by threads. The newest comes first, so that one thread alone
//! goes through a tree in order and few things wait at a time.

use std::sync::{Condvar, Mutex, PoisonError};

pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    waiting: Vec<T>,
    /// Threads that work, and may bring more
    busy: usize,
    idle: usize,
}

impl<T> Queue<T> {
    pub(super) fn new(first: T) -> Self {
        Queue {
            state: Mutex::new(State {
                waiting: vec![first],
                busy: 0,
                idle: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Put work on top, the last of it topmost.
    pub(super) fn put(&self, work: impl IntoIterator<Item = T>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.waiting.len();
        state.waiting.extend(work);
        if state.idle > 0 && state.waiting.len() > before {
            self.changed.notify_all();
        }
    }

    /// The next piece of work, or none once all is done. `was_busy` ends the piece before.
    pub(super) fn take(&self, was_busy: bool) -> Option<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if was_busy {
            state.busy -= 1;
        }
        loop {
            if let Some(work) = state.waiting.pop() {
                state.busy += 1;
                return Some(work);
            }
            if state.busy == 0 {
                self.changed.notify_all();
                return None;
            }
            state.idle += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Drop what waits: nobody needs it any more.
    pub(super) fn clear(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.clear();
    }

    pub(super) fn waiting(&self) -> usize {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn all_work_is_done_once_however_many_threads_there_are() {
        for threads in [1, 2, 7] {
            let queue = Queue::new(12_u32);
            let done = AtomicUsize::new(0);
            let work = || {
                let mut busy = false;
                while let Some(n) = queue.take(busy) {
                    busy = true;
                    done.fetch_add(1, Ordering::SeqCst);
                    if n > 0 {
                        queue.put([n - 1, n - 1]);
                    }
                }
            };
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(work);
                }
            });
            assert_eq!(done.load(Ordering::SeqCst), (1 << 13) - 1);
        }
    }
}
