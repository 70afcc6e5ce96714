//! The body of an answer, read piece by piece, never more of it than was asked for.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use hyper::body::{Body, Incoming};

use super::WebError;

pub struct WebBody {
    incoming: Incoming,
    limit: u64,
    left: u64,
}

impl WebBody {
    pub(super) fn new(incoming: Incoming, limit: u64) -> Self {
        WebBody {
            incoming,
            limit,
            left: limit,
        }
    }

    /// The next piece; none at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes, WebError>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// All of it, unless it is larger than this.
    pub async fn whole_up_to(mut self, limit: u64) -> Result<Vec<u8>, WebError> {
        self.left = self.left.min(limit);
        self.limit = self.limit.min(limit);
        self.whole().await
    }

    /// All of it.
    pub async fn whole(mut self) -> Result<Vec<u8>, WebError> {
        let mut whole = Vec::new();
        while let Some(piece) = self.next().await {
            whole.extend_from_slice(&piece?);
        }
        Ok(whole)
    }
}

impl Stream for WebBody {
    type Item = Result<Bytes, WebError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let frame = match Pin::new(&mut self.incoming).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Some(Err(WebError::broken(error))));
                }
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            // Trailers say nothing that anybody asked for.
            let Ok(piece) = frame.into_data() else {
                continue;
            };
            let Some(left) = self.left.checked_sub(piece.len() as u64) else {
                let limit = self.limit;
                return Poll::Ready(Some(Err(WebError::TooLarge(limit))));
            };
            self.left = left;
            return Poll::Ready(Some(Ok(piece)));
        }
    }
}
