//! Order where order matters. A call takes a ticket as soon as it knows what it touches, which is
//! before it ever waits for anything; before it runs it waits for earlier tickets whose effects
//! conflict with its own. Calls without effects need no ticket.
//!
//! Calls that one call makes are ordered in their own group. The call around them holds its place
//! as one that may touch anything, so the rest of its session waits; calls of other sessions
//! exclude them only while they run, because waiting in both orders could go in a circle.

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
    /// Calls that calls make, in the order of their numbers; hardly ever any
    nested: Vec<Slot>,
    waiting: Vec<Waker>,
}

struct Slot {
    number: u64,
    lane: Lane,
    effects: Arc<Effects>,
    /// It has had its turn
    runs: bool,
}

/// Whose call it is, for the order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lane {
    /// Calls of one session have the same number here
    session: u64,
    /// The calls it is ordered with; 0 for those that nobody's call made
    group: u64,
}

impl Lane {
    /// For calls that nobody's call made.
    pub(crate) fn of(session: u64) -> Self {
        Lane { session, group: 0 }
    }
}

/// A place in the order; given up when dropped.
pub(crate) struct Ticket<'a> {
    scheduler: &'a Scheduler,
    number: u64,
}

impl Scheduler {
    /// A place behind all that came before, for a call that touches this.
    pub(crate) fn ticket(&self, lane: Lane, effects: &Arc<Effects>) -> Ticket<'_> {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let slot = Slot {
            number,
            lane,
            effects: effects.clone(),
            runs: false,
        };
        match lane.group {
            0 => state.live.push_back(slot),
            _ => state.nested.push(slot),
        }
        Ticket {
            scheduler: self,
            number,
        }
    }

    /// For the calls that a call of this session makes, which are ordered among themselves.
    pub(crate) fn nested(&self, session: u64) -> Lane {
        let mut state = self.lock();
        state.next += 1;
        Lane {
            session,
            group: state.next,
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

impl Slot {
    /// Whether it has to wait for this one, which came before it.
    fn waits_for(&self, earlier: &Slot) -> bool {
        let unknowingly = unknowing(&earlier.effects) || unknowing(&self.effects);
        // What one session may touch unknowingly does not hold up another.
        (!unknowingly || earlier.lane.session == self.lane.session)
            && self.effects.waits_for(&earlier.effects)
    }

    /// Whether one of these runs now and touches, as far as is known, what this one would.
    fn is_excluded<'s>(&self, by: impl IntoIterator<Item = &'s Slot>) -> bool {
        let excludes = |other: &Slot| {
            other.runs && !unknowing(&other.effects) && self.effects.waits_for(&other.effects)
        };
        !unknowing(&self.effects) && by.into_iter().any(excludes)
    }
}

/// Whether nobody can tell what exactly is touched.
fn unknowing(effects: &Effects) -> bool {
    effects.anything || effects.vague
}

impl Ticket<'_> {
    /// Resolves when no earlier call conflicts.
    pub(crate) fn turn(&self) -> Turn<'_> {
        Turn { ticket: self }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.scheduler
            .change(|state| match state.place(self.number) {
                Some(place) => drop(state.live.remove(place)),
                None => state.nested.retain(|slot| slot.number != self.number),
            });
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
            if let Some(slot) = state.slot(self.ticket.number) {
                slot.runs = true;
            }
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

    fn slot(&mut self, number: u64) -> Option<&mut Slot> {
        match self.place(number) {
            Some(place) => self.live.get_mut(place),
            None => self.nested.iter_mut().find(|slot| slot.number == number),
        }
    }

    fn may_go(&self, number: u64) -> bool {
        let Some(place) = self.place(number) else {
            return self.nested_may_go(number);
        };
        let mine = &self.live[place];
        let mut earlier = self.live.range(..place);
        earlier.all(|earlier| !mine.waits_for(earlier)) && !mine.is_excluded(&self.nested)
    }

    fn nested_may_go(&self, number: u64) -> bool {
        let Some(mine) = self.nested.iter().find(|slot| slot.number == number) else {
            return true;
        };
        let (siblings, others): (Vec<&Slot>, Vec<&Slot>) = self
            .nested
            .iter()
            .chain(&self.live)
            .filter(|slot| slot.number != number)
            .partition(|slot| slot.lane.group == mine.lane.group);
        siblings
            .into_iter()
            .filter(|slot| slot.number < number)
            .all(|earlier| !mine.waits_for(earlier))
            && !mine.is_excluded(others)
    }
}
