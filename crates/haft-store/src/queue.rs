//! What waits for the next commit, and what is known of those that come. Whoever takes something out
//! holds the writer: so work is done in the order in which it came.

use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use tokio::sync::oneshot;

use crate::{Durability, StoreError, Tx};

/// Jobs in one commit at most.
pub(crate) const GROUP: usize = 1_024;

pub(crate) type Work = Box<dyn FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send>;
pub(crate) type Answer = oneshot::Sender<Result<(), StoreError>>;

/// One piece of work for the writer.
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) durability: Durability,
    /// It touches a few rows and no file, so that it may be done on a thread that should not wait
    pub(crate) brief: bool,
    /// Who waits for it; work that nobody waits for is tried again until it stands
    pub(crate) done: Option<Answer>,
}

/// What only the store's thread does, after all that came before it.
pub(crate) enum Chore {
    /// Leave nothing in the write-ahead log of what was deleted
    Erase(Answer),
    /// Give the room of what was deleted back to the disk
    Compact(Answer),
    /// Write what is left, say how much could not be written, and end
    Close(SyncSender<usize>),
}

pub(crate) enum Message {
    Job(Job),
    Chore(Chore),
}

pub(crate) struct Queue {
    messages: VecDeque<Message>,
    /// Jobs that somebody waits for
    pub(crate) awaited: usize,
    /// Jobs that may take long
    pub(crate) long: usize,
    chores: usize,
    /// How many waited for the last commit
    pub(crate) crowd: usize,
    /// The disk was quick the last time
    pub(crate) quick: bool,
    /// The store's thread has nothing to do, and is to be told of what comes
    pub(crate) asleep: bool,
    /// Since when somebody has committed, while what follows that is not done
    pub(crate) restless: Option<Instant>,
    closed: bool,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Queue {
            messages: VecDeque::new(),
            awaited: 0,
            long: 0,
            chores: 0,
            crowd: 1,
            quick: true,
            asleep: false,
            restless: None,
            closed: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether nothing is gained by waiting for more.
    pub(crate) fn is_due(&self) -> bool {
        self.chores > 0 || self.messages.len() >= GROUP
    }

    /// Put something at the end. Where the store is closed it is dropped, and whoever waits for it
    /// hears of that.
    pub(crate) fn push(&mut self, message: Message) {
        if !self.closed {
            self.count(&message);
            self.messages.push_back(message);
        }
    }

    /// Put jobs back that could not be done now.
    pub(crate) fn put_back(&mut self, jobs: Vec<Job>) {
        for job in jobs.into_iter().rev() {
            let message = Message::Job(job);
            self.count(&message);
            self.messages.push_front(message);
        }
    }

    /// Take the jobs of one commit; a chore ends it.
    pub(crate) fn take_jobs(&mut self, group: &mut Vec<Job>) {
        while group.len() < GROUP {
            match self.messages.pop_front() {
                Some(Message::Job(job)) => {
                    self.awaited -= usize::from(job.done.is_some());
                    self.long -= usize::from(!job.brief);
                    group.push(job);
                }
                Some(chore) => return self.messages.push_front(chore),
                None => return self.messages.shrink_to(GROUP),
            }
        }
    }

    /// Take what stands before the next job.
    pub(crate) fn take_chore(&mut self) -> Option<Chore> {
        match self.messages.pop_front()? {
            Message::Chore(chore) => {
                self.chores -= 1;
                Some(chore)
            }
            job => {
                self.messages.push_front(job);
                None
            }
        }
    }

    /// Nothing comes after this. False where it was closed before.
    pub(crate) fn close(&mut self) -> bool {
        !std::mem::replace(&mut self.closed, true)
    }

    /// Close it and give what was in it to the caller, who drops it without holding the queue: the
    /// last handle to the store may be in there.
    #[must_use]
    pub(crate) fn abandon(&mut self) -> VecDeque<Message> {
        self.closed = true;
        (self.awaited, self.long, self.chores) = (0, 0, 0);
        std::mem::take(&mut self.messages)
    }

    fn count(&mut self, message: &Message) {
        match message {
            Message::Job(job) => {
                self.awaited += usize::from(job.done.is_some());
                self.long += usize::from(!job.brief);
            }
            Message::Chore(_) => self.chores += 1,
        }
    }
}
