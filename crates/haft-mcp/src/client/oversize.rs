//! Messages that are too large. One that is skipped in silence would be waited for until the
//! deadline, so its place is taken by an error for the call it answers. One that does not come to an
//! end would swallow all that follows, so it is the end of the connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use haft_host::Reader;
use memchr::memchr;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::garbled::{self, id_of};
use super::lane::Lane;

/// Bytes of one message of a server.
pub(super) const MESSAGE: usize = 32 * 1024 * 1024;
/// Bytes at both ends of a message in which its id is looked for.
const ENDS: usize = 1024;
/// Bytes read at once: what a pipe holds.
const CHUNK: usize = 64 * 1024;
/// Bytes of a buffer that stay for the next message.
const KEPT: usize = 1024 * 1024;
/// Bytes after which nobody waits for the end of a message any more, and silence after which nobody
/// does where it is too large already.
const ENDLESS: usize = 8 * MESSAGE;
const SILENCE: Duration = Duration::from_secs(2);

/// The error in the place of an answer that is too large.
pub(super) fn stand_in(id: &Value) -> String {
    let error = json!({"code": -32000, "message": too_large()});
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

/// What it says. These words are ours, also where a server uses them.
pub(super) fn too_large() -> String {
    format!("the answer is larger than {MESSAGE} bytes")
}

/// The lines of a server, whole: answers to our own calls go to those, the rest is handed on. In
/// the place of one that is too large comes an error.
pub(super) struct Lines {
    reader: Reader,
    lane: Arc<Lane>,
    space: Box<[u8]>,
    /// What was read of the line that goes on; of one that is too large its beginning
    line: Vec<u8>,
    length: usize,
    /// The end of one that is too large
    tail: Vec<u8>,
    /// The call that it answers has heard of that
    told: bool,
    /// When it has gone on for long enough
    overdue: Option<Pin<Box<Sleep>>>,
    /// What waits to be handed on
    waiting: Vec<u8>,
    given: usize,
    /// Nothing more is read
    over: bool,
}

impl Lines {
    pub(super) fn new(reader: Reader, lane: Arc<Lane>) -> Self {
        Lines {
            reader,
            lane,
            space: vec![0; CHUNK].into(),
            line: Vec::new(),
            length: 0,
            tail: Vec::new(),
            told: false,
            overdue: None,
            waiting: Vec::new(),
            given: 0,
            over: false,
        }
    }

    /// Take in what was read, line by line.
    fn take(&mut self, mut read: &[u8]) {
        while !read.is_empty() {
            let end = memchr(b'\n', read);
            let part = &read[..end.map_or(read.len(), |end| end + 1)];
            read = &read[part.len()..];
            self.length += part.len();
            if self.length <= MESSAGE {
                self.line.extend_from_slice(part);
            } else {
                if self.tail.is_empty() {
                    self.line.truncate(ENDS);
                    self.line.shrink_to(ENDS);
                    // Where the id comes after the result, its end has to be waited for.
                    self.told = id_of(&self.line, &[]).is_some_and(|id| {
                        self.give(stand_in(&id));
                        true
                    });
                }
                self.tail.extend_from_slice(part);
                let excess = self.tail.len().saturating_sub(ENDS);
                self.tail.drain(..excess);
            }
            if end.is_some() {
                self.end();
            }
        }
    }

    fn end(&mut self) {
        if self.length > MESSAGE {
            let id = id_of(&self.line, &self.tail).filter(|_| !self.told);
            if let Some(id) = id {
                self.give(stand_in(&id));
            }
        } else if !self.lane.takes(&self.line) {
            match garbled::stand_in(&self.line) {
                Some(instead) => self.waiting.extend_from_slice((instead + "\n").as_bytes()),
                None => self.waiting.extend_from_slice(&self.line),
            }
        }
        self.line.clear();
        // One large answer must not hold its memory for good.
        self.line.shrink_to(KEPT);
        self.length = 0;
        self.tail.clear();
        self.told = false;
        self.overdue = None;
    }

    /// Hand on a line of our own.
    fn give(&mut self, mut line: String) {
        line.push('\n');
        if !self.lane.takes(line.as_bytes()) {
            self.waiting.extend_from_slice(line.as_bytes());
        }
    }

    /// Whether a line that is too large goes on for ever.
    fn is_endless(&mut self, cx: &mut Context<'_>, read: bool) -> bool {
        if self.length <= MESSAGE {
            return false;
        }
        let sleep = || Box::pin(tokio::time::sleep(SILENCE));
        let overdue = self.overdue.get_or_insert_with(sleep);
        if read {
            overdue.as_mut().reset(Instant::now() + SILENCE);
        }
        overdue.as_mut().poll(cx).is_ready() || self.length > ENDLESS
    }
}

/// Nobody reads any more, so nobody will be answered.
impl Drop for Lines {
    fn drop(&mut self) {
        self.lane.close();
    }
}

impl AsyncRead for Lines {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.over && this.waiting.is_empty() {
                this.lane.close();
                return Poll::Ready(Ok(()));
            }
            if this.given < this.waiting.len() {
                let more = &this.waiting[this.given..];
                let more = &more[..more.len().min(buffer.remaining())];
                buffer.put_slice(more);
                this.given += more.len();
                if this.given == this.waiting.len() {
                    this.waiting.clear();
                    this.waiting.shrink_to(KEPT);
                    this.given = 0;
                }
                return Poll::Ready(Ok(()));
            }
            let mut space = std::mem::take(&mut this.space);
            let mut read = ReadBuf::new(&mut space);
            let polled = Pin::new(&mut this.reader).poll_read(cx, &mut read);
            let filled = read.filled().len();
            this.take(&space[..filled]);
            this.space = space;
            this.over |= this.is_endless(cx, filled > 0);
            if !this.over {
                ready!(polled)?;
                this.over = filled == 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn read(input: Vec<u8>) -> Vec<String> {
        let mut lines = Lines::new(
            Box::new(io::Cursor::new(input)),
            Lane::new(Box::new(tokio::io::sink())),
        );
        let mut out = String::new();
        lines.read_to_string(&mut out).await.unwrap();
        out.lines()
            .map(|line| line.chars().take(80).collect())
            .collect()
    }

    #[tokio::test]
    async fn what_is_too_large_becomes_an_error_for_its_call() {
        let large = "x".repeat(MESSAGE);
        let first = format!(
            "{{\"jsonrpc\":\"2.0\", \"id\": 7, \"result\":{{\"id\":1,\"t\":\"{large}\"}}}}\n"
        );
        let last = format!("{{\"result\":\"{large}\",\"id\":\"b\"}}\n");
        let input = format!("{{\"a\":1}}\n{first}{last}{{\"a\":2}}\n");
        let lines = read(input.into_bytes()).await;
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert_eq!(lines[0], "{\"a\":1}");
        assert!(lines[1].contains("\"id\":7,\"error\""), "{}", lines[1]);
        assert!(lines[2].contains("\"id\":\"b\",\"error\""), "{}", lines[2]);
        assert_eq!(lines[3], "{\"a\":2}");
    }

    #[tokio::test]
    async fn what_never_ends_is_told_and_ends_the_connection() {
        let (reader, mut writer) = tokio::io::duplex(CHUNK);
        let lane = Lane::new(Box::new(tokio::io::sink()));
        let mut lines = Lines::new(Box::new(reader), lane.clone());
        let beginning = format!("{{\"id\":7,\"result\":\"{}", "x".repeat(MESSAGE));
        let writing = tokio::spawn(async move {
            tokio::io::AsyncWriteExt::write_all(&mut writer, beginning.as_bytes())
                .await
                .unwrap();
            writer
        });
        let mut told = String::new();
        lines.read_to_string(&mut told).await.unwrap();
        assert!(told.contains("\"id\":7,\"error\""), "{told}");
        assert!(lane.is_closed());
        assert!(lines.line.capacity() < KEPT && lines.tail.capacity() < KEPT);
        // It has not gone away by itself.
        drop(writing.await.unwrap());
    }

    #[tokio::test]
    async fn what_is_no_answer_becomes_an_error_for_its_call() {
        let lines = read(b"{\"jsonrpc\":\"2.0\",\"id\":7}\n[1]\n".to_vec()).await;
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("\"id\":7,\"error\""), "{}", lines[0]);
        assert_eq!(lines[1], "[1]");
    }
}
