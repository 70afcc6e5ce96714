//! A terminal of a command's own, for programs that want one. Nobody sits at it: what is written
//! to it is its output, and what it reads is written by the process tools.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde::{Deserialize, Serialize};
use tokio::net::unix::pipe::Sender;

/// What a program reads as the end of its input when it stands where a line begins.
const END_OF_INPUT: u8 = 4;

/// How large a terminal says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    pub columns: u16,
    pub rows: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        TerminalSize {
            columns: 80,
            rows: 24,
        }
    }
}

/// What a command reads from and writes to.
#[derive(Debug)]
pub(super) enum Streams {
    /// This input; output and errors go into one pipe
    Piped(Stdio),
    Terminal(Terminal),
}

/// Both ends of a terminal.
#[derive(Debug)]
pub(super) struct Terminal {
    ours: OwnedFd,
    theirs: OwnedFd,
}

impl Terminal {
    pub(super) fn open(size: TerminalSize) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        unlockpt(&ours)?;
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        let size = Winsize {
            ws_row: size.rows,
            ws_col: size.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&theirs, size)?;
        fcntl_setfl(&ours, fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
        Ok(Terminal { ours, theirs })
    }

    /// Where keys are typed.
    pub(super) fn keyboard(&self) -> io::Result<Sender> {
        Sender::from_owned_fd_unchecked(self.ours.try_clone()?)
    }

    /// Let who reads find the end of the input at once.
    pub(super) fn close_input(&self) -> io::Result<()> {
        type_end(&self.ours)
    }
}

/// Type what ends the input.
pub(super) fn type_end(keyboard: impl std::os::fd::AsFd) -> io::Result<()> {
    match rustix::io::write(keyboard, &[END_OF_INPUT]) {
        // Nobody is there any more, or nobody reads.
        Ok(_) | Err(Errno::IO | Errno::AGAIN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Streams {
    /// Give a command its streams, and us the end that its output comes from.
    pub(super) fn connect(self, command: &mut Command) -> io::Result<OwnedFd> {
        match self {
            Streams::Piped(input) => {
                let (output, writer) = io::pipe()?;
                command.stdin(input).stdout(writer.try_clone()?);
                command.stderr(writer);
                Ok(output.into())
            }
            Streams::Terminal(Terminal { ours, theirs }) => {
                command.stdin(theirs.try_clone()?);
                command.stdout(theirs.try_clone()?).stderr(theirs);
                Ok(ours)
            }
        }
    }
}
