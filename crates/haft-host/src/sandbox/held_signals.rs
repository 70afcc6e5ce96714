//! Signals that come while the view is being built. The first process of a pid namespace ignores
//! whatever it has no handler for, so a SIGTERM of that moment would be lost and the command run as
//! if nobody had said anything. So launcher and first process block them all; what waits is handed
//! on, from the one to the other and from there to the command, before that begins.

use std::io::{self, PipeReader, PipeWriter, Read};

use rustix::process::{Pid, kill_process};

use super::sys;

/// A place where a child waits until what came before it has been handed on.
pub(super) struct Gate {
    closed: PipeReader,
    key: PipeWriter,
}

impl Gate {
    pub(super) fn new() -> io::Result<Self> {
        let (closed, key) = io::pipe()?;
        Ok(Gate { closed, key })
    }

    /// The parent's part: hand on what waits here, then let the child go. It is one of the same
    /// group, so what comes later reaches it directly.
    pub(super) fn open(self, child: Pid) {
        for signal in sys::waiting_signals() {
            let _ = kill_process(child, signal);
        }
    }

    /// The child's part.
    pub(super) fn pass(self) {
        drop(self.key);
        let mut closed = self.closed;
        // Ends when the other one lets go of its end, or is gone.
        let _ = closed.read(&mut [0]);
    }
}
