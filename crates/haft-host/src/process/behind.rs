//! Writing on a thread of its own: what is kept of much output takes as long to put into a file as
//! it takes to read it and look through it.

use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// What is written at once. Files are filled fastest by pieces that begin where such a piece ends.
const PIECE: usize = 64 * 1024;
/// Pieces that wait to be written.
const PIECES: usize = 2;

/// Hands on what it is given. An error shows with a later piece or at the next flush.
pub(super) struct Behind {
    piece: Vec<u8>,
    /// None once the thread was told to end
    pieces: Option<SyncSender<Vec<u8>>>,
    /// Room that was used and can be used again
    used: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Behind {
    pub(super) fn new(mut writer: Box<dyn Write + Send>) -> io::Result<Behind> {
        let (pieces, waiting) = sync_channel::<Vec<u8>>(PIECES);
        let (done, used) = sync_channel(PIECES);
        let thread = thread::Builder::new()
            .name("haft-kept".into())
            .spawn(move || {
                for piece in waiting {
                    writer.write_all(&piece)?;
                    // Where there is enough room already it is not needed.
                    let _ = done.try_send(piece);
                }
                writer.flush()
            })?;
        Ok(Behind {
            piece: Vec::with_capacity(PIECE),
            pieces: Some(pieces),
            used,
            thread: Some(thread),
        })
    }

    fn hand_on(&mut self) -> io::Result<()> {
        let mut room = self.used.try_recv().unwrap_or_default();
        room.clear();
        room.reserve_exact(PIECE);
        let piece = mem::replace(&mut self.piece, room);
        match &self.pieces {
            Some(pieces) if pieces.send(piece).is_ok() => Ok(()),
            _ => self.end(),
        }
    }

    /// How it went, once all is written.
    fn end(&mut self) -> io::Result<()> {
        self.pieces = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => written,
            Some(Err(_)) | None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Write for Behind {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..count]);
        if self.piece.len() == PIECE {
            self.hand_on()?;
        }
        Ok(count)
    }

    /// Nothing can be written after it.
    fn flush(&mut self) -> io::Result<()> {
        self.hand_on()?;
        self.end()
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        // Whoever let it go without a flush does not want to know.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};

    #[test]
    fn everything_is_there_after_a_flush() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut behind = Behind::new(Box::new(file.reopen().unwrap())).unwrap();
        let text: Vec<u8> = (0..1_000_003_u32).map(|n| n.to_le_bytes()[0]).collect();
        for part in text.chunks(4_999) {
            behind.write_all(part).unwrap();
        }
        behind.flush().unwrap();
        assert!(fs::read(file.path()).unwrap() == text);
        assert!(behind.write_all(&text).is_err(), "it is over");
    }

    #[test]
    fn a_full_disk_shows() {
        let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut behind = Behind::new(Box::new(full())).unwrap();
        let mut written = Ok(());
        for _ in 0..20 {
            written = written.and_then(|()| behind.write_all(&[b'x'; PIECE]));
        }
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::StorageFull);
        let mut behind = Behind::new(Box::new(full())).unwrap();
        behind.write_all(b"a little").unwrap();
        let error = behind.flush().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
