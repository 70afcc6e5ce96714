//! Whose turn it is to commit. Whoever waits for a commit may make it, for all who wait: on a quick
//! disk the two threads that would wake each other cost as much as the commit itself. What nobody
//! waits for, what may take long and what comes in crowds is done by a thread of the store's own.

use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use crate::queue::{Chore, GROUP, Queue};
use crate::sqlite::{Connection, Writer};
use crate::store::{Shared, lock};

/// How long records that nobody waits for gather; where more have come then, once more. So long
/// what follows commits may wait for others, too.
const GATHER: Duration = Duration::from_millis(20);
/// How long such records may gather at most.
const LATEST: Duration = Duration::from_millis(200);
/// Where several waited for the last commit, the next one begins when as many are there or after so
/// long a silence: they come at once, and those that miss it would wait for the disk twice.
const SILENCE: Duration = Duration::from_micros(20);
/// How long they may keep the first of them waiting.
const PATIENCE: Duration = Duration::from_micros(400);
/// A thread that others need too may be held up for so long by the disk.
pub(crate) const QUICK: Duration = Duration::from_micros(500);

/// Who would commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A thread that has nothing else to do
    Patient,
    /// A thread that serves others as well
    Lent,
}

impl Shared {
    /// See to it that what waits is committed, here or by the store's thread.
    pub(crate) fn see_to_it(&self, turn: Turn) {
        let queue = lock(&self.queue);
        let (nobody_waits, here) = (queue.awaited == 0, is_ours(&queue, turn));
        drop(queue);
        // Where nobody waits, somebody has taken it already.
        if nobody_waits || here && self.commit_here(turn) {
            return;
        }
        self.wake();
    }

    /// Commit on this thread, unless somebody is at it. False where somebody else has to go on.
    fn commit_here(&self, turn: Turn) -> bool {
        let Ok(mut writer) = self.writer.try_lock() else {
            return false;
        };
        if !writer.is_ready() {
            return false;
        }
        let mut group = Vec::new();
        lock(&self.queue).take_jobs(&mut group);
        let all = group.len() < GROUP;
        writer.write(self, &mut group, turn);
        let done = group.is_empty();
        let mut queue = lock(&self.queue);
        queue.put_back(group);
        queue.restless.get_or_insert_with(Instant::now);
        let asleep = std::mem::take(&mut queue.asleep);
        drop(queue);
        if asleep {
            self.wake();
        }
        all && done
    }

    /// Commit all that waits on this thread, and take on nothing more, for a process that ends. None
    /// where somebody is at it, or where there is more to do.
    pub(crate) fn finish_here(&self) -> Option<usize> {
        let mut writer = self.writer.try_lock().ok()?;
        if !writer.is_ready() {
            return None;
        }
        let mut group = Vec::new();
        loop {
            let mut queue = lock(&self.queue);
            queue.take_jobs(&mut group);
            if group.is_empty() {
                if queue.is_due() {
                    return None;
                }
                queue.close();
                break;
            }
            drop(queue);
            writer.write(self, &mut group, Turn::Patient);
        }
        let left = writer.finish(self);
        self.rest();
        Some(left)
    }

    /// The store's thread.
    pub(crate) fn serve(&self) {
        struct Gone<'a>(&'a Shared);
        impl Drop for Gone<'_> {
            fn drop(&mut self) {
                // Whoever still waits hears that nobody comes.
                let left = lock(&self.0.queue).abandon();
                drop(left);
            }
        }
        let _gone = Gone(self);
        let opened = self.own_writer().open(self);
        self.opened(opened);
        let mut group = Vec::new();
        loop {
            self.gather();
            let mut writer = self.own_writer();
            lock(&self.queue).take_jobs(&mut group);
            if !group.is_empty() {
                writer.write(self, &mut group, Turn::Patient);
                self.rest();
                continue;
            }
            let chore = lock(&self.queue).take_chore();
            match chore {
                None => {}
                Some(Chore::Erase(done)) => drop(done.send(writer.with(Connection::empty_log))),
                Some(Chore::Compact(done)) => drop(done.send(writer.with(Connection::compact))),
                Some(Chore::Close(done)) => {
                    // Closed before we say so: whoever waits may open it again.
                    let left = writer.close(self);
                    self.rest();
                    let _ = done.send(left);
                    return;
                }
            }
        }
    }

    /// The writer, in whatever state a panic left it.
    fn own_writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(|poisoned| {
            self.writer.clear_poison();
            let mut writer = poisoned.into_inner();
            writer.give_up();
            writer
        })
    }

    /// Wait until there is something to commit.
    fn gather(&self) {
        let (mut begun, mut asked) = (None, None);
        let (mut seen, mut last, mut more) = (0, Instant::now(), false);
        loop {
            let queue = lock(&self.queue);
            if queue.len() == 0 {
                (begun, asked, seen) = (None, None, 0);
                self.idle(queue);
                continue;
            }
            if queue.is_due() {
                return;
            }
            let (count, awaited, crowd) = (queue.len(), queue.awaited, queue.crowd);
            drop(queue);
            let now = Instant::now();
            let since = |begun: &mut Option<Instant>| now - *begun.get_or_insert(now);
            if count != seen {
                (seen, last, more) = (count, now, true);
            }
            if awaited > 0 {
                let patience = since(&mut asked) < PATIENCE;
                if awaited >= crowd || !patience || now - last >= SILENCE {
                    return;
                }
                std::thread::yield_now();
                continue;
            }
            if !more || since(&mut begun) >= LATEST {
                return;
            }
            more = false;
            self.doze();
        }
    }

    /// There is nothing to commit: see to what follows the commits of others, or sleep.
    fn idle(&self, mut queue: MutexGuard<'_, Queue>) {
        let Some(since) = queue.restless else {
            queue.asleep = true;
            drop(queue);
            return std::thread::park();
        };
        let left = GATHER.saturating_sub(since.elapsed());
        if left.is_zero() {
            queue.restless = None;
            drop(queue);
            self.rest();
        } else {
            drop(queue);
            std::thread::park_timeout(left);
        }
    }

    /// Let records gather. Not by waiting for the next one: each would wake us, and whoever hands it
    /// over pays for that. Whoever is in a hurry wakes us; whoever was, while we were at work, must
    /// not cut this short.
    fn doze(&self) {
        let until = Instant::now() + GATHER;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let queue = lock(&self.queue);
            if left.is_zero() || queue.awaited > 0 || queue.is_due() {
                return;
            }
            drop(queue);
            std::thread::park_timeout(left);
        }
    }
}

/// Whether a caller should commit by itself. One of a crowd leaves it to the store's thread, unless
/// all are there who were the last time.
fn is_ours(queue: &Queue, turn: Turn) -> bool {
    let all_there = queue.awaited >= queue.crowd;
    all_there && (turn == Turn::Patient || queue.quick && queue.long == 0)
}
