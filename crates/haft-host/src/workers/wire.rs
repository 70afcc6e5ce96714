//! What goes through the pipes between haft and a worker: a letter, a length, and so much JSON.

use std::io;

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt};

/// To a worker: what it works with, once.
pub(super) const SETUP: u8 = b's';
/// To a worker: a job.
pub(super) const JOB: u8 = b'j';
/// To a worker: give up the job.
pub(super) const CANCEL: u8 = b'c';
/// From a worker: it waits for jobs.
pub(super) const READY: u8 = b'r';
/// From a worker: a piece of a command's output.
pub(super) const LIVE: u8 = b'l';
/// From a worker: how the job ended.
pub(super) const DONE: u8 = b'd';

/// More than any job or answer has; a length beyond it means that the line is out of step.
const LARGEST: usize = 1 << 30;
const HEAD: usize = 5;
const CHUNK: usize = 64 << 10;

/// One message, ready to be written.
pub(super) fn frame(kind: u8, content: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![kind, 0, 0, 0, 0];
    serde_json::to_writer(&mut frame, content)?;
    let length = frame.len() - HEAD;
    if length > LARGEST {
        return Err(io::Error::other(format!("{length} bytes are too much")));
    }
    frame[1..HEAD].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(frame)
}

/// Messages as they come in. What has been read of the next one is kept when a wait is given up.
#[derive(Debug)]
pub(super) struct Frames<R> {
    from: R,
    held: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(super) fn new(from: R) -> Self {
        Frames {
            from,
            held: Vec::new(),
        }
    }

    /// The next message; none when the other side is gone.
    pub(super) async fn next(&mut self) -> io::Result<Option<(u8, Vec<u8>)>> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(Some(frame));
            }
            self.held.reserve(CHUNK);
            if self.from.read_buf(&mut self.held).await? == 0 {
                return Ok(None);
            }
        }
    }

    fn take(&mut self) -> io::Result<Option<(u8, Vec<u8>)>> {
        let Some((head, rest)) = self.held.split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let [kind, length @ ..] = *head;
        let length = u32::from_le_bytes(length) as usize;
        if length > LARGEST {
            return Err(io::Error::other("the line is out of step"));
        }
        if rest.len() < length {
            // All the room at once: growing by pieces would need twice as much.
            let missing = length - rest.len();
            self.held.reserve_exact(missing);
            return Ok(None);
        }
        let content = rest[..length].to_vec();
        self.held.drain(..HEAD + length);
        if self.held.capacity() > 16 * CHUNK {
            self.held.shrink_to(CHUNK);
        }
        Ok(Some((kind, content)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<io::Result<Option<(u8, String)>>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let mut frames = Frames::new(bytes);
        let mut read = Vec::new();
        loop {
            let next = runtime.block_on(frames.next());
            let more = matches!(next, Ok(Some(_)));
            read.push(next.map(|next| {
                next.map(|(kind, content)| (kind, String::from_utf8(content).unwrap()))
            }));
            if !more {
                return read;
            }
        }
    }

    #[test]
    fn messages_come_out_as_they_went_in() {
        let long = "ä".repeat(200_000);
        let mut bytes = frame(LIVE, &long).unwrap();
        bytes.extend(frame(CANCEL, &()).unwrap());
        let cut = frame(DONE, &"cut off").unwrap();
        bytes.extend(&cut[..cut.len() - 1]);
        let read = read(&bytes);
        assert_eq!(read.len(), 3);
        let first = read[0].as_ref().unwrap().as_ref().unwrap();
        assert_eq!((first.0, first.1.len()), (LIVE, long.len() + 2));
        let second = read[1].as_ref().unwrap().as_ref().unwrap();
        assert_eq!((second.0, second.1.as_str()), (CANCEL, "null"));
        assert!(read[2].as_ref().unwrap().is_none());
    }

    #[test]
    fn nonsense_is_refused_before_room_is_made_for_it() {
        let read = read(b"zzzzzzzz");
        assert!(read[0].is_err());
    }
}
