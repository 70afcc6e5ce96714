//! Order where order matters. Each call takes a ticket when it enters; before it runs it waits
//! for earlier tickets whose effects conflict with its own. An earlier call that has not said yet
//! what it touches is waited for too. Calls without effects never wait.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use haft_core::Effects;

#[derive(Default)]
pub(crate) struct Scheduler {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// In the order of their numbers
    live: VecDeque<Slot>,
    waiting: Vec<Waker>,
}

struct Slot {
    number: u64,
    /// Calls of one session have the same number here
    session: u64,
    /// None until the call knows
    effects: Option<Arc<Effects>>,
}

/// A place in the order; given up when dropped.
pub(crate) struct Ticket<'a> {
    scheduler: &'a Scheduler,
    number: u64,
    /// It touches nothing and has left the order
    free: bool,
}

impl Scheduler {
    pub(crate) fn ticket(&self, session: u64) -> Ticket<'_> {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.live.push_back(Slot {
            number,
            session,
            effects: None,
        });
        Ticket {
            scheduler: self,
            number,
            free: false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, step: impl FnOnce(&mut State)) {
        let waiting = {
            let mut state = self.lock();
            step(&mut state);
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Ticket<'_> {
    /// Say what the call touches, so that later calls need not wait for nothing. A call that
    /// touches nothing gives up its place at once.
    pub(crate) fn declare(&mut self, effects: &Arc<Effects>) {
        if effects.is_none() {
            return self.leave();
        }
        self.scheduler.change(|state| {
            if let Some(place) = state.place(self.number) {
                state.live[place].effects = Some(effects.clone());
            }
        });
    }

    fn leave(&mut self) {
        if std::mem::replace(&mut self.free, true) {
            return;
        }
        self.scheduler.change(|state| {
            if let Some(place) = state.place(self.number) {
                state.live.remove(place);
            }
        });
    }

    /// Whether it need not wait for anyone, now or later.
    pub(crate) fn is_free(&self) -> bool {
        self.free
    }

    /// Resolves when no earlier call conflicts.
    pub(crate) fn turn(&self) -> Turn<'_> {
        Turn { ticket: self }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

pub(crate) struct Turn<'a> {
    ticket: &'a Ticket<'a>,
}

impl Future for Turn<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.ticket.scheduler.lock();
        if state.may_go(self.ticket.number) {
            return Poll::Ready(());
        }
        state.waiting.push(cx.waker().clone());
        Poll::Pending
    }
}

impl State {
    fn place(&self, number: u64) -> Option<usize> {
        self.live
            .binary_search_by_key(&number, |slot| slot.number)
            .ok()
    }

    fn may_go(&self, number: u64) -> bool {
        let Some(place) = self.place(number) else {
            return true;
        };
        let mine = &self.live[place];
        let Some(effects) = &mine.effects else {
            return false;
        };
        self.live.range(..place).all(|earlier| {
            let same_session = earlier.session == mine.session;
            match &earlier.effects {
                None => !same_session,
                // What one session may touch unknowingly does not hold up another.
                Some(theirs) if theirs.anything || effects.anything => {
                    !same_session || !effects.conflict_with(theirs)
                }
                Some(theirs) => !effects.conflict_with(theirs),
            }
        })
    }
}
