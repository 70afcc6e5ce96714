//! Streamable HTTP at one path. Since 2026-07-28 every request stands alone; older clients get a
//! session. A request is answered with JSON, unless something has to be told before the answer:
//! then the answer becomes a stream of events.

mod guard;
mod headers;
mod sessions;
mod stream;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::serve::ListenerExt;

use self::guard::Guard;
use self::sessions::Sessions;
use super::Server;
use super::connection::{Accepted, Connection, Stay};
use super::outbox::Outbox;
use super::request::Agreed;
use crate::wire::{
    Capabilities, Id, Incoming, Kind, Outgoing, Reply, Revision, RpcError, error_reply, is_batch,
    no_id,
};

/// Bytes of one request.
const BODY: usize = 64 * 1024 * 1024;
pub(super) const SESSION: &str = "mcp-session-id";

/// A response that ends a request early.
type Refusal = Box<Response>;

/// Who may come in.
#[derive(Debug, Clone, Default)]
pub struct HttpConfig {
    /// Every request has to bring it; none for anybody who reaches the address
    pub token: Option<String>,
    /// Names by which the server may be addressed, beside those of this machine itself
    pub hosts: Vec<String>,
}

struct Service {
    server: Arc<Server>,
    guard: Guard,
    sessions: Sessions,
}

impl Server {
    /// Serve until the server's session is cancelled.
    pub async fn serve_http(
        self: &Arc<Self>,
        listener: haft_host::Listener,
        config: HttpConfig,
    ) -> std::io::Result<()> {
        let cancel = self.session.caller().cancel.clone();
        let listener = listener.tap_io(|stream| {
            // Small answers must not wait for more; a stream that refuses is only slower.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, self.router(config))
            .with_graceful_shutdown(async move { cancel.cancelled().await })
            .await
    }

    /// The server at `/mcp`, to be mounted or served.
    pub fn router(self: &Arc<Self>, config: HttpConfig) -> Router {
        let service = Service {
            server: self.clone(),
            guard: Guard::new(config),
            sessions: Sessions::default(),
        };
        Router::new()
            .route("/mcp", any(serve))
            .with_state(Arc::new(service))
    }
}

async fn serve(State(service): State<Arc<Service>>, request: Request) -> Response {
    // Strangers learn nothing, not even whether their request could be read.
    if let Err(refusal) = service.guard.admit(request.headers()) {
        return *refusal;
    }
    let method = request.method().clone();
    let result = match method {
        Method::POST => post(&service, request).await,
        Method::GET => service.sessions.listen(&service.server, request.headers()),
        Method::DELETE => service.sessions.end(request.headers()),
        _ => Err(refused(StatusCode::METHOD_NOT_ALLOWED, "use POST")),
    };
    result.unwrap_or_else(|refusal| *refusal)
}

async fn post(service: &Service, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, BODY)
        .await
        .map_err(|_| refused(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large"))?;
    let headers = &parts.headers;
    let outbox = Arc::new(Outbox::default());
    let unread = |(id, error): (Option<Id>, RpcError)| {
        let id = id.as_deref().or(no_id(headers::revision(headers)));
        Box::new(failure(id, &error, StatusCode::BAD_REQUEST))
    };
    if is_batch(&bytes) {
        let seat = seat_of_batch(service, headers)?;
        let accepted = seat.connection.accept_batch(&bytes, &outbox);
        let accepted = accepted.map_err(|error| unread((None, error)))?;
        return Ok(respond(accepted, outbox, &seat).await);
    }
    let message = Incoming::parse(&bytes).map_err(unread)?;
    let seat = seat(service, headers, &message.kind)?;
    let opens = matches!(&message.kind, Kind::Request { method, .. } if method == "initialize");
    let accepted = seat.connection.accept(message.kind, &outbox);
    let mut response = respond(accepted, outbox, &seat).await;
    if opens && seat.connection.agreed().is_some() {
        let id = service.sessions.open(seat.connection)?;
        response.headers_mut().insert(SESSION, id);
    }
    Ok(response)
}

async fn respond(accepted: Accepted, outbox: Arc<Outbox>, seat: &Seat) -> Response {
    match accepted {
        Accepted::Done => StatusCode::ACCEPTED.into_response(),
        Accepted::Reply(id, reply) => replied(&id, &reply, seat.stateless),
        Accepted::Work(id, work) => {
            stream::answer(id, work, outbox, seat.stateless, seat.connection.clone()).await
        }
    }
}

/// The connection a message belongs to.
struct Seat {
    connection: Arc<Connection>,
    stateless: bool,
}

fn seat(service: &Service, headers: &HeaderMap, kind: &Kind<'_>) -> Result<Seat, Refusal> {
    let id = match kind {
        Kind::Request { id, .. } => Some(&**id),
        _ => None,
    };
    let bad = |error: RpcError| Box::new(failure(id, &error, StatusCode::BAD_REQUEST));
    if headers::speaks_for_itself(headers, kind) {
        let view = service.server.session.view(&service.server.runtime);
        headers::agree(headers, kind, &view).map_err(bad)?;
        return Ok(Seat {
            connection: Connection::new(service.server.clone(), Stay::Alone),
            stateless: true,
        });
    }
    let seat = |connection| Seat {
        connection,
        stateless: false,
    };
    if let Some(named) = headers.get(SESSION) {
        return service.sessions.find(named).map(seat);
    }
    let opens = matches!(kind, Kind::Request { method, .. } if method == "initialize");
    if opens {
        let connection = Connection::new(service.server.clone(), Stay::Session);
        return Ok(seat(connection));
    }
    let revision = headers::revision(headers).unwrap_or(Revision::V2025_03_26);
    passing(service, revision).map(seat).map_err(bad)
}

/// A client that keeps no session is served as far as that goes: it cannot be asked.
fn passing(service: &Service, revision: Revision) -> Result<Arc<Connection>, RpcError> {
    let connection = Connection::new(service.server.clone(), Stay::Passing);
    connection.agree(Agreed {
        revision,
        capabilities: Capabilities::default(),
    })?;
    Ok(connection)
}

/// The connection a batch belongs to. Clients that send batches are older than the header that names
/// a revision.
fn seat_of_batch(service: &Service, headers: &HeaderMap) -> Result<Seat, Refusal> {
    let connection = match headers.get(SESSION) {
        Some(named) => service.sessions.find(named)?,
        None => {
            let revision = headers::stated(headers).unwrap_or(Ok(Revision::V2025_03_26));
            revision
                .and_then(|revision| passing(service, revision))
                .map_err(|error| Box::new(failure(None, &error, StatusCode::BAD_REQUEST)))?
        }
    };
    Ok(Seat {
        connection,
        stateless: false,
    })
}

/// A reply that is there already.
fn replied(id: &Id, reply: &Reply, stateless: bool) -> Response {
    let status = match reply {
        Reply::Error(error) if stateless => status_of(error),
        _ => StatusCode::OK,
    };
    json(status, written(id, reply))
}

/// The whole message.
fn written(id: &Id, reply: &Reply) -> Vec<u8> {
    let mut out = Outgoing::default();
    reply.write(id, &mut out);
    out.into_vec()
}

/// Since 2026-07-28 some errors have a status of their own.
fn status_of(error: &RpcError) -> StatusCode {
    use crate::wire::code;
    match error.code {
        code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION => {
            StatusCode::BAD_REQUEST
        }
        _ if error.malformed => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

fn json(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn failure(id: Option<&str>, error: &RpcError, status: StatusCode) -> Response {
    json(status, error_reply(id, error))
}

/// A refusal of the transport, for programs as JSON-RPC too.
fn refused(status: StatusCode, text: &str) -> Refusal {
    Box::new(failure(None, &RpcError::invalid_request(text), status))
}
