//! A command's output as it comes, as text. One that writes much is read by a thread of its own: the
//! reactor would be woken by each of its writes, and that costs more than the bytes do.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::fcntl_setpipe_size;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;

use super::spare;
use super::text::{Decoder, Piece};

/// What is read at once; whoever fills it writes much.
const CHUNK: usize = 64 * 1024;
/// The largest piece of what such a command writes: fewer are fewer threads to be woken. Where many
/// commands write much, each has its part of the room for all.
const LARGE: usize = spare::SIZE;
const ROOM: usize = 1024 * 1024;
/// Room in the pipe of a command that writes much; more is read after its end than fits there only
/// if somebody else writes.
const WIDE_PIPE: usize = 1024 * 1024;
/// Pieces that wait to be taken; there may be many commands.
const PIECES: usize = 1;
/// The most that is read after the end: what fits into the pipe, and pieces that wait here.
const LAST: usize = WIDE_PIPE + (PIECES + 2) * LARGE;
/// How long such a command is left alone while its pipe fills, and how often at most before what
/// there is goes on its way.
const NAPS: usize = 16;
const NAP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000,
};

pub(super) struct Output {
    source: Source,
    decoder: Decoder,
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
            decoder: Decoder::default(),
            buffer: vec![0; CHUNK],
            left: LAST,
        })
    }

    /// The next piece; an empty one at the end, and none after it. Nothing is lost when the caller
    /// stops waiting.
    pub(super) async fn next(&mut self) -> Piece {
        let piece = match &mut self.source {
            Source::Told(pipe) => {
                let count = pipe.read(&mut self.buffer).await.unwrap_or(0);
                self.decoder.push(self.buffer[..count].to_vec())
            }
            Source::Flood(flood) => flood.pieces.recv().await.unwrap_or_default(),
            Source::Ended => std::future::pending().await,
        };
        if piece.is_end() {
            self.source = Source::Ended;
        } else if piece.bytes == CHUNK {
            self.expect_much();
        }
        piece
    }

    /// More of what the dead have left in the pipe; none at the end of that. No more is read than
    /// fits there: somebody who is not of the family may hold it open for ever.
    pub(super) async fn rest(&mut self) -> Option<Piece> {
        let piece = match &mut self.source {
            // The kernel is asked directly: the reactor may not have heard of the last bytes yet.
            Source::Told(pipe) if self.left > 0 => {
                let count = rustix::io::read(pipe, self.buffer.as_mut_slice()).unwrap_or(0);
                self.decoder.push(self.buffer[..count].to_vec())
            }
            Source::Flood(flood) if self.left > 0 => {
                flood.stop = None;
                flood.pieces.recv().await.unwrap_or_default()
            }
            Source::Told(_) | Source::Flood(_) | Source::Ended => Piece::default(),
        };
        self.left = self.left.saturating_sub(piece.bytes);
        if !piece.is_end() {
            return Some(piece);
        }
        self.source = Source::Ended;
        self.decoder.finish()
    }

    /// Let a thread read, where there can be one.
    fn expect_much(&mut self) {
        let Source::Told(pipe) = &self.source else {
            return;
        };
        // Refused to users who have many: then it stays narrow.
        let _ = fcntl_setpipe_size(pipe, WIDE_PIPE);
        let pipe = pipe.as_fd().try_clone_to_owned();
        let flood = pipe.and_then(|pipe| Flood::new(pipe, self.decoder.clone()));
        if let Ok(flood) = flood {
            self.decoder = Decoder::default();
            self.source = Source::Flood(flood);
            self.buffer = Vec::new();
        }
    }
}

/// A thread that reads, and stops when this goes.
struct Flood {
    pieces: mpsc::Receiver<Piece>,
    /// Nothing is ever written to it: the thread hears that it is gone
    stop: Option<PipeWriter>,
}

impl Flood {
    fn new(pipe: OwnedFd, decoder: Decoder) -> io::Result<Flood> {
        let (stopped, stop) = io::pipe()?;
        let (sender, pieces) = mpsc::channel(PIECES);
        let mut reader = Reader {
            pipe,
            stopped,
            decoder,
            left: None,
            _share: Share::take(),
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
    decoder: Decoder,
    /// Bytes that are still read, once we were told to stop
    left: Option<usize>,
    _share: Share,
}

/// How many commands write much.
static SHARES: AtomicUsize = AtomicUsize::new(0);

/// A part of the room for all.
struct Share;

impl Share {
    fn take() -> Self {
        SHARES.fetch_add(1, Ordering::Relaxed);
        Share
    }

    /// How large each one is.
    fn size() -> usize {
        let shares = SHARES.load(Ordering::Relaxed).max(1);
        (ROOM / shares).clamp(CHUNK, LARGE)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        SHARES.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Reader {
    /// Read until the end, or until nobody wants more.
    fn pour(&mut self, pieces: &mpsc::Sender<Piece>) {
        loop {
            let mut bytes = spare::take(Share::size());
            let more = self.fill(&mut bytes);
            let piece = self.decoder.push(bytes);
            if !piece.is_end() && pieces.blocking_send(piece).is_err() {
                return;
            }
            if !more {
                break;
            }
        }
        if let Some(last) = self.decoder.finish() {
            let _ = pieces.blocking_send(last);
        }
    }

    /// Fill a piece, and say whether there may be another.
    fn fill(&mut self, piece: &mut Vec<u8>) -> bool {
        let mut naps = 0;
        let mut napped = false;
        while piece.len() < piece.capacity() {
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
            if piece.len() < piece.capacity() && self.left.is_none() {
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
