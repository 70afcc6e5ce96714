//! The handle everybody holds. Writes wait for one writer, and whoever has it joins all that waits
//! into one commit; reads run where they are asked for, each on a connection of its own.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::queue::{Chore, GROUP, Job, Message, Queue, Work};
use crate::sqlite::{Connection, Writer};
use crate::turn::Turn;
use crate::{StoreError, Tx, paths};

/// Records that may wait unwritten before callers have to wait too.
const MOST_WAITING: usize = 50_000;
/// Connections kept for readers.
const MOST_READERS: usize = 4;

/// What has to be true before a write is called done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// It survives the death of the process
    Process,
    /// It survives the loss of power
    Power,
}

/// What has lasted, and what shall last. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
    /// The last handle to go takes the writer with it
    _closer: Arc<Closer>,
}

struct Closer(Arc<Shared>);

impl Drop for Closer {
    fn drop(&mut self) {
        self.0.close();
    }
}

pub(crate) struct Shared {
    path: PathBuf,
    pub(crate) queue: Mutex<Queue>,
    /// Held by whoever commits
    pub(crate) writer: Mutex<Writer>,
    pub(crate) waiting: AtomicUsize,
    pub(crate) room: (Mutex<()>, Condvar),
    opened: (Mutex<Option<Result<(), StoreError>>>, Condvar),
    idle: Mutex<Vec<Connection>>,
    /// Why work that nobody waits for could not be written, the last time
    trouble: Mutex<Option<StoreError>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// What follows commits, soon and once for many
    rest: Box<dyn Fn() + Send + Sync>,
}

/// A lock that a panic elsewhere does not take away.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Start to open the store in this file, making it if it is not there. Opening goes on beside
    /// the caller: work may be handed over at once, and [`Store::ready`] tells how it went.
    pub fn open(path: &Path) -> Store {
        Store::with_rest(path, || {})
    }

    /// The same with something to do after commits, which nobody waits for: it is done soon, once
    /// for those that come at once.
    pub(crate) fn with_rest(path: &Path, rest: impl Fn() + Send + Sync + 'static) -> Store {
        let shared = Arc::new(Shared {
            path: path.to_owned(),
            queue: Mutex::new(Queue::new()),
            writer: Mutex::default(),
            waiting: AtomicUsize::new(0),
            room: (Mutex::new(()), Condvar::new()),
            opened: (Mutex::new(None), Condvar::new()),
            idle: Mutex::default(),
            trouble: Mutex::default(),
            thread: Mutex::default(),
            rest: Box::new(rest),
        });
        let writing = shared.clone();
        let started = std::thread::Builder::new()
            .name("haft-store".to_owned())
            .spawn(move || writing.serve());
        match started {
            Ok(thread) => *lock(&shared.thread) = Some(thread),
            Err(error) => {
                lock(&shared.queue).close();
                shared.opened(Err(StoreError::io("no thread for the store", &error)));
            }
        }
        Store {
            _closer: Arc::new(Closer(shared.clone())),
            shared,
        }
    }

    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Wait until the store is open. A damaged one answers with what is wrong, and so does one that
    /// is not to be written; both can be read as far as they go.
    pub fn ready(&self) -> Result<(), StoreError> {
        let (state, told) = &self.shared.opened;
        let mut state = lock(state);
        loop {
            match &*state {
                Some(result) => return result.clone(),
                None => state = told.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Hand over work that nobody waits for. It is tried again until it stands; only a crowd of
    /// such work makes the caller wait.
    pub fn hand_over(
        &self,
        work: impl FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send + 'static,
    ) {
        self.leave(Box::new(work), false);
    }

    /// The same for work that touches a few rows and no file.
    pub(crate) fn hand_over_rows(
        &self,
        work: impl FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send + 'static,
    ) {
        self.leave(Box::new(work), true);
    }

    fn leave(&self, work: Work, brief: bool) {
        self.make_room();
        let waiting = self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        let mut queue = lock(&self.shared.queue);
        queue.push(Message::Job(Job {
            work,
            durability: Durability::Process,
            brief,
            done: None,
        }));
        let asleep = std::mem::take(&mut queue.asleep);
        drop(queue);
        if asleep || waiting >= GROUP {
            self.shared.wake();
        }
    }

    /// Do work in a transaction and answer once it stands. The work may run again from its start
    /// if the first try could not be finished.
    pub fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Writing<T> {
        self.begin(durability, false, work)
    }

    /// The same for work that touches a few rows and no file: where the disk is quick it is done on
    /// the thread that asks for it.
    pub(crate) fn write_rows<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Writing<T> {
        self.begin(durability, true, work)
    }

    fn begin<T: Send + 'static>(
        &self,
        durability: Durability,
        brief: bool,
        mut work: impl FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Writing<T> {
        let value = Arc::new(Mutex::new(None));
        let (sender, done) = oneshot::channel();
        let slot = value.clone();
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        lock(&self.shared.queue).push(Message::Job(Job {
            work: Box::new(move |tx| {
                *lock(&slot) = Some(work(tx)?);
                Ok(())
            }),
            durability,
            brief,
            done: Some(sender),
        }));
        Writing {
            store: self.clone(),
            value,
            done,
            seen_to: false,
        }
    }

    /// Wait until all that was handed over is written, and what follows the commits is done as well.
    pub fn caught_up(&self) -> Result<(), StoreError> {
        let handed_over = self.write(Durability::Process, |_| Ok(()));
        handed_over.wait()?;
        // What follows a commit is done before the next one begins.
        self.write(Durability::Process, |_| Ok(())).wait()?;
        self.shared.rest();
        Ok(())
    }

    fn send(&self, chore: Chore) {
        // Whoever waits on a closed store hears of it through the dropped sender.
        lock(&self.shared.queue).push(Message::Chore(chore));
        self.shared.wake();
    }

    fn make_room(&self) {
        if self.shared.waiting.load(Ordering::Relaxed) < MOST_WAITING {
            return;
        }
        let (room, changed) = &self.shared.room;
        // A store that cannot be written must not stop readers for good.
        let until = Instant::now() + Duration::from_secs(2);
        let mut guard = lock(room);
        while self.shared.waiting.load(Ordering::Relaxed) >= MOST_WAITING {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            guard = changed
                .wait_timeout(guard, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Read, on this thread, from one unchanging state of the store.
    pub fn read<T>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let closed = match self.ready() {
            // What is left of a damaged store may still be read.
            Ok(()) | Err(StoreError::Damaged(_)) => None,
            Err(error @ StoreError::ReadOnly(_)) => Some(error),
            Err(error) => return Err(error),
        };
        let kept = lock(&self.shared.idle).pop();
        let mut connection = match kept {
            Some(connection) => connection,
            None => Connection::reader(&self.shared.path)?,
        };
        // Nobody could bring its tables up to date.
        if let Some(error) = closed
            && connection.version()? != crate::VERSION
        {
            return Err(error);
        }
        let result = connection.reading(work);
        let mut idle = lock(&self.shared.idle);
        if result.is_ok() && idle.len() < MOST_READERS {
            idle.push(connection);
        }
        result
    }

    /// The same for a few rows, through the writer's connection where nobody writes: the first look
    /// of a process then needs no connection of its own. Where opening takes long, as with a file that
    /// has to be looked through, it is not waited for (`Busy`).
    pub(crate) fn glance<T>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        const SOON: Duration = Duration::from_millis(20);
        let (state, told) = &self.shared.opened;
        let opening = |state: &mut Option<_>| state.is_none();
        let (state, _) = told
            .wait_timeout_while(lock(state), SOON, opening)
            .unwrap_or_else(PoisonError::into_inner);
        state.clone().unwrap_or(Err(StoreError::Busy))?;
        drop(state);
        match self.shared.writer.try_lock() {
            Ok(mut writer) if writer.is_ready() => {
                writer.with(|connection| connection.reading(work))
            }
            _ => self.read(work),
        }
    }

    /// The same away from threads that must not wait.
    pub async fn reading<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.clone();
        match tokio::task::spawn_blocking(move || store.read(work)).await {
            Ok(result) => result,
            Err(error) => Err(StoreError::Failed(error.to_string())),
        }
    }

    /// Empty the write-ahead log, so that nothing of what was deleted is left in it.
    pub async fn erase_traces(&self) -> Result<(), StoreError> {
        let (sender, done) = oneshot::channel();
        self.send(Chore::Erase(sender));
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Give the room of what was deleted back to the disk, where that is worth the work.
    pub fn compact(&self) -> Result<(), StoreError> {
        let (sender, done) = oneshot::channel();
        self.send(Chore::Compact(sender));
        parked(done).map_err(|_| StoreError::Closed)?
    }

    /// Look at a store that nobody here has opened, without making or changing anything. None
    /// where there is none, or where it is older than what is looked for.
    pub fn peek<T>(
        path: &Path,
        version: i64,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        if !path.exists() {
            return Ok(None);
        }
        paths::seen_file(path)?;
        let mut connection = Connection::reader(path)?;
        match connection.version()? {
            found if found > crate::VERSION => Err(StoreError::Newer {
                found,
                known: crate::VERSION,
            }),
            found if found < version => Ok(None),
            _ => connection.reading(work).map(Some),
        }
    }

    /// Write what is left and end. Says how many records could not be written;
    /// [`Store::trouble`] says why.
    pub fn close(&self) -> usize {
        self.shared.close()
    }

    /// The same for a process that ends: on this thread, which has nothing else to do. What goes with
    /// the process is not taken down, but nothing more is taken on.
    pub fn finish(&self) -> usize {
        let finished = self.shared.finish_here();
        finished.unwrap_or_else(|| self.close())
    }

    /// Why work that was handed over could not be written, the last time that happened.
    pub fn trouble(&self) -> Option<StoreError> {
        lock(&self.shared.trouble).clone()
    }
}

impl Shared {
    fn close(&self) -> usize {
        lock(&self.idle).clear();
        let (sender, done) = mpsc::sync_channel(1);
        let mut queue = lock(&self.queue);
        queue.push(Message::Chore(Chore::Close(sender)));
        if !queue.close() {
            return 0;
        }
        drop(queue);
        self.wake();
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // The last handle may go with work that the writer was given: it ends by itself then.
            if thread.thread().id() == std::thread::current().id() {
                return 0;
            }
            let _ = thread.join();
        }
        // A writer that died without a word left everything unwritten.
        done.recv()
            .unwrap_or_else(|_| self.waiting.load(Ordering::Relaxed))
    }

    /// What is there now is not to wait for more: the store's thread looks at it.
    pub(crate) fn wake(&self) {
        if let Some(writer) = &*lock(&self.thread) {
            writer.thread().unpark();
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn rest(&self) {
        (self.rest)();
    }

    pub(crate) fn troubled(&self, error: &StoreError) {
        *lock(&self.trouble) = Some(error.clone());
    }

    pub(crate) fn opened(&self, result: Result<(), StoreError>) {
        *lock(&self.opened.0) = Some(result);
        self.opened.1.notify_all();
    }
}

/// A write on its way.
#[must_use = "without waiting nobody knows whether it stands"]
pub struct Writing<T> {
    /// Held while we commit for others too: the last handle waits for the writer, and must not go
    /// with work of theirs.
    store: Store,
    value: Arc<Mutex<Option<T>>>,
    done: oneshot::Receiver<Result<(), StoreError>>,
    /// Somebody knows that it waits
    seen_to: bool,
}

impl<T> Writing<T> {
    /// Wait on this thread, also on one that an async runtime has lent us.
    pub fn wait(mut self) -> Result<T, StoreError> {
        self.see_to_it(Turn::Patient);
        let done = parked(&mut self.done);
        settled(&self.value, done)
    }

    pub async fn done(mut self) -> Result<T, StoreError> {
        if self.done.is_empty() {
            // Others who are ready come first: what they hand over goes into the same commit.
            tokio::task::yield_now().await;
        }
        if self.done.is_empty() {
            self.see_to_it(Turn::Lent);
        }
        let done = (&mut self.done).await;
        self.seen_to = true;
        settled(&self.value, done)
    }

    fn see_to_it(&mut self, turn: Turn) {
        self.seen_to = true;
        self.store.shared.see_to_it(turn);
    }
}

/// Whoever does not wait for it wants it done all the same.
impl<T> Drop for Writing<T> {
    fn drop(&mut self) {
        if !self.seen_to {
            self.store.shared.wake();
        }
    }
}

fn settled<T>(
    value: &Mutex<Option<T>>,
    done: Result<Result<(), StoreError>, oneshot::error::RecvError>,
) -> Result<T, StoreError> {
    done.map_err(|_| StoreError::Closed)??;
    lock(value).take().ok_or(StoreError::Closed)
}

/// Stand still until a future is ready. The writer is a thread of its own, so whoever waits here
/// keeps nobody from finishing.
fn parked<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    // Without a budget of turns: there is no scheduler here that could give a new one.
    let mut future = pin!(tokio::task::unconstrained(future));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}
