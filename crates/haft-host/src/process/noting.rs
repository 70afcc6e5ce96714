//! Keeps what a command changes, while it runs: a thread of its own listens to the kernel.

use std::path::Path;
use std::thread;

use rustix::process::Pid;
use tokio::sync::oneshot;

use super::Inner;
use super::started::Pending;
use crate::undo::{Lost, Mark};
use crate::watch::{Seen, Watcher};

/// A command whose changes are noted, if they are.
pub(super) enum Noting {
    /// Nobody wants them
    Off,
    Ready(Box<Watcher>),
    Running(oneshot::Receiver<Seen>),
    /// They cannot be, for this reason
    Failed(String),
}

impl Noting {
    pub(super) fn begin(inner: &Inner, mark: Option<Mark>) -> Self {
        let Some(mark) = mark.filter(|_| inner.config.watched.is_some()) else {
            return Noting::Off;
        };
        let workspace = &inner.workspace;
        let recorder = match workspace.recorder(mark) {
            Ok(Some(recorder)) => recorder,
            Ok(None) => return Noting::Off,
            Err(error) => return Noting::Failed(error.message),
        };
        let roots = match workspace.open_roots() {
            Ok(roots) => roots,
            Err(error) => return Noting::Failed(error.message),
        };
        match Watcher::new(recorder, roots, workspace.home().to_owned()) {
            Ok(watcher) => Noting::Ready(Box::new(watcher)),
            Err(error) => Noting::Failed(format!("it could not be watched: {error}")),
        }
    }

    /// The name that the command is told.
    pub(super) fn watcher(&self) -> Option<&str> {
        match self {
            Noting::Ready(watcher) => Some(watcher.name()),
            _ => None,
        }
    }

    /// The command has started.
    pub(super) fn follow(&mut self, leader: Pid) {
        let Noting::Ready(watcher) = std::mem::replace(self, Noting::Off) else {
            return;
        };
        let (tell, told) = oneshot::channel();
        let pending = Pending::new();
        let thread = thread::Builder::new()
            .name("haft-noting".into())
            .spawn(move || {
                // Nobody may listen any more: it is on the disk all the same.
                let _ = tell.send(watcher.follow(leader));
                drop(pending);
            });
        *self = match thread {
            Ok(_) => Noting::Running(told),
            Err(error) => Noting::Failed(format!("it could not be watched: {error}")),
        };
    }

    /// The command has ended: what it changed that cannot be put back.
    pub(super) async fn end(self, workspace: &Path) -> Vec<Lost> {
        let (mut lost, trouble) = match self {
            Noting::Off => return Vec::new(),
            Noting::Ready(_) => (Vec::new(), Some("it was never watched".to_owned())),
            Noting::Failed(why) => (Vec::new(), Some(why)),
            Noting::Running(told) => match told.await {
                Ok(seen) => (seen.lost, seen.trouble),
                Err(_) => (Vec::new(), Some("whoever watched it is gone".to_owned())),
            },
        };
        lost.extend(trouble.map(|why| Lost {
            path: workspace.to_owned(),
            why: format!("not all changes of the command are known: {why}"),
        }));
        lost
    }
}
