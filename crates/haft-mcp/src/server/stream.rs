//! A client on a stream of lines, such as standard input and output. One task reads, works and
//! answers: most requests are answered while they are read, without waking anybody.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::task::JoinSet;

use super::Server;
use super::connection::{Accepted, Connection, Stay};
use super::listen::News;
use super::outbox::Outbox;
use super::pace::Pace;
use crate::wire::{
    Id, Incoming, Outgoing, Reply, RpcError, error_reply, is_batch, no_id, notification,
};

/// Bytes of one message.
const LINE: usize = 64 * 1024 * 1024;
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;
/// How long calls may take to end after the client has gone.
const FAREWELL: Duration = Duration::from_secs(5);

type Work = FuturesUnordered<Served>;

/// A request that is being served.
struct Served {
    id: Id,
    work: BoxFuture<'static, Option<Reply>>,
}

impl Future for Served {
    type Output = (Id, Option<Reply>);

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let reply = ready!(self.work.as_mut().poll(task));
        Poll::Ready((self.id.clone(), reply))
    }
}

impl Server {
    /// Serve one client until it goes away. Calls that are under way then are cancelled.
    ///
    /// This goes on as a task of its own: before the engine comes back to what it was started
    /// with, it looks for news of the machine each time, and a message has several such turns.
    pub async fn serve_stream(
        self: &Arc<Self>,
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> io::Result<()> {
        let mut tasks = JoinSet::new();
        tasks.spawn(self.clone().serve(reader, writer));
        match tasks.join_next().await {
            Some(Ok(served)) => served,
            Some(Err(error)) => Err(io::Error::other(error)),
            None => Ok(()),
        }
    }

    async fn serve(
        self: Arc<Self>,
        reader: impl AsyncRead + Unpin + Send,
        mut writer: impl AsyncWrite + Unpin + Send,
    ) -> io::Result<()> {
        let connection = Connection::new(self.clone(), Stay::Session);
        let outbox = connection.aside.clone();
        let mut lines = Lines::new(reader);
        let mut work = Work::new();
        let mut beside = JoinSet::new();
        beside.spawn(told_of_changes(connection.clone(), News::of(&self)));
        let mut out = Outgoing::default();
        let mut stopped = connection.cancel.cancelled();
        let mut pace = Pace::new();
        let ended = loop {
            while let Some(line) = lines.next() {
                take(&connection, line, &outbox, &mut work, &mut out).await;
            }
            if let Err(error) = flush(&outbox, &mut out, &mut writer).await {
                break Err(error);
            }
            let since = Instant::now();
            tokio::select! {
                read = lines.fill() => match read {
                    Ok(true) => {}
                    Ok(false) => break Ok(()),
                    Err(error) => break Err(error),
                },
                Some((id, reply)) = work.next(), if !work.is_empty() => {
                    answer(&outbox, &id, reply, &mut out);
                }
                () = outbox.filled() => {}
                () = &mut stopped => break Ok(()),
                () = pace.keep_awake(since) => {}
            }
            pace.came(since);
        };
        connection.cancel.cancel();
        let farewell = async {
            while let Some((id, reply)) = work.next().await {
                answer(&outbox, &id, reply, &mut out);
            }
        };
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
        // The client may be gone altogether.
        let _ = flush(&outbox, &mut out, &mut writer).await;
        ended
    }
}

/// Tell a client that has been greeted what has changed, as long as it is there.
async fn told_of_changes(connection: Arc<Connection>, mut news: News) {
    loop {
        let changed = news.next().await;
        if connection.agreed().is_some() {
            let told = notification(changed, &serde_json::json!({}));
            connection.aside.put_once(told);
        }
    }
}

/// Take one line in. What can be answered at once is.
async fn take(
    connection: &Arc<Connection>,
    line: &[u8],
    outbox: &Arc<Outbox>,
    work: &mut Work,
    out: &mut Outgoing,
) {
    if line.iter().all(u8::is_ascii_whitespace) {
        return;
    }
    let accepted = match is_batch(line) {
        false => Incoming::parse(line).map(|message| connection.accept(message.kind, outbox)),
        true => connection
            .accept_batch(line, outbox)
            .map_err(|error| (None, error)),
    };
    let accepted = match accepted {
        Ok(accepted) => accepted,
        Err((id, error)) => {
            let revision = connection.agreed().map(|agreed| agreed.revision);
            let id = id.as_deref().or(no_id(revision));
            out.push(&error_reply(id, &error));
            out.push(b"\n");
            return;
        }
    };
    match accepted {
        Accepted::Done => {}
        Accepted::Reply(id, reply) => answer(outbox, &id, Some(reply), out),
        Accepted::Work(id, future) => {
            work.push(Served { id, work: future });
            // Most are answered at once. With all that are ready, so that none is looked at twice.
            if let Poll::Ready(Some((id, reply))) =
                poll_fn(|task| Poll::Ready(work.poll_next_unpin(task))).await
            {
                answer(outbox, &id, reply, out);
            }
        }
    }
}

/// Put an answer out, after whatever was said before it.
fn answer(outbox: &Outbox, id: &str, reply: Option<Reply>, out: &mut Outgoing) {
    gather(outbox, out);
    if let Some(reply) = reply {
        reply.write(id, out);
        out.push(b"\n");
    }
}

fn gather(outbox: &Outbox, out: &mut Outgoing) {
    for message in outbox.take() {
        out.push(&message);
        out.push(b"\n");
    }
}

async fn flush(
    outbox: &Outbox,
    out: &mut Outgoing,
    writer: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    gather(outbox, out);
    match out.is_empty() {
        true => Ok(()),
        false => out.write_to(writer).await,
    }
}

/// Lines of bytes, each no longer than a message may be.
struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Where the next line begins, and how far no line ends
    start: usize,
    seen: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(reader: R) -> Self {
        Lines {
            reader,
            buffer: Vec::with_capacity(CHUNK),
            start: 0,
            seen: 0,
        }
    }

    /// The next whole line, without its end.
    fn next(&mut self) -> Option<&[u8]> {
        let Some(more) = memchr(b'\n', &self.buffer[self.seen..]) else {
            self.seen = self.buffer.len();
            return None;
        };
        let end = self.seen + more;
        let line = self.start..end;
        self.start = end + 1;
        self.seen = self.start;
        Some(&self.buffer[line])
    }

    /// Read more; false at the end. Nothing is lost when this is dropped half way.
    async fn fill(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.start);
        self.seen -= self.start;
        self.start = 0;
        if self.buffer.is_empty() {
            self.buffer.shrink_to(1024 * 1024);
        }
        if self.buffer.len() > LINE {
            let error = RpcError::invalid_request("a message is too long");
            return Err(io::Error::new(io::ErrorKind::InvalidData, error.message));
        }
        self.buffer.reserve(CHUNK);
        Ok(self.reader.read_buf(&mut self.buffer).await? > 0)
    }
}
