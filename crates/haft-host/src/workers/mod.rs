//! Worker processes: a few of our own, in which commands run and files are read and written, so
//! that a job which takes too much memory or crashes takes nobody else along. A worker has one
//! job at a time; whoever finds none free waits, first come, first served. One that dies is
//! replaced at once; where none can be started, the next try waits longer each time.
//!
//! Who may do what was decided before a job comes here: a worker does a power's part of a call
//! and knows no policy. What outlives its call (sessions, dry runs) stays in the first process.

mod backoff;
mod hand;
mod job;
mod wire;
mod worker;

use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::{CancelToken, ToolError};
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

pub(crate) use job::{Bytes, Job, RunJob, Setup, base64_bytes};
pub use worker::worker_main;

use crate::files::cancelled;
use crate::process::Guardian;
use backoff::Backoff;
use hand::{Broken, Hand};

/// How long a call waits for a worker that could not be started before it is answered with that.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many workers, and of what kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkersConfig {
    /// Program and arguments that end in [`worker_main`]
    pub program: Vec<OsString>,
    /// Variables it needs besides those that any command gets
    pub variables: Vec<(OsString, OsString)>,
    /// Workers at once, at least one
    pub count: usize,
    /// Bytes of memory that one of them may have
    pub memory: u64,
    /// How long to wait after a start that failed; twice as long after the next one
    pub first_pause: Duration,
}

impl WorkersConfig {
    pub const COUNT: usize = 4;
    pub const MEMORY: u64 = 256 << 20;

    pub fn new(program: Vec<OsString>) -> Self {
        WorkersConfig {
            program,
            variables: Vec::new(),
            count: Self::COUNT,
            memory: Self::MEMORY,
            first_pause: Duration::from_secs(1),
        }
    }
}

/// The workers of one haft. They are started when first needed and end with the last of these.
#[derive(Debug, Clone)]
pub struct Workers {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: WorkersConfig,
    setup: Setup,
    guardian: Option<Arc<Guardian>>,
    /// As many as there may be workers. Invariant: who holds no permit has no worker, but the
    /// idle ones, of which there are never more than free permits.
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Hand>>,
    backoff: Mutex<Backoff>,
}

/// A worker for one job.
struct Lease {
    hand: Hand,
    permit: OwnedSemaphorePermit,
}

impl Workers {
    pub(crate) fn new(
        config: WorkersConfig,
        setup: Setup,
        guardian: Option<Arc<Guardian>>,
    ) -> Self {
        Workers {
            inner: Arc::new(Inner {
                permits: Arc::new(Semaphore::new(config.count.max(1))),
                idle: Mutex::default(),
                backoff: Mutex::new(Backoff::new(config.first_pause)),
                setup: setup.within(config.memory),
                config,
                guardian,
            }),
        }
    }

    pub fn config(&self) -> &WorkersConfig {
        &self.inner.config
    }

    /// Why no worker can be started, if so.
    pub async fn trouble(&self) -> Option<String> {
        match self.inner.start() {
            Ok(starting) => starting.await.err(),
            Err(error) => Some(error),
        }
    }

    /// Have a job done, when a worker is free. `live` hears what a command writes. When this
    /// future is dropped, the job is ended and its worker with it.
    pub(crate) async fn ask<A: DeserializeOwned>(
        &self,
        job: &Job,
        cancel: &CancelToken,
        live: &mut (dyn FnMut(&str) + Send),
    ) -> Result<A, ToolError> {
        let mut lease = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            lease = self.lease() => lease?,
        };
        let done = lease.hand.ask(job, cancel, live).await;
        match done {
            Ok(answer) => {
                // Before the permit, so that who gets that finds the worker.
                lock(&self.inner.idle).push(lease.hand);
                drop(lease.permit);
                answer
            }
            Err(broken) => {
                let error = self.told(&broken, job);
                self.replace(lease);
                match broken {
                    Broken::Deaf => Err(cancelled()),
                    _ => Err(error),
                }
            }
        }
    }

    async fn lease(&self) -> Result<Lease, ToolError> {
        let permits = self.inner.permits.clone();
        let permit = permits.acquire_owned().await.map_err(|closed| {
            ToolError::not_available("the workers have been dismissed").caused_by(closed)
        })?;
        let hand = match self.inner.idle_hand() {
            Some(hand) => hand,
            None => self.started().await?,
        };
        Ok(Lease { hand, permit })
    }

    /// A new worker, after the pause that failed starts have earned.
    async fn started(&self) -> Result<Hand, ToolError> {
        let patience = Instant::now() + PATIENCE;
        loop {
            let (next, why) = lock(&self.inner.backoff).next_try();
            if next > patience {
                let wait = next.saturating_duration_since(Instant::now()).as_secs() + 1;
                let error = ToolError::not_available(format!("no worker can be started: {why}"));
                return Err(error.hint(format!(
                    "the next try is in {wait} s; a person can see more with `haft doctor`, or \
                     switch workers off with `workers.enabled: false` in the config"
                )));
            }
            sleep_until(next).await;
            // Somebody else may have tried meanwhile.
            if lock(&self.inner.backoff).next_try().0 > next {
                continue;
            }
            if let Some(hand) = self.inner.try_start().await {
                return Ok(hand);
            }
        }
    }

    /// End a worker that is of no more use and start another one at once.
    fn replace(&self, lease: Lease) {
        let Lease { hand, permit } = lease;
        drop(hand);
        // Not from within: a pool that is being dropped needs no new worker.
        let inner = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            if let Some(inner) = inner.upgrade()
                && let Some(hand) = inner.try_start().await
            {
                lock(&inner.idle).push(hand);
            }
            drop(permit);
        });
    }

    fn told(&self, broken: &Broken, job: &Job) -> ToolError {
        let memory = self.inner.config.memory >> 20;
        let error = ToolError::failed(format!("the worker of this call died: {broken}"));
        let hint = match (broken.lacked_memory(), job.changes()) {
            (true, _) => format!(
                "it may have {memory} MB (`workers.memory_mb` in the config): ask for less at once"
            ),
            (false, true) => {
                "look what it has done by then before you try again; the next call has a new worker"
                    .to_owned()
            }
            (false, false) => "try again: the next call has a new worker".to_owned(),
        };
        error.hint(hint)
    }
}

impl Inner {
    /// A worker that waits for a job and lives. One that was killed meanwhile is forgotten.
    fn idle_hand(&self) -> Option<Hand> {
        loop {
            let hand = lock(&self.idle).pop()?;
            if hand.lives() {
                return Some(hand);
            }
        }
    }

    async fn try_start(&self) -> Option<Hand> {
        let started = match self.start() {
            Ok(starting) => starting.await,
            Err(error) => Err(error),
        };
        let mut backoff = lock(&self.backoff);
        match started {
            Ok(hand) => {
                backoff.succeeded();
                Some(hand)
            }
            Err(why) => {
                backoff.failed(why);
                None
            }
        }
    }

    fn start(&self) -> Result<impl Future<Output = Result<Hand, String>> + use<'_>, String> {
        hand::start(&self.config, &self.setup, self.guardian.clone())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
