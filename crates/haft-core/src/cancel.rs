//! A cancel token that knows no runtime. A child is cancelled with its parent; the parent does
//! not know its children, so making one takes no lock, and no memory before somebody cancels it,
//! waits for it or hands it on.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

#[derive(Default)]
pub struct CancelToken {
    /// What all clones share, once there is a need for it
    own: OnceLock<Arc<Inner>>,
    parent: Option<Arc<Inner>>,
}

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    /// It was a deadline, not the caller
    timed_out: AtomicBool,
    waiting: Mutex<Waiting>,
    parent: Option<Arc<Inner>>,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    /// Invariant: the keys ascend
    wakers: Vec<(u64, Waker)>,
}

impl CancelToken {
    pub fn new() -> Self {
        CancelToken::default()
    }

    #[must_use]
    pub fn child(&self) -> Self {
        CancelToken {
            own: OnceLock::new(),
            parent: Some(self.inner().clone()),
        }
    }

    fn inner(&self) -> &Arc<Inner> {
        self.own.get_or_init(|| {
            Arc::new(Inner {
                parent: self.parent.clone(),
                ..Inner::default()
            })
        })
    }

    pub fn cancel(&self) {
        let inner = self.inner();
        inner.cancelled.store(true, Ordering::SeqCst);
        let wakers = std::mem::take(&mut inner.waiting().wakers);
        for (_, waker) in wakers {
            waker.wake();
        }
    }

    /// Cancel because a deadline has passed.
    pub fn time_is_up(&self) {
        self.inner().timed_out.store(true, Ordering::SeqCst);
        self.cancel();
    }

    /// Whether it was a deadline that cancelled this token, not the caller.
    pub fn timed_out(&self) -> bool {
        let own = self.own.get();
        own.is_some_and(|own| own.timed_out.load(Ordering::SeqCst))
    }

    pub fn is_cancelled(&self) -> bool {
        let first = self.own.get().or(self.parent.as_ref());
        lineage(first).any(|one| one.cancelled.load(Ordering::SeqCst))
    }

    /// Resolves once this token or one above it is cancelled.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled {
            token: self.clone(),
            registered: Vec::new(),
            waker: None,
        }
    }
}

/// Clones are one token.
impl Clone for CancelToken {
    fn clone(&self) -> Self {
        CancelToken {
            own: OnceLock::from(self.inner().clone()),
            parent: None,
        }
    }
}

/// A token and all above it.
fn lineage(first: Option<&Arc<Inner>>) -> impl Iterator<Item = &Arc<Inner>> {
    std::iter::successors(first, |one| one.parent.as_ref())
}

impl Inner {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(&self, waker: Waker) -> u64 {
        let mut waiting = self.waiting();
        let key = waiting.next;
        waiting.next += 1;
        waiting.wakers.push((key, waker));
        key
    }

    fn forget(&self, key: u64) {
        // One by one they would take the square of their number: a batch may be thousands of calls.
        let wakers = &mut self.waiting().wakers;
        if let Ok(at) = wakers.binary_search_by_key(&key, |(key, _)| *key) {
            wakers.remove(at);
        }
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("cancelled", &self.is_cancelled())
            .finish()
    }
}

/// Future of [`CancelToken::cancelled`].
pub struct Cancelled {
    token: CancelToken,
    registered: Vec<(Arc<Inner>, u64)>,
    /// Whom they would wake
    waker: Option<Waker>,
}

impl Cancelled {
    fn forget_all(&mut self) {
        for (one, key) in self.registered.drain(..) {
            one.forget(key);
        }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let known = self.waker.as_ref();
        if !known.is_some_and(|known| known.will_wake(cx.waker())) {
            self.forget_all();
            let registered = lineage(Some(self.token.inner()))
                .map(|one| (one.clone(), one.register(cx.waker().clone())))
                .collect();
            self.registered = registered;
            self.waker = Some(cx.waker().clone());
        }
        // Invariant: look after registering, so that a cancel between the two is not missed.
        if self.token.is_cancelled() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.forget_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn who_is_polled_again_and_again_is_known_once_and_the_last_one_is_woken() {
        let token = CancelToken::new();
        let mut waiting = token.cancelled();
        let counts = [Arc::new(Count::default()), Arc::new(Count::default())];
        for count in counts.iter().flat_map(|count| [count; 3]) {
            let waker = Waker::from(count.clone());
            let waiting = Pin::new(&mut waiting);
            assert!(waiting.poll(&mut Context::from_waker(&waker)).is_pending());
            assert_eq!(token.inner().waiting().wakers.len(), 1);
        }
        token.cancel();
        let woken = counts.map(|count| count.0.load(Ordering::SeqCst));
        assert_eq!(woken, [0, 1]);
    }

    #[test]
    fn a_child_is_cancelled_with_its_parent_and_not_the_other_way() {
        let parent = CancelToken::new();
        let child = parent.child();
        let sibling = parent.child();
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let mut waiting = child.cancelled();
        assert!(
            Pin::new(&mut waiting)
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        sibling.cancel();
        assert!(!parent.is_cancelled() && !child.is_cancelled());
        parent.cancel();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert!(
            Pin::new(&mut waiting)
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
        );
    }

    #[test]
    fn a_dropped_wait_leaves_nothing_behind() {
        let token = CancelToken::new();
        let waker = Waker::noop();
        let mut waiting = token.cancelled();
        assert!(
            Pin::new(&mut waiting)
                .poll(&mut Context::from_waker(waker))
                .is_pending()
        );
        assert!(
            Pin::new(&mut waiting)
                .poll(&mut Context::from_waker(waker))
                .is_pending()
        );
        assert_eq!(token.inner().waiting().wakers.len(), 1);
        drop(waiting);
        assert!(token.inner().waiting().wakers.is_empty());
    }
}
