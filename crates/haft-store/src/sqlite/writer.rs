//! The writer: one connection, and whoever holds it. All jobs of a group go into one commit, so many
//! callers share one wait for the disk.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use super::connection::{Connection, Following};
use super::open;
use crate::StoreError;
use crate::queue::{GROUP, Job};
use crate::store::{Durability, Shared, lock};
use crate::turn::{QUICK, Turn};

/// Records kept for another try while the disk is full.
const BACKLOG: usize = 100_000;

#[derive(Default)]
pub(crate) struct Writer {
    connection: Option<Connection>,
    /// Why nothing may be written, if so
    refused: Option<StoreError>,
    /// Work that nobody waits for and that could not be written yet
    backlog: VecDeque<Job>,
    dropped: usize,
}

impl Writer {
    /// Whether a commit needs nothing but itself.
    pub(crate) fn is_ready(&self) -> bool {
        self.connection.is_some() && self.backlog.is_empty()
    }

    pub(crate) fn open(&mut self, shared: &Shared) -> Result<(), StoreError> {
        match open::writer(shared.path()) {
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

    /// A panic may have left a transaction open: it ends with its connection.
    pub(crate) fn give_up(&mut self) {
        self.connection = None;
    }

    /// Write what is left, and say how much could not be written.
    pub(crate) fn finish(&mut self, shared: &Shared) -> usize {
        self.retry(shared);
        if let Some(connection) = &mut self.connection {
            connection.leave();
        }
        self.backlog.len() + self.dropped
    }

    pub(crate) fn close(&mut self, shared: &Shared) -> usize {
        let left = self.finish(shared);
        self.connection = None;
        left
    }

    /// Commit all jobs and answer them. Where a lent thread would have to wait for another process,
    /// they stay in the group.
    pub(crate) fn write(&mut self, shared: &Shared, group: &mut Vec<Job>, turn: Turn) {
        if group.is_empty() {
            return;
        }
        let count = group.len();
        self.retry(shared);
        let mut committed = self.commit(shared, group, turn);
        if committed == Err(StoreError::Full) {
            // The log was begun anew, which may be room enough.
            committed = self.commit(shared, group, turn);
        }
        match committed {
            Err(StoreError::Busy) if turn == Turn::Lent => return,
            Err(error) => self.refuse(shared, group, &error),
            Ok(()) => {}
        }
        shared.waiting.fetch_sub(count, Ordering::Relaxed);
        shared.room.1.notify_all();
    }

    fn refuse(&mut self, shared: &Shared, group: &mut Vec<Job>, error: &StoreError) {
        for job in group.drain(..) {
            match job.done {
                Some(done) => drop(done.send(Err(error.clone()))),
                None => {
                    shared.troubled(error);
                    self.keep(job);
                }
            }
        }
    }

    /// Commit all jobs and answer them; on an error they are all still there, and none is done.
    fn commit(
        &mut self,
        shared: &Shared,
        group: &mut Vec<Job>,
        turn: Turn,
    ) -> Result<(), StoreError> {
        if let Some(reason) = &self.refused {
            return Err(reason.clone());
        }
        if self.connection.is_none() {
            self.open(shared)?;
        }
        let Some(connection) = &mut self.connection else {
            return Err(StoreError::Closed);
        };
        let durability = group.iter().map(|job| job.durability).max();
        let durability = durability.unwrap_or(Durability::Process);
        let (following, results) = match together(connection, group, durability, turn, shared) {
            Ok(committed) => committed,
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
        // Before anybody is answered, who might come again at once.
        let awaited = group.iter().filter(|job| job.done.is_some()).count();
        if awaited > 0 {
            let mut queue = lock(&shared.queue);
            queue.crowd = awaited;
            queue.quick = following
                .waited()
                .map_or(queue.quick, |waited| waited < QUICK);
        }
        for (job, result) in group.drain(..).zip(results) {
            match (job.done, result) {
                (Some(done), result) => drop(done.send(result)),
                // Work that fails alone, in a store that works, would fail again.
                (None, Err(error)) => {
                    shared.troubled(&error);
                    self.dropped += 1;
                }
                (None, Ok(())) => {}
            }
        }
        // Nobody waits for this, and the next commit comes after it.
        following.run();
        Ok(())
    }

    pub(crate) fn with<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &mut self.connection {
            Some(connection) => work(connection),
            None => Err(self.refused.clone().unwrap_or(StoreError::Closed)),
        }
    }

    /// Try once more what could not be written.
    fn retry(&mut self, shared: &Shared) {
        while !self.backlog.is_empty() {
            let take = self.backlog.len().min(GROUP);
            let mut group: Vec<Job> = self.backlog.drain(..take).collect();
            if self.commit(shared, &mut group, Turn::Patient).is_err() {
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

/// One commit for all jobs, and how each of them went.
fn together(
    connection: &mut Connection,
    group: &mut [Job],
    durability: Durability,
    turn: Turn,
    shared: &Shared,
) -> Result<(Following, Vec<Result<(), StoreError>>), StoreError> {
    connection.set_patient(turn == Turn::Patient)?;
    let mut failed = false;
    let nobody_waits = group.iter().all(|job| job.done.is_none());
    let nobody_waits = || nobody_waits && lock(&shared.queue).awaited == 0;
    let following = connection.writing(durability, &mut |transaction| {
        let mut jobs = group.iter_mut();
        let done = jobs.try_for_each(|job| {
            if nobody_waits() {
                // A call that has just come in is not to wait for a thousand records of others.
                std::thread::yield_now();
            }
            (job.work)(transaction)
        });
        failed = done.is_err();
        done
    });
    if !failed {
        return following.map(|following| (following, vec![Ok(()); group.len()]));
    }
    // Work seldom fails. Where some of it does, each piece is set apart from the others.
    let mut results = Vec::new();
    let following = connection.writing(durability, &mut |transaction| {
        results.clear();
        for job in group.iter_mut() {
            results.push(transaction.nested(&mut job.work)?);
        }
        Ok(())
    })?;
    Ok((following, results))
}
