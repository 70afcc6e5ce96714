//! A command's output as it comes. One that writes much is read by a thread of its own: the reactor
//! would be woken by each of its writes, and that costs more than the bytes do.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::fcntl_setpipe_size;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;

/// What is read at once; whoever fills it writes much.
const CHUNK: usize = 64 * 1024;
/// Room in the pipe of a command that writes much; more is read after its end than fits there only
/// if somebody else writes.
const WIDE_PIPE: usize = 1024 * 1024;
/// Pieces that wait to be taken; there may be many commands.
const PIECES: usize = 1;
/// How long such a command is left alone while its pipe fills, and how often at most before what
/// there is goes on its way.
const NAPS: usize = 16;
const NAP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000,
};

pub(super) struct Output {
    source: Source,
    buffer: Vec<u8>,
    /// Bytes that are still read after the end
    left: usize,
}

enum Source {
    /// The reactor says when there is something
    Told(Receiver),
    Flood(Flood),
    Ended,
}

impl Output {
    /// From a pipe or a terminal.
    pub(super) fn new(output: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&output, fcntl_getfl(&output)? | OFlags::NONBLOCK)?;
        Ok(Output {
            source: Source::Told(Receiver::from_owned_fd_unchecked(output)?),
            buffer: vec![0; CHUNK],
            left: WIDE_PIPE,
        })
    }

    /// The next bytes; none at the end, and never after it. Nothing is lost when the caller stops
    /// waiting.
    pub(super) async fn next(&mut self) -> Vec<u8> {
        let piece = match &mut self.source {
            Source::Told(pipe) => {
                let count = pipe.read(&mut self.buffer).await.unwrap_or(0);
                self.buffer[..count].to_vec()
            }
            Source::Flood(flood) => flood.pieces.recv().await.unwrap_or_default(),
            Source::Ended => std::future::pending().await,
        };
        match piece.len() {
            0 => self.source = Source::Ended,
            CHUNK => self.expect_much(),
            _ => {}
        }
        piece
    }

    /// More of what the dead have left in the pipe; none at the end of that. No more is read than
    /// fits there: somebody who is not of the family may hold it open for ever.
    pub(super) async fn rest(&mut self) -> Option<Vec<u8>> {
        let piece = match &mut self.source {
            // The kernel is asked directly: the reactor may not have heard of the last bytes yet.
            Source::Told(pipe) if self.left > 0 => {
                let count = rustix::io::read(pipe, self.buffer.as_mut_slice()).unwrap_or(0);
                self.buffer[..count].to_vec()
            }
            Source::Flood(flood) => {
                flood.stop = None;
                flood.pieces.recv().await.unwrap_or_default()
            }
            Source::Told(_) | Source::Ended => Vec::new(),
        };
        self.left = self.left.saturating_sub(piece.len());
        (!piece.is_empty()).then_some(piece)
    }

    /// Let a thread read, where there can be one.
    fn expect_much(&mut self) {
        let Source::Told(pipe) = &self.source else {
            return;
        };
        // Refused to users who have many: then it stays narrow.
        let _ = fcntl_setpipe_size(pipe, WIDE_PIPE);
        let flood = pipe.as_fd().try_clone_to_owned().and_then(Flood::new);
        if let Ok(flood) = flood {
            self.source = Source::Flood(flood);
            self.buffer = Vec::new();
        }
    }
}

/// A thread that reads, and stops when this goes.
struct Flood {
    pieces: mpsc::Receiver<Vec<u8>>,
    /// Nothing is ever written to it: the thread hears that it is gone
    stop: Option<PipeWriter>,
}

impl Flood {
    fn new(pipe: OwnedFd) -> io::Result<Flood> {
        let (stopped, stop) = io::pipe()?;
        let (sender, pieces) = mpsc::channel(PIECES);
        let mut reader = Reader {
            pipe,
            stopped,
            left: None,
        };
        thread::Builder::new()
            .name("haft-output".into())
            .spawn(move || reader.pour(&sender))?;
        Ok(Flood {
            pieces,
            stop: Some(stop),
        })
    }
}

struct Reader {
    pipe: OwnedFd,
    stopped: PipeReader,
    /// Bytes that are still read, once we were told to stop
    left: Option<usize>,
}

impl Reader {
    /// Read until the end, or until nobody wants more.
    fn pour(&mut self, pieces: &mpsc::Sender<Vec<u8>>) {
        loop {
            let mut piece = Vec::with_capacity(CHUNK);
            let more = self.fill(&mut piece);
            let unwanted = !piece.is_empty() && pieces.blocking_send(piece).is_err();
            if !more || unwanted {
                return;
            }
        }
    }

    /// Gather a piece, and say whether there may be another.
    fn fill(&mut self, piece: &mut Vec<u8>) -> bool {
        let mut naps = 0;
        let mut napped = false;
        while piece.len() < CHUNK {
            match rustix::io::read(&self.pipe, spare_capacity(piece)) {
                Ok(0) => return false,
                Ok(count) => {
                    self.left = self.left.map(|left| left.saturating_sub(count));
                    if self.left == Some(0) {
                        return false;
                    }
                    napped = false;
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) if self.left.is_some() => return false,
                // That was all for now.
                Err(Errno::AGAIN) if napped => return true,
                Err(Errno::AGAIN) => {}
                Err(_) => return false,
            }
            // Whoever reads again at once gets little, and is in the command's way.
            if piece.len() < CHUNK && self.left.is_none() {
                if naps == NAPS {
                    return true;
                }
                napped = !piece.is_empty();
                naps += usize::from(napped);
                self.wait(napped);
            }
        }
        true
    }

    /// Wait for the first bytes as long as it takes; a nap leaves the command alone while its pipe
    /// fills, and ends with it.
    fn wait(&mut self, nap: bool) {
        let (what, time) = match nap {
            true => (PollFlags::empty(), Some(&NAP)),
            false => (PollFlags::IN, None),
        };
        let mut both = [
            PollFd::new(&self.stopped, PollFlags::IN),
            PollFd::new(&self.pipe, what),
        ];
        let _ = poll(&mut both, time);
        if !both[0].revents().is_empty() {
            self.left = Some(WIDE_PIPE);
        }
    }
}
