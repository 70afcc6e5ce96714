//! Streamable HTTP to a server, on the one HTTP client of the host. What a revision wants in
//! headers and sessions is rmcp's; here a message becomes a request, and an answer a message.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use haft_host::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use haft_host::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use haft_host::{Follow, Web, WebBody, WebError, WebRequest};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use serde_json::Value;
use sse_stream::{Sse, SseStream};
use tokio::sync::watch;

use super::events::Bounded;
use super::failure::WayError;
use super::garbled;
use super::login::{Challenge, Login};
use super::oversize::{MESSAGE, stand_in};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Deadlines of calls are kept above; this only ends what nobody waits for any more.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the first call waits for a server's stream.
const STREAM: Duration = Duration::from_secs(1);
/// How often one request may be answered with a wish for other credentials.
const TRIES: usize = 3;

type Failure = StreamableHttpError<WayError>;

/// A server at a URL.
#[derive(Clone)]
pub(super) struct Line {
    web: Web,
    login: Arc<Login>,
    stream: watch::Sender<Stream>,
}

/// The stream on which a server with sessions says what belongs to no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    None,
    Expected,
    Asked,
}

impl Line {
    pub(super) fn new(web: Web, login: Arc<Login>) -> Self {
        Line {
            web,
            login,
            stream: watch::Sender::new(Stream::None),
        }
    }

    /// Wait a moment for the stream of a server that has one: what it says before is lost.
    pub(super) async fn settle(&self) {
        let mut stream = self.stream.subscribe();
        let open = stream.wait_for(|stream| *stream != Stream::Expected);
        let _ = tokio::time::timeout(STREAM, open).await;
    }

    /// Send a request with whatever credentials there are, and again if the server wants others
    /// and they can be had.
    async fn send(&self, request: WebRequest) -> Result<Response<WebBody>, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let mut request = request.clone();
            let token = match request.headers.contains_key(AUTHORIZATION) {
                true => None,
                false => self.login.token().await?,
            };
            if let Some(token) = &token {
                let value = HeaderValue::try_from(format!("Bearer {token}"));
                let value = value.map_err(|_| unexpected("the token is not a token"))?;
                request.headers.insert(AUTHORIZATION, value);
            }
            let response = self.web.send(request).await.map_err(way)?;
            let Some(challenge) = challenge(&response) else {
                return Ok(response);
            };
            if tries > TRIES || !self.login.answer(&challenge, token.as_deref()).await? {
                return Err(refused(challenge));
            }
        }
    }

    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Response<WebBody>, Failure> {
        let mut request = request(Method::POST, uri, session, headers)?;
        request.body = serde_json::to_vec(message)?.into();
        request
            .headers
            .insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        self.send(request).await
    }
}

fn request(
    method: Method,
    uri: &str,
    session: Option<&str>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> Result<WebRequest, Failure> {
    let mut request = WebRequest::new(method, uri);
    request.headers = headers.into_iter().collect();
    let accepts = HeaderValue::from_static("application/json, text/event-stream");
    request.headers.insert(ACCEPT, accepts);
    if let Some(session) = session {
        let value = HeaderValue::try_from(session);
        let value = value.map_err(|_| unexpected("the session id cannot be sent back"))?;
        request.headers.insert(SESSION, value);
    }
    request.follow = Follow::Within;
    request.patience = PATIENCE;
    request.limit = u64::MAX;
    Ok(request)
}

fn way(error: WebError) -> Failure {
    Failure::Client(error.into())
}

fn unexpected(text: impl Into<String>) -> Failure {
    Failure::UnexpectedServerResponse(text.into().into())
}

/// What credentials a server wants, if that is its answer.
fn challenge(response: &Response<WebBody>) -> Option<Challenge> {
    let status = response.status();
    let header = response.headers().get(WWW_AUTHENTICATE);
    let header = header.and_then(|header| header.to_str().ok());
    let more = status == StatusCode::FORBIDDEN && header.is_some();
    (more || status == StatusCode::UNAUTHORIZED).then(|| Challenge {
        header: header.unwrap_or("Bearer").to_owned(),
        more,
    })
}

fn refused(challenge: Challenge) -> Failure {
    match challenge.more {
        true => {
            let scope = challenge.scope();
            Failure::InsufficientScope(InsufficientScopeError::new(challenge.header, scope))
        }
        false => Failure::AuthRequired(AuthRequiredError::new(challenge.header)),
    }
}

fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

/// The events of an answer. One that is too large is told as the answer to `id`.
fn events(
    body: WebBody,
    limit: usize,
    id: Option<Value>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let stand_in = id.map(|id| format!("data: {}\n\n", stand_in(&id)));
    let events = SseStream::from_bytes_stream(Bounded::new(body, limit, stand_in));
    events.map(|event| event.map(understandable)).boxed()
}

/// An event whose message can be understood: the error in the place of an answer that is none.
fn understandable(mut event: Sse) -> Sse {
    let data = event.data.as_deref().unwrap_or_default();
    if let Some(instead) = garbled::stand_in(data.as_bytes()) {
        event.data = Some(instead);
    }
    event
}

/// The id of a request, as JSON.
fn id_of(message: &ClientJsonRpcMessage) -> Option<Value> {
    match message {
        ClientJsonRpcMessage::Request(request) => serde_json::to_value(&request.id).ok(),
        _ => None,
    }
}

/// Servers that answer whatever they do not know with nothing do not know how we begin: the error
/// that they should have given.
fn plain_discovery(message: &ClientJsonRpcMessage, body: &[u8]) -> Option<ServerJsonRpcMessage> {
    let ClientJsonRpcMessage::Request(request) = message else {
        return None;
    };
    if !matches!(request.request, ClientRequest::DiscoverRequest(_)) {
        return None;
    }
    let answer: Value = serde_json::from_slice(body).ok()?;
    let result = answer.get("result")?;
    result.get("supportedVersions").is_none().then(|| {
        let error = ErrorData::invalid_request("`server/discover` is not known", None);
        ServerJsonRpcMessage::error(error, Some(request.id.clone()))
    })
}

/// An answer that is not a success. A JSON-RPC error in it is what the server wants to say.
fn failure(
    message: &ClientJsonRpcMessage,
    session: bool,
    status: StatusCode,
    body: &[u8],
) -> Result<StreamableHttpPostResponse, Failure> {
    let said = match serde_json::from_slice::<ServerJsonRpcMessage>(body) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    let shown = || String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
    // A server that does not know how we begin may not even repeat the id.
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && status.is_client_error()
        && !session
    {
        let error = said.map_or_else(
            || ErrorData::invalid_request(format!("HTTP {status}: {}", shown()), None),
            |said| said.error,
        );
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match said {
        // Some servers forget a session with other words than 404.
        Some(said)
            if session
                && status == StatusCode::BAD_REQUEST
                && said.error.message.to_ascii_lowercase().contains("session") =>
        {
            Err(Failure::SessionExpired)
        }
        // It answers this request, whatever id it has.
        Some(said) => Ok(StreamableHttpPostResponse::Json(
            match message {
                ClientJsonRpcMessage::Request(request) => {
                    ServerJsonRpcMessage::error(said.error, Some(request.id.clone()))
                }
                _ => ServerJsonRpcMessage::Error(said),
            },
            None,
        )),
        None => Err(Failure::Client(WayError::answer(status.as_u16(), body))),
    }
}

impl StreamableHttpClient for Line {
    type Error = WayError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            MESSAGE,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let session = session_id.as_deref();
        let response = self.post(&uri, &message, session, custom_headers).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(Failure::SessionExpired);
        }
        let kind = text_of(response.headers(), CONTENT_TYPE).unwrap_or_default();
        let new_session = text_of(response.headers(), SESSION);
        let id = id_of(&message);
        if new_session.is_some() {
            self.stream.send_if_modified(|stream| {
                let first = *stream == Stream::None;
                *stream = if first { Stream::Expected } else { *stream };
                first
            });
        }
        if status.is_success() && kind.starts_with(EVENTS) {
            let events = events(response.into_body(), max_sse_event_size, id);
            return Ok(StreamableHttpPostResponse::Sse(events, new_session));
        }
        let body = match response.into_body().whole_up_to(MESSAGE as u64).await {
            Err(WebError::TooLarge(_)) if id.is_some() => stand_in(&id.unwrap_or_default()).into(),
            body => body.map_err(way)?,
        };
        if !status.is_success() {
            return failure(&message, session.is_some(), status, &body);
        }
        match serde_json::from_slice(&body) {
            Ok(answer) if kind.starts_with(JSON) => {
                let answer = plain_discovery(&message, &body).unwrap_or(answer);
                Ok(StreamableHttpPostResponse::Json(answer, new_session))
            }
            // Nothing is awaited but for requests; some servers say something all the same.
            _ if !matches!(message, ClientJsonRpcMessage::Request(_)) => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            _ => Err(Failure::Client(WayError::answer(status.as_u16(), &body))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let mut request = request(Method::DELETE, &uri, Some(&session_id), custom_headers)?;
        request.patience = Duration::from_secs(5);
        // A server that keeps sessions to itself says so; nothing depends on it.
        self.send(request).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            MESSAGE,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let session = session_id.as_deref();
        let mut request = request(Method::GET, &uri, session, custom_headers)?;
        if let Some(last) = last_event_id {
            let value = HeaderValue::try_from(last);
            let value = value.map_err(|_| unexpected("the event id cannot be sent back"))?;
            request.headers.insert(LAST_EVENT, value);
        }
        let response = self.send(request).await;
        self.stream.send_replace(Stream::Asked);
        let response = response?;
        let status = response.status();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(Failure::ServerDoesNotSupportSse);
        }
        if !status.is_success() {
            return Err(Failure::Client(WayError::answer(status.as_u16(), &[])));
        }
        let kind = text_of(response.headers(), CONTENT_TYPE);
        match kind {
            Some(kind) if kind.starts_with(EVENTS) => {
                Ok(events(response.into_body(), max_sse_event_size, None))
            }
            kind => Err(Failure::UnexpectedContentType(kind)),
        }
    }
}
