//! Answers that take time. As long as there is nothing else to say, a request waits for its JSON;
//! with the first message beside it the response becomes a stream of events. A client that closes
//! it has given up: what ran for it is cancelled.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use haft_core::BoxFuture;
use serde_json::json;

use super::super::Server;
use super::super::connection::Connection;
use super::super::listen::News;
use super::super::outbox::Outbox;
use super::{json, replied, written};
use crate::wire::{Id, Reply, notification};

/// Silence after which a response begins, and after which a stream shows a sign of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

struct Answering {
    id: Id,
    work: BoxFuture<'static, Option<Reply>>,
    outbox: Arc<Outbox>,
    /// A request that stands alone is over with its stream
    gone: Option<Gone>,
    done: bool,
}

/// Cancels what runs for a client that went away.
struct Gone(Arc<Connection>, bool);

impl Drop for Gone {
    fn drop(&mut self) {
        if self.1 {
            self.0.cancel.cancel();
        }
    }
}

pub(super) async fn answer(
    id: Id,
    mut work: BoxFuture<'static, Option<Reply>>,
    outbox: Arc<Outbox>,
    stateless: bool,
    connection: Arc<Connection>,
) -> Response {
    let mut gone = Gone(connection, stateless);
    let early = tokio::select! {
        biased;
        reply = &mut work => Some(reply),
        () = outbox.filled() => None,
        () = tokio::time::sleep(SIGN_OF_LIFE) => None,
    };
    let waiting = outbox.take();
    match early {
        Some(reply) if waiting.is_empty() => {
            gone.1 = false;
            match reply {
                Some(reply) => replied(&id, &reply, stateless),
                None => json(StatusCode::OK, super::error_reply(Some(&id), &cancelled())),
            }
        }
        Some(reply) => {
            gone.1 = false;
            let mut out = events(waiting);
            if let Some(reply) = reply {
                out.extend_from_slice(&event_of(&id, &reply));
            }
            event_stream(Body::from(out))
        }
        None => {
            let first = events(waiting);
            let state = Answering {
                id,
                work,
                outbox,
                gone: Some(gone),
                done: false,
            };
            let head = stream::once(async move { Ok::<_, Infallible>(Bytes::from(first)) });
            let rest = stream::unfold(state, |state| async move { next(state).await });
            event_stream(Body::from_stream(stream::StreamExt::chain(head, rest)))
        }
    }
}

async fn next(mut state: Answering) -> Option<(Result<Bytes, Infallible>, Answering)> {
    if state.done {
        return None;
    }
    let chunk = tokio::select! {
        biased;
        reply = &mut state.work => {
            state.done = true;
            if let Some(gone) = &mut state.gone {
                gone.1 = false;
            }
            let mut out = events(state.outbox.take());
            if let Some(reply) = reply {
                out.extend_from_slice(&event_of(&state.id, &reply));
            }
            out
        }
        () = state.outbox.filled() => events(state.outbox.take()),
        () = tokio::time::sleep(SIGN_OF_LIFE) => b":\n\n".to_vec(),
    };
    Some((Ok(Bytes::from(chunk)), state))
}

/// What older clients hear while they listen.
pub(super) fn of_news(server: &Arc<Server>, connection: Arc<Connection>) -> Response {
    let news = News::of(server);
    let head = stream::once(async { Ok::<_, Infallible>(Bytes::from_static(b":\n\n")) });
    let rest = stream::unfold((news, connection), |(mut news, connection)| async move {
        let chunk = tokio::select! {
            () = connection.cancel.cancelled() => return None,
            changed = news.next() => events(vec![notification(changed, &json!({}))]),
            () = connection.aside.filled() => events(connection.aside.take()),
            () = tokio::time::sleep(SIGN_OF_LIFE) => b":\n\n".to_vec(),
        };
        Some((Ok(Bytes::from(chunk)), (news, connection)))
    });
    event_stream(Body::from_stream(stream::StreamExt::chain(head, rest)))
}

fn cancelled() -> crate::wire::RpcError {
    crate::wire::RpcError::internal("cancelled")
}

fn event_of(id: &Id, reply: &Reply) -> Vec<u8> {
    events(vec![written(id, reply)])
}

/// Messages are single lines of JSON, so each is one line of data.
fn events(messages: Vec<Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    for message in messages {
        out.extend_from_slice(b"event: message\ndata: ");
        out.extend_from_slice(&message);
        out.extend_from_slice(b"\n\n");
    }
    out
}

fn event_stream(body: Body) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
