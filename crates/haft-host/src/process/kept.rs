//! Where much output is kept. As long as the file takes it at once it is written here: the pieces are
//! still at hand, and one thread more would be in the way of the command. Once the disk makes us wait
//! that is left to a thread of its own, so that nobody else has to.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::spare;

/// Pieces that wait to be written.
const PIECES: usize = 2;

/// What takes longer than this was not taken at once.
const AT_ONCE: Duration = Duration::from_millis(2);

/// The file of a whole output.
pub(super) enum Kept {
    Here(Box<dyn Write + Send>),
    Behind(Behind),
    /// Nothing can be put there any more
    Lost,
}

impl Kept {
    /// An error shows now or later.
    pub(super) fn put(&mut self, piece: String) -> io::Result<()> {
        let writer = match self {
            Kept::Here(writer) => writer,
            Kept::Behind(behind) => return behind.put(piece),
            Kept::Lost => return Err(io::ErrorKind::BrokenPipe.into()),
        };
        let since = Instant::now();
        writer.write_all(piece.as_bytes())?;
        spare::give(piece);
        if since.elapsed() > AT_ONCE
            && let Kept::Here(writer) = std::mem::replace(self, Kept::Lost)
        {
            *self = Kept::Behind(Behind::new(writer)?);
        }
        Ok(())
    }

    /// That was all. Nothing can be put there after it.
    pub(super) fn end(&mut self) -> io::Result<()> {
        match self {
            Kept::Here(writer) => writer.flush(),
            Kept::Behind(behind) => behind.end(),
            Kept::Lost => Ok(()),
        }
    }
}

/// Hands on what it is given. An error shows with a later piece or at the end.
pub(super) struct Behind {
    /// None once the thread was told to end
    pieces: Option<SyncSender<String>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Behind {
    fn new(writer: Box<dyn Write + Send>) -> io::Result<Behind> {
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

impl Behind {
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    /// A disk that is slow from some write on.
    struct Slow {
        file: fs::File,
        quick: usize,
        here: thread::ThreadId,
        /// How often it has kept the thread waiting that has other things to do
        waited: Arc<AtomicUsize>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.quick.checked_sub(1) {
                Some(left) => self.quick = left,
                None => {
                    let here = thread::current().id() == self.here;
                    self.waited.fetch_add(usize::from(here), Ordering::Relaxed);
                    thread::sleep(AT_ONCE * 2);
                }
            }
            self.file.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            self.file.flush()
        }
    }

    #[test]
    fn a_slow_disk_is_left_to_a_thread_and_nothing_is_lost() {
        for quick in [0, 1, 5, 100] {
            let file = tempfile::NamedTempFile::new().unwrap();
            let waited = Arc::new(AtomicUsize::new(0));
            let mut kept = Kept::Here(Box::new(Slow {
                file: file.reopen().unwrap(),
                quick,
                here: thread::current().id(),
                waited: waited.clone(),
            }));
            let pieces: Vec<String> = (0..10).map(|n| n.to_string().repeat(1_000)).collect();
            for piece in &pieces {
                kept.put(piece.clone()).unwrap();
            }
            kept.end().unwrap();
            assert!(waited.load(Ordering::Relaxed) <= 1, "{quick}");
            assert!(fs::read_to_string(file.path()).unwrap() == pieces.concat());
        }
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
