//! Bytes of an event stream, no event of it larger than allowed.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use haft_host::{WebBody, WebError, bytes::Bytes};

pub(super) struct Bounded {
    body: WebBody,
    limit: usize,
    /// Bytes of the event that goes on
    length: usize,
    /// The last byte that counts was the end of a line
    at_line_end: bool,
    /// What is said in the place of an event that is too large
    stand_in: Option<String>,
    over: bool,
}

impl Bounded {
    pub(super) fn new(body: WebBody, limit: usize, stand_in: Option<String>) -> Self {
        Bounded {
            body,
            limit,
            length: 0,
            at_line_end: true,
            stand_in,
            over: false,
        }
    }

    fn count(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            match byte {
                b'\r' => {}
                b'\n' if self.at_line_end => self.length = 0,
                b'\n' => self.at_line_end = true,
                _ => self.at_line_end = false,
            }
            self.length += 1;
            if self.length > self.limit {
                return false;
            }
        }
        true
    }
}

impl Stream for Bounded {
    type Item = Result<Bytes, WebError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(None);
        }
        let piece = match Pin::new(&mut self.body).poll_next(cx) {
            Poll::Ready(Some(Ok(piece))) => piece,
            other => return other,
        };
        if self.count(&piece) {
            return Poll::Ready(Some(Ok(piece)));
        }
        self.over = true;
        let limit = self.limit as u64;
        Poll::Ready(Some(match self.stand_in.take() {
            // The broken event is ended first, as one of a kind that nobody reads.
            Some(text) => Ok(Bytes::from(format!("\nevent: broken\n\n{text}"))),
            None => Err(WebError::TooLarge(limit)),
        }))
    }
}
