//! Calls that go on in the background. They belong to the session that started them and end with
//! the process at the latest.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use haft_core::{CancelToken, Outcome, Run, ToolError};
use tokio::sync::Notify;

use crate::ids;

/// Calls of one session that may go on at once.
const MOST_RUNNING: usize = 32;
/// Calls of one session that are remembered.
const MOST_KEPT: usize = 200;
/// Characters of an id.
const ID: usize = 12;

#[derive(Default)]
pub(crate) struct Runs {
    all: Mutex<VecDeque<Kept>>,
    ended: Notify,
}

struct Kept {
    id: String,
    tool: Arc<str>,
    started: Instant,
    cancel: CancelToken,
    outcome: Option<Arc<Outcome>>,
}

impl Kept {
    fn report(&self) -> Run {
        Run {
            id: self.id.clone(),
            tool: self.tool.clone(),
            age: self.started.elapsed(),
            cancelled: self.cancel.is_cancelled(),
            outcome: self.outcome.clone(),
        }
    }
}

impl Runs {
    /// A place for a call that is about to start.
    pub(crate) fn open(&self, tool: Arc<str>, cancel: CancelToken) -> Result<String, ToolError> {
        let id = ids::secret_id()
            .map_err(|error| ToolError::failed("no randomness for an id").caused_by(error))?;
        let id = id[..ID].to_owned();
        let mut all = self.lock();
        let running = all.iter().filter(|kept| kept.outcome.is_none()).count();
        if running >= MOST_RUNNING {
            return Err(ToolError::not_available(format!(
                "{running} calls are running in the background already"
            ))
            .hint("wait for one of them, or cancel it"));
        }
        if all.len() >= MOST_KEPT
            && let Some(oldest) = all.iter().position(|kept| kept.outcome.is_some())
        {
            all.remove(oldest);
        }
        all.push_back(Kept {
            id: id.clone(),
            tool,
            started: Instant::now(),
            cancel,
            outcome: None,
        });
        Ok(id)
    }

    pub(crate) fn end(&self, id: &str, outcome: Outcome) {
        if let Some(kept) = self.lock().iter_mut().find(|kept| kept.id == id) {
            kept.tool = outcome.tool.clone();
            kept.outcome = Some(Arc::new(outcome));
        }
        self.ended.notify_waiters();
    }

    pub(crate) fn get(&self, id: &str) -> Option<Run> {
        self.lock()
            .iter()
            .find(|kept| kept.id == id)
            .map(Kept::report)
    }

    pub(crate) fn list(&self) -> Vec<Run> {
        self.lock().iter().map(Kept::report).collect()
    }

    pub(crate) fn cancel(&self, id: &str) -> Option<Run> {
        let cancel = self
            .lock()
            .iter()
            .find(|kept| kept.id == id)
            .filter(|kept| kept.outcome.is_none())
            .map(|kept| kept.cancel.clone());
        if let Some(cancel) = cancel {
            cancel.cancel();
        }
        self.get(id)
    }

    /// How a call stands once it has ended, or `patience` is over.
    pub(crate) async fn wait(&self, id: &str, patience: Duration) -> Option<Run> {
        let over = async {
            loop {
                let ended = self.ended.notified();
                let run = self.get(id)?;
                if run.outcome.is_some() {
                    return Some(run);
                }
                ended.await;
            }
        };
        match tokio::time::timeout(patience, over).await {
            Ok(run) => run,
            Err(_) => self.get(id),
        }
    }

    /// Tell every call to stop, and wait until all have, or `patience` is over.
    pub(crate) async fn end_all(&self, patience: Duration) {
        let running = || self.list().into_iter().filter(|run| run.outcome.is_none());
        for run in running() {
            self.cancel(&run.id);
        }
        let over = async {
            loop {
                let ended = self.ended.notified();
                if running().next().is_none() {
                    return;
                }
                ended.await;
            }
        };
        // Whoever does not stop in time is dropped with the process.
        let _ = tokio::time::timeout(patience, over).await;
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
