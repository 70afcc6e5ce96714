//! The two ways to a server: a program on its standard streams, or HTTP.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::{BoxFuture, ToolError};
use haft_host::http::{HeaderName, HeaderValue};
use haft_host::{Partner, PartnerProgram, Reach, RunProcesses, Web, WebError};
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RoleClient, serve_client_with_lifecycle,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};

use super::Records;
use super::failure::WayError;
use super::http::Line;
use super::lane::Lane;
use super::login::{Browser, Login, OauthSpec};
use super::oversize::{Lines, MESSAGE};
use super::remote::Service;
use super::side::Side;

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum Way {
    Program(PartnerProgram),
    Http(HttpServer),
}

/// A server at a URL.
#[derive(Debug, Clone, Default)]
pub struct HttpServer {
    pub url: String,
    /// Sent with each request
    pub headers: Vec<(String, String)>,
    pub oauth: OauthSpec,
    /// A person said that it lies on this machine or in a private network, whatever its name
    pub private: bool,
}

/// Headers that the protocol itself sets.
const RESERVED: [&str; 7] = [
    "accept",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

impl HttpServer {
    /// Why it cannot be used, if it cannot.
    pub fn problem(&self) -> Option<String> {
        if let Err(error) = Reach::with(&self.url) {
            return Some(error.to_string());
        }
        self.headers.iter().find_map(|(name, value)| {
            let name = name.to_ascii_lowercase();
            if RESERVED.contains(&name.as_str()) {
                return Some(format!("the header `{name}` is not to be set"));
            }
            let good = HeaderName::try_from(name.as_str()).is_ok()
                && HeaderValue::try_from(value.as_str()).is_ok();
            (!good).then(|| format!("the header `{}` cannot be sent", name.escape_debug()))
        })
    }
}

/// What connections are made with.
#[derive(Clone)]
pub struct Hands {
    pub processes: RunProcesses,
    pub records: Arc<dyn Records>,
    /// Shows pages to log in at, where a person is there
    pub browser: Option<Arc<dyn Browser>>,
}

pub(super) type Greeting = BoxFuture<'static, Result<Service, ClientInitializeError>>;

/// Agree on a revision with a server: the newest, or what older servers speak.
fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

/// Start a program, and greet it: as an old one where it was heard not to speak the newest revision.
pub(super) fn with_program(
    side: Side,
    old: bool,
    program: &PartnerProgram,
    processes: &RunProcesses,
) -> Result<(Partner, Arc<Lane>, Greeting), ToolError> {
    let (partner, reader, writer) = processes.partner(program)?;
    let lane = Lane::new(writer);
    let lines = Lines::new(reader, lane.clone());
    // Lines that are too large are replaced before they come here.
    let transport = AsyncRwTransport::<RoleClient, _, _>::new(lines, lane.writer())
        .with_max_line_length(MESSAGE + 1024);
    let lifecycle = match old {
        true => ClientLifecycleMode::Initialize,
        false => lifecycle(),
    };
    let greeting = serve_client_with_lifecycle(side, transport, lifecycle);
    Ok((partner, lane, Box::pin(greeting)))
}

/// The login at a server, in the making.
pub(super) fn login(server: &str, http: &HttpServer, hands: &Hands) -> Result<Login, WebError> {
    Ok(Login::new(
        server,
        &http.url,
        http.oauth.clone(),
        Web::new(Reach::near(&http.url)?.inside_if(http.private)),
        hands.records.clone(),
        hands.browser.clone(),
    ))
}

/// Greet a server at a URL.
pub(super) fn over_http(
    side: Side,
    http: &HttpServer,
    login: Arc<Login>,
) -> Result<Greeting, WebError> {
    let reach = Reach::with(&http.url)?.inside_if(http.private);
    let line = Line::new(Web::new(reach), login);
    let headers: HashMap<HeaderName, HeaderValue> = http
        .headers
        .iter()
        .filter_map(|(name, value)| {
            let name = HeaderName::try_from(name.as_str()).ok()?;
            let value = HeaderValue::try_from(value.as_str()).ok()?;
            Some((name, value))
        })
        .collect();
    let config = StreamableHttpClientTransportConfig::with_uri(http.url.as_str())
        .custom_headers(headers)
        .max_sse_event_size(MESSAGE);
    Ok(Box::pin(async move {
        let greet = |lifecycle| {
            let transport =
                StreamableHttpClientTransport::with_client(line.clone(), config.clone());
            serve_client_with_lifecycle(side.clone(), transport, lifecycle)
        };
        // One after the other, not by a deadline as on standard streams: an answer always comes,
        // and a person who logs in meanwhile may take long.
        let newest = ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        };
        let service = match greet(newest).await {
            Err(error) if !is_final(&error) => greet(ClientLifecycleMode::Initialize).await?,
            service => service?,
        };
        line.settle().await;
        Ok(service)
    }))
}

/// Whether an error would come again whatever revision is spoken.
fn is_final(error: &ClientInitializeError) -> bool {
    use StreamableHttpError::{Auth, AuthRequired, Client, InsufficientScope};
    let ClientInitializeError::TransportError { error, .. } = error else {
        return false;
    };
    let error = error.error.downcast_ref::<StreamableHttpError<WayError>>();
    matches!(
        error,
        Some(Auth(_) | AuthRequired(_) | InsufficientScope(_) | Client(WayError::Web(_)))
    )
}
