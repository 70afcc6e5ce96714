//! Writing on a thread of its own: what is kept of much output takes as long to put into a file as
//! it takes to read it and look through it.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::record::Place;
use super::spare;

/// Pieces that wait to be written.
const PIECES: usize = 2;

/// Hands on what it is given. An error shows with a later piece or at the end.
pub(super) struct Behind {
    /// None once the thread was told to end
    pieces: Option<SyncSender<String>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Behind {
    pub(super) fn new(writer: Box<dyn Write + Send>) -> io::Result<Behind> {
        let (pieces, waiting) = sync_channel(PIECES);
        let thread = thread::Builder::new()
            .name("haft-kept".into())
            .spawn(move || write(writer, waiting))?;
        Ok(Behind {
            pieces: Some(pieces),
            thread: Some(thread),
        })
    }
}

fn write(mut writer: Box<dyn Write + Send>, pieces: Receiver<String>) -> io::Result<()> {
    for piece in pieces {
        writer.write_all(piece.as_bytes())?;
        spare::give(piece);
    }
    writer.flush()
}

impl Place for Behind {
    fn put(&mut self, piece: String) -> io::Result<()> {
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

impl Drop for Behind {
    fn drop(&mut self) {
        // Whoever let it go before the end does not want to know.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};

    #[test]
    fn everything_is_there_at_the_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut behind = Behind::new(Box::new(file.reopen().unwrap())).unwrap();
        let pieces: Vec<String> = (0..1_003).map(|n| n.to_string().repeat(1_000)).collect();
        for piece in &pieces {
            behind.put(piece.clone()).unwrap();
        }
        behind.end().unwrap();
        assert!(fs::read_to_string(file.path()).unwrap() == pieces.concat());
        assert!(behind.put("more".to_owned()).is_err(), "it is over");
    }

    #[test]
    fn a_full_disk_shows() {
        let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut behind = Behind::new(Box::new(full())).unwrap();
        let mut written = Ok(());
        for _ in 0..20 {
            written = written.and_then(|()| behind.put("x".repeat(1 << 16)));
        }
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::StorageFull);
        let mut behind = Behind::new(Box::new(full())).unwrap();
        behind.put("a little".to_owned()).unwrap();
        let error = behind.end().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
