//! Messages that are too large. One that is skipped in silence would be waited for until the
//! deadline, so its place is taken by an error for the call it answers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use haft_host::Reader;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of one message of a server.
pub(super) const MESSAGE: usize = 32 * 1024 * 1024;
/// Bytes at both ends of a message in which its id is looked for.
const ENDS: usize = 1024;

/// The error in the place of an answer that is too large.
pub(super) fn stand_in(id: &Value) -> String {
    let message = format!("the answer is larger than {MESSAGE} bytes");
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message}}).to_string()
}

/// The lines of a server, those that are too large replaced.
pub(super) struct Lines {
    reader: Reader,
    /// What was read of the line that goes on: its length, and its ends if it is too large
    length: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// What waits to be handed over
    waiting: Vec<u8>,
    given: usize,
}

impl Lines {
    pub(super) fn new(reader: Reader) -> Self {
        Lines {
            reader,
            length: 0,
            head: Vec::new(),
            tail: Vec::new(),
            waiting: Vec::new(),
            given: 0,
        }
    }

    /// Take in what was read, line by line.
    fn take(&mut self, mut read: &[u8]) {
        while !read.is_empty() {
            let end = memchr(read);
            let (part, ended) = match end {
                Some(end) => (&read[..=end], true),
                None => (read, false),
            };
            read = &read[part.len()..];
            if self.head.len() < ENDS {
                let more = part.len().min(ENDS - self.head.len());
                self.head.extend_from_slice(&part[..more]);
            }
            if self.length + part.len() <= MESSAGE {
                self.waiting.extend_from_slice(part);
            } else {
                if self.length <= MESSAGE {
                    // Broken off here, what was handed over is no message.
                    self.waiting.push(b'\n');
                }
                self.tail.extend_from_slice(part);
                let excess = self.tail.len().saturating_sub(ENDS);
                self.tail.drain(..excess);
            }
            self.length += part.len();
            if ended {
                self.end();
            }
        }
    }

    fn end(&mut self) {
        if self.length > MESSAGE
            && let Some(id) = id_of(&self.head, &self.tail)
        {
            self.waiting.extend_from_slice(stand_in(&id).as_bytes());
            self.waiting.push(b'\n');
        }
        self.length = 0;
        self.head.clear();
        self.tail.clear();
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

/// The id of an answer, by its two ends: before the result, or after it.
fn id_of(head: &[u8], tail: &[u8]) -> Option<Value> {
    let head = String::from_utf8_lossy(head);
    let before = head.split("\"result\"").next().unwrap_or_default();
    let value = |text: &str| -> Option<Value> {
        let text = text.trim_start().strip_prefix(':')?;
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        values
            .next()?
            .ok()
            .filter(|id| id.is_number() || id.is_string())
    };
    let tail = String::from_utf8_lossy(tail);
    before
        .split_once("\"id\"")
        .and_then(|(_, rest)| value(rest))
        .or_else(|| tail.rsplit_once("\"id\"").and_then(|(_, rest)| value(rest)))
}

impl AsyncRead for Lines {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.given < this.waiting.len() {
                let more = &this.waiting[this.given..];
                let more = &more[..more.len().min(buffer.remaining())];
                buffer.put_slice(more);
                this.given += more.len();
                if this.given == this.waiting.len() {
                    this.waiting.clear();
                    this.given = 0;
                }
                return Poll::Ready(Ok(()));
            }
            let mut space = [0; 16 * 1024];
            let mut read = ReadBuf::new(&mut space);
            ready!(Pin::new(&mut this.reader).poll_read(cx, &mut read))?;
            if read.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            this.take(read.filled());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn read(input: Vec<u8>) -> Vec<String> {
        let mut lines = Lines::new(Box::new(io::Cursor::new(input)));
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
        let input = format!("{{\"id\":1}}\n{first}{last}{{\"id\":2}}\n");
        let lines = read(input.into_bytes()).await;
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert_eq!(lines[0], "{\"id\":1}");
        assert!(lines[2].contains("\"id\":7,\"error\""), "{}", lines[2]);
        assert!(lines[4].contains("\"id\":\"b\",\"error\""), "{}", lines[4]);
        assert_eq!(lines[5], "{\"id\":2}");
    }
}
