//! Order where order matters. Each call takes a ticket when it enters; before it runs it waits
//! for earlier tickets whose effects conflict with its own. An earlier call that has not said yet
//! what it touches is waited for too. Calls without effects never wait.
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
    /// Calls of one session have the same number here
    session: u64,
    /// None until the call knows
    effects: Option<Arc<Effects>>,
    /// The calls it is ordered with; 0 for those that nobody's call made
    group: u64,
    /// It has had its turn
    runs: bool,
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
        state.live.push_back(Slot::new(number, session, 0));
        Ticket {
            scheduler: self,
            number,
            free: false,
        }
    }

    /// A number that no other group has.
    pub(crate) fn group(&self) -> u64 {
        let mut state = self.lock();
        state.next += 1;
        state.next
    }

    /// A place among the calls of a group.
    pub(crate) fn nested(&self, session: u64, group: u64) -> Ticket<'_> {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.nested.push(Slot::new(number, session, group));
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

impl Slot {
    fn new(number: u64, session: u64, group: u64) -> Slot {
        Slot {
            number,
            session,
            effects: None,
            group,
            runs: false,
        }
    }

    /// Whether it has to wait for this one, which came before it.
    fn waits_for(&self, effects: &Effects, earlier: &Slot) -> bool {
        let same_session = earlier.session == self.session;
        match &earlier.effects {
            None => same_session,
            // What one session may touch unknowingly does not hold up another.
            Some(theirs) if theirs.anything || effects.anything => {
                same_session && effects.conflict_with(theirs)
            }
            Some(theirs) => effects.conflict_with(theirs),
        }
    }

    /// Whether it runs now and touches, as far as is known, what this call would.
    fn excludes(&self, effects: &Effects) -> bool {
        let theirs = self.effects.as_ref().filter(|theirs| !theirs.anything);
        self.runs && theirs.is_some_and(|theirs| effects.conflict_with(theirs))
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
            if let Some(slot) = state.slot(self.number) {
                slot.effects = Some(effects.clone());
            }
        });
    }

    fn leave(&mut self) {
        if std::mem::replace(&mut self.free, true) {
            return;
        }
        self.scheduler
            .change(|state| match state.place(self.number) {
                Some(place) => drop(state.live.remove(place)),
                None => state.nested.retain(|slot| slot.number != self.number),
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
        let Some(effects) = &mine.effects else {
            return false;
        };
        let mut earlier = self.live.range(..place);
        let anything = effects.anything;
        earlier.all(|earlier| !mine.waits_for(effects, earlier))
            && (anything || !self.nested.iter().any(|slot| slot.excludes(effects)))
    }

    fn nested_may_go(&self, number: u64) -> bool {
        let Some(mine) = self.nested.iter().find(|slot| slot.number == number) else {
            return true;
        };
        let Some(effects) = &mine.effects else {
            return false;
        };
        let (siblings, others): (Vec<&Slot>, Vec<&Slot>) = self
            .nested
            .iter()
            .chain(&self.live)
            .filter(|slot| slot.number != number)
            .partition(|slot| slot.group == mine.group);
        siblings
            .iter()
            .filter(|slot| slot.number < number)
            .all(|earlier| !mine.waits_for(effects, earlier))
            && (effects.anything || !others.iter().any(|slot| slot.excludes(effects)))
    }
}
