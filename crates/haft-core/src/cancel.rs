//! A cancel token that knows no runtime. A child is cancelled with its parent; the parent does
//! not know its children, so making one costs one allocation and no lock.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

#[derive(Clone, Default)]
pub struct CancelToken {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    /// It was a deadline, not the caller
    timed_out: AtomicBool,
    waiting: Mutex<Waiting>,
    parent: Option<CancelToken>,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    wakers: Vec<(u64, Waker)>,
}

impl CancelToken {
    pub fn new() -> Self {
        CancelToken::default()
    }

    #[must_use]
    pub fn child(&self) -> Self {
        CancelToken {
            inner: Arc::new(Inner {
                parent: Some(self.clone()),
                ..Inner::default()
            }),
        }
    }

    pub fn cancel(&self) {
        self.inner.cancelled.store(true, Ordering::SeqCst);
        let wakers = {
            let mut waiting = self
                .inner
                .waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut waiting.wakers)
        };
        for (_, waker) in wakers {
            waker.wake();
        }
    }

    /// Cancel because a deadline has passed.
    pub fn time_is_up(&self) {
        self.inner.timed_out.store(true, Ordering::SeqCst);
        self.cancel();
    }

    /// Whether it was a deadline that cancelled this token, not the caller.
    pub fn timed_out(&self) -> bool {
        self.inner.timed_out.load(Ordering::SeqCst)
    }

    pub fn is_cancelled(&self) -> bool {
        self.lineage()
            .any(|token| token.inner.cancelled.load(Ordering::SeqCst))
    }

    /// Resolves once this token or one above it is cancelled.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled {
            token: self.clone(),
            registered: Vec::new(),
        }
    }

    fn lineage(&self) -> impl Iterator<Item = &CancelToken> {
        std::iter::successors(Some(self), |token| token.inner.parent.as_ref())
    }

    fn register(&self, waker: Waker) -> u64 {
        let mut waiting = self
            .inner
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let key = waiting.next;
        waiting.next += 1;
        waiting.wakers.push((key, waker));
        key
    }

    fn forget(&self, key: u64) {
        let mut waiting = self
            .inner
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        waiting.wakers.retain(|(other, _)| *other != key);
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
#[derive(Debug)]
pub struct Cancelled {
    token: CancelToken,
    registered: Vec<(CancelToken, u64)>,
}

impl Cancelled {
    fn forget_all(&mut self) {
        for (token, key) in self.registered.drain(..) {
            token.forget(key);
        }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.forget_all();
        let registered = self
            .token
            .lineage()
            .map(|token| (token.clone(), token.register(cx.waker().clone())))
            .collect();
        self.registered = registered;
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
        assert_eq!(token.inner.waiting.lock().unwrap().wakers.len(), 1);
        drop(waiting);
        assert!(token.inner.waiting.lock().unwrap().wakers.is_empty());
    }
}
