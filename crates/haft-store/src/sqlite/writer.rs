//! The writer: one thread, one connection. Whatever waits when a commit begins goes into it, so
//! many callers share one wait for the disk.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::open;
use crate::StoreError;
use crate::store::{Durability, Job, Message, Shared};

/// Jobs in one commit at most.
pub(crate) const GROUP: usize = 1_024;
/// How long records that nobody waits for gather; where more have come then, once more.
const GATHER: Duration = Duration::from_millis(20);
/// How long such records may gather at most.
const LATEST: Duration = Duration::from_millis(200);
/// Where several waited for the last commit, the next one begins after so long a silence: they come
/// at once, and those that miss it would wait for the disk twice.
const SILENCE: Duration = Duration::from_micros(20);
/// How long they may keep the first of them waiting.
const PATIENCE: Duration = Duration::from_micros(400);
/// Records kept for another try while the disk is full.
const BACKLOG: usize = 100_000;

pub(crate) struct Writer {
    shared: Arc<Shared>,
    connection: Option<Connection>,
    /// Why nothing may be written, if so
    refused: Option<StoreError>,
    /// Several waited for the last commit
    crowded: bool,
    /// Work that nobody waits for and that could not be written yet
    backlog: VecDeque<Job>,
    dropped: usize,
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Writer {
            shared,
            connection: None,
            refused: None,
            crowded: false,
            backlog: VecDeque::new(),
            dropped: 0,
        }
    }

    pub(crate) fn run(mut self, queue: &Receiver<Message>) {
        let opened = self.open();
        self.shared.opened(opened);
        let mut group = Vec::new();
        loop {
            let closing = self.gather(queue, &mut group);
            self.write(&mut group);
            if let Some(closing) = closing {
                self.retry();
                let lost = self.backlog.len() + self.dropped;
                // Closed before we say so: whoever waits may open it again.
                if let Some(mut connection) = self.connection.take() {
                    connection.leave();
                }
                if let Some(closing) = closing {
                    let _ = closing.send(lost);
                }
                return;
            }
        }
    }

    fn open(&mut self) -> Result<(), StoreError> {
        match open::writer(self.shared.path()) {
            Ok(connection) => {
                self.connection = Some(connection);
                Ok(())
            }
            Err(error) => {
                // What passes may be tried again; what is wrong with the file stays wrong.
                if matches!(error, StoreError::Damaged(_) | StoreError::Newer { .. }) {
                    self.refused = Some(error.clone());
                }
                Err(error)
            }
        }
    }

    /// Wait for work and take all there is. `Some` when the store is to be closed.
    #[allow(clippy::option_option)]
    fn gather(
        &mut self,
        queue: &Receiver<Message>,
        group: &mut Vec<Job>,
    ) -> Option<Option<std::sync::mpsc::SyncSender<usize>>> {
        let mut begun = None;
        let mut last = Instant::now();
        let mut more = false;
        loop {
            let next = match group.is_empty() {
                true => queue.recv().map_err(|_| TryRecvError::Disconnected),
                false => queue.try_recv(),
            };
            match next {
                Ok(Message::Job(job)) => {
                    last = Instant::now();
                    begun.get_or_insert(last);
                    group.push(job);
                    more = true;
                }
                Ok(Message::Erase(done)) => {
                    self.write(group);
                    let _ = done.send(self.with(Connection::empty_log));
                }
                Ok(Message::Compact(done)) => {
                    self.write(group);
                    let _ = done.send(self.with(Connection::compact));
                }
                Ok(Message::Close(sender)) => return Some(Some(sender)),
                Err(TryRecvError::Empty) => {
                    let waits = group.iter().filter(|job| job.done.is_some()).count();
                    let gathering = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
                    let crowd = self.crowded || waits > 1;
                    if waits > 0 && crowd && last.elapsed() < SILENCE && gathering < PATIENCE {
                        std::thread::yield_now();
                        continue;
                    }
                    self.crowded = waits > 1;
                    if waits > 0 || gathering >= LATEST || !more {
                        return None;
                    }
                    more = false;
                    // Not by waiting for the next one: each would wake us, and whoever hands it
                    // over pays for that. Whoever is in a hurry wakes us.
                    std::thread::park_timeout(GATHER);
                }
                Err(TryRecvError::Disconnected) => return Some(None),
            }
            if group.len() >= GROUP {
                return None;
            }
        }
    }

    fn write(&mut self, group: &mut Vec<Job>) {
        if group.is_empty() {
            return;
        }
        let count = group.len();
        self.retry();
        let mut committed = self.commit(group);
        if committed == Err(StoreError::Full) {
            // The log was begun anew, which may be room enough.
            committed = self.commit(group);
        }
        if let Err(error) = committed {
            for job in group.drain(..) {
                match job.done {
                    Some(done) => drop(done.send(Err(error.clone()))),
                    None => {
                        self.shared.troubled(&error);
                        self.keep(job);
                    }
                }
            }
        }
        self.shared.waiting.fetch_sub(count, Ordering::Relaxed);
        self.shared.room.1.notify_all();
    }

    /// Commit all jobs and answer them; on an error they are all still there, and none is done.
    fn commit(&mut self, group: &mut Vec<Job>) -> Result<(), StoreError> {
        if let Some(reason) = &self.refused {
            return Err(reason.clone());
        }
        if self.connection.is_none() {
            self.open()?;
        }
        let Some(connection) = &mut self.connection else {
            return Err(StoreError::Closed);
        };
        let durability = group.iter().map(|job| job.durability).max();
        let durability = durability.unwrap_or(Durability::Process);
        let mut results = Vec::new();
        let committed = connection.writing(durability, &mut |transaction| {
            results.clear();
            for job in group.iter_mut() {
                results.push(transaction.nested(&mut job.work)?);
            }
            Ok(())
        });
        let following = match committed {
            Ok(following) => following,
            Err(error) => {
                if matches!(error, StoreError::Full) {
                    connection.begin_log_anew();
                }
                if connection.lost {
                    self.connection = None;
                }
                if matches!(error, StoreError::Damaged(_)) {
                    self.refused = Some(error.clone());
                }
                return Err(error);
            }
        };
        for (job, result) in group.drain(..).zip(results) {
            match (job.done, result) {
                (Some(done), result) => drop(done.send(result)),
                // Work that fails alone, in a store that works, would fail again.
                (None, Err(error)) => {
                    self.shared.troubled(&error);
                    self.dropped += 1;
                }
                (None, Ok(())) => {}
            }
        }
        // Nobody waits for this, and the next commit comes after it.
        following.run();
        Ok(())
    }

    fn with(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match &mut self.connection {
            Some(connection) => work(connection),
            None => Err(self.refused.clone().unwrap_or(StoreError::Closed)),
        }
    }

    /// Try once more what could not be written.
    fn retry(&mut self) {
        while !self.backlog.is_empty() {
            let take = self.backlog.len().min(GROUP);
            let mut group: Vec<Job> = self.backlog.drain(..take).collect();
            if self.commit(&mut group).is_err() {
                for job in group.into_iter().rev() {
                    self.backlog.push_front(job);
                }
                return;
            }
        }
    }

    fn keep(&mut self, job: Job) {
        if self.backlog.len() < BACKLOG {
            self.backlog.push_back(job);
        } else {
            self.dropped += 1;
        }
    }
}
