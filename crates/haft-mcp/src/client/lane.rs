//! The line to a program that is a server. rmcp greets it and hears what it says of itself; calls of
//! tools go past rmcp, straight out and straight back, which takes half the time and leaves what
//! they carry unread. Messages are whole on the line, whoever sends them.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use haft_core::BoxFuture;
use haft_host::Writer;
use rmcp::service::ServiceError;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex as AsyncMutex, Notify, oneshot};

use super::garbled;

/// Ids of our own calls begin here; rmcp counts from the bottom and asks for little.
const FIRST: u64 = 1_000_000;

type Answer = Result<Box<RawValue>, ServiceError>;
/// None once the line is closed
type Out = Arc<AsyncMutex<Option<Writer>>>;

pub(super) struct Lane {
    out: Out,
    /// None once nothing comes in any more
    waiting: Mutex<Option<HashMap<u64, oneshot::Sender<Answer>>>>,
    next: AtomicU64,
    /// Lines that went to rmcp
    passed: AtomicU64,
    ended: Notify,
}

impl Lane {
    pub(super) fn new(writer: Writer) -> Arc<Self> {
        Arc::new(Lane {
            out: Arc::new(AsyncMutex::new(Some(writer))),
            waiting: Mutex::new(Some(HashMap::new())),
            next: AtomicU64::new(FIRST),
            passed: AtomicU64::new(0),
            ended: Notify::new(),
        })
    }

    /// The way out for rmcp. When it is dropped, the line is closed.
    pub(super) fn writer(&self) -> LaneWriter {
        LaneWriter {
            out: self.out.clone(),
            message: Vec::new(),
            writing: None,
        }
    }

    /// How many lines went to rmcp so far.
    pub(super) fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// A number for a call.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Make a request under this number, with its parameters as JSON, and wait for its answer. When
    /// this is dropped before, the server is told that nobody waits any more.
    pub(super) async fn ask(
        &self,
        number: u64,
        method: &'static str,
        params: &[u8],
    ) -> Result<Box<RawValue>, ServiceError> {
        let before =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"{method}\",\"params\":");
        let message = [before.as_bytes(), params, b"}\n"].concat();
        let (answer, mut answered) = oneshot::channel();
        match self.lock().as_mut() {
            Some(waiting) => waiting.insert(number, answer),
            None => return Err(ServiceError::TransportClosed),
        };
        let mut asked = Asked {
            lane: self,
            number,
            over: false,
        };
        let answer = tokio::select! {
            biased;
            written = sent(self.out.clone(), message) => match written {
                Ok(()) => answered.await,
                Err(_) => {
                    asked.over = true;
                    return Err(ServiceError::TransportClosed);
                }
            },
            // A server that has gone need not be written to.
            answer = &mut answered => answer,
        };
        asked.over = true;
        match answer {
            Ok(answer) => answer,
            Err(_) => Err(ServiceError::TransportClosed),
        }
    }

    /// Take a line that answers a call of ours, well or badly; false where it is for rmcp.
    pub(super) fn takes(&self, line: &[u8]) -> bool {
        let mut waiting = self.lock();
        let calls = waiting.as_mut().filter(|calls| !calls.is_empty());
        let taken = calls.and_then(|calls| {
            let (number, answer) = answer(line)?;
            Some((calls.remove(&number)?, answer))
        });
        drop(waiting);
        match taken {
            Some((call, answer)) => {
                // Whoever waited may have given up just now.
                let _ = call.send(answer);
                true
            }
            None => {
                self.passed.fetch_add(1, Ordering::Relaxed);
                false
            }
        }
    }

    /// Nothing comes in any more: nobody needs to wait.
    pub(super) fn close(&self) {
        self.lock().take();
        self.ended.notify_waiters();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_none()
    }

    /// Resolves once nothing comes in any more.
    pub(super) async fn closed(&self) {
        let ended = self.ended.notified();
        if !self.is_closed() {
            ended.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Answer>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a line answers, and with what; none where it is no answer.
fn answer(line: &[u8]) -> Option<(u64, Answer)> {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
        #[serde(borrow, default)]
        method: Option<&'a RawValue>,
        #[serde(borrow, default)]
        result: Option<&'a RawValue>,
        #[serde(borrow, default)]
        error: Option<&'a RawValue>,
    }
    // Some servers give numbers back as text.
    let number = |id: &str| id.trim_matches('"').parse().ok();
    let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else {
        let id = garbled::id_of_broken(line)?;
        return Some((
            number(&id.to_string())?,
            Err(ServiceError::UnexpectedResponse),
        ));
    };
    if line.method.is_some() {
        return None;
    }
    let number = number(line.id?.get())?;
    let answer = match (line.result, line.error) {
        (Some(result), None) => Ok(result.to_owned()),
        (_, Some(error)) => Err(match serde_json::from_str(error.get()) {
            Ok(error) => ServiceError::McpError(error),
            Err(_) => ServiceError::UnexpectedResponse,
        }),
        (None, None) => Err(ServiceError::UnexpectedResponse),
    };
    Some((number, answer))
}

/// A request that is under way.
struct Asked<'a> {
    lane: &'a Lane,
    number: u64,
    over: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = self.lane.lock().as_mut() {
            waiting.remove(&self.number);
        }
        if self.over {
            return;
        }
        let notice = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{}}}}}\n",
            self.number
        );
        if let Ok(engine) = tokio::runtime::Handle::try_current() {
            engine.spawn(whole(self.lane.out.clone(), notice.into_bytes()));
        }
    }
}

/// Write a message. What is begun is ended, also when nobody waits for it any more: half a message
/// would spoil the next.
async fn sent(out: Out, message: Vec<u8>) -> io::Result<()> {
    let mut writing = whole(out, message);
    match poll_fn(|task| Poll::Ready(writing.as_mut().poll(task))).await {
        Poll::Ready(written) => written,
        Poll::Pending => tokio::spawn(writing)
            .await
            .unwrap_or_else(|_| Err(closed())),
    }
}

fn whole(out: Out, message: Vec<u8>) -> BoxFuture<'static, io::Result<()>> {
    Box::pin(async move {
        let mut out = out.lock_owned().await;
        let writer = out.as_mut().ok_or_else(closed)?;
        writer.write_all(&message).await?;
        writer.flush().await
    })
}

fn closed() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

/// Gathers what rmcp writes until it is a whole message.
pub(super) struct LaneWriter {
    out: Out,
    message: Vec<u8>,
    writing: Option<BoxFuture<'static, io::Result<()>>>,
}

impl AsyncWrite for LaneWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        part: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.message.extend_from_slice(part);
        Poll::Ready(Ok(part.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if let Some(writing) = &mut self.writing {
                let written = ready!(writing.as_mut().poll(cx));
                self.writing = None;
                written?;
            }
            if self.message.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let message = std::mem::take(&mut self.message);
            self.writing = Some(whole(self.out.clone(), message));
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

/// The server hears that nothing comes any more.
impl Drop for LaneWriter {
    fn drop(&mut self) {
        if let Ok(mut out) = self.out.try_lock() {
            out.take();
        } else if let Ok(engine) = tokio::runtime::Handle::try_current() {
            let out = self.out.clone();
            engine.spawn(async move { out.lock().await.take() });
        }
    }
}
