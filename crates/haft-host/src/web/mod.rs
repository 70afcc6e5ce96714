//! The one HTTP client: everything that leaves this machine as HTTP goes through here. A URL is
//! read once, its name is looked up once, every address it has must be allowed, and the connection
//! goes to one of those addresses. Each redirect is checked like the first URL. Answers have limits
//! in time and size. Proxies of the environment are not asked.

mod address;
mod body;
mod callback;
mod connect;
mod net;
mod reach;
mod target;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;

pub use self::body::WebBody;
pub use self::callback::Callback;
use self::connect::Connections;
use self::net::{Net, Real};
pub use self::reach::Reach;
use self::target::Target;

const REDIRECTS: usize = 5;

/// Headers that say how a message is carried: nobody but us says that.
const OURS: [HeaderName; 8] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    header::EXPECT,
];

/// Headers that may go to another place than the one they were meant for.
const HARMLESS: [HeaderName; 4] = [
    header::ACCEPT,
    header::CONTENT_TYPE,
    header::USER_AGENT,
    header::ACCEPT_LANGUAGE,
];

/// Why there is no answer. The text names the kind of address, never the address.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    #[error("the URL cannot be used: {0}")]
    Url(&'static str),
    #[error("the URL leads to a place that is not open: {0}")]
    Refused(&'static str),
    #[error("the URL leads to a port that is not open: {0}")]
    Port(u16),
    #[error("no such host")]
    NoSuchHost,
    #[error("a header is not the caller's to set: `{0}`")]
    Header(HeaderName),
    #[error("no connection: {0}")]
    Connect(io::Error),
    #[error("no secure connection: {0}")]
    Tls(io::Error),
    #[error("{0} took too long")]
    TimedOut(&'static str),
    #[error("more than {REDIRECTS} redirects")]
    Redirects,
    #[error("it leads elsewhere: `{0}`")]
    Elsewhere(String),
    #[error("the answer is larger than {0} bytes")]
    TooLarge(u64),
    #[error("the connection broke: {0}")]
    Broken(String),
}

impl WebError {
    fn broken(error: hyper::Error) -> Self {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        WebError::Broken(text)
    }
}

/// Where to go when a redirect leads there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// The redirect is the answer
    Nowhere,
    /// To places of the same origin, with the same method and body; anything else is an error
    Within,
    Anywhere,
}

/// What is asked of a server.
#[derive(Debug, Clone)]
pub struct WebRequest {
    pub method: Method,
    pub url: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub follow: Follow,
    /// How long the answer may take to begin
    pub patience: Duration,
    /// Bytes that the answer may have
    pub limit: u64,
}

impl WebRequest {
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        WebRequest {
            method,
            url: url.into(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            follow: Follow::Nowhere,
            patience: Duration::from_secs(30),
            limit: 8 << 20,
        }
    }
}

/// A client with its connections. Cloning it shares them.
#[derive(Clone)]
pub struct Web(Arc<Connections>);

impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Web")
    }
}

impl Web {
    pub fn new(reach: Reach) -> Self {
        Self::on(Arc::new(Real), reach)
    }

    fn on(net: Arc<dyn Net>, reach: Reach) -> Self {
        Web(Arc::new(Connections::new(net, reach)))
    }

    /// Whether the host of a URL is on this machine or in a private network now, though its name
    /// does not say so.
    pub async fn leads_inside(&self, url: &str) -> bool {
        match Target::parse(url) {
            Ok(target) if target.address.is_none() && !target.is_inside() => {
                self.0.is_inside(&target).await
            }
            _ => false,
        }
    }

    /// Send a request and wait until the answer begins.
    pub async fn send(&self, mut request: WebRequest) -> Result<Response<WebBody>, WebError> {
        if let Some(name) = OURS.iter().find(|name| request.headers.contains_key(*name)) {
            return Err(WebError::Header(name.clone()));
        }
        let mut target = Target::parse(&request.url)?;
        for _ in 0..=REDIRECTS {
            let asking = self.exchange(&target, &request);
            let response = tokio::time::timeout(request.patience, asking)
                .await
                .map_err(|_| WebError::TimedOut("the answer"))??;
            let followed = request.follow != Follow::Nowhere && is_redirect(response.status());
            let location = response.headers().get(header::LOCATION);
            let location = location.filter(|_| followed);
            let Some(location) = location else {
                let limit = request.limit;
                return Ok(response.map(|incoming| WebBody::new(incoming, limit)));
            };
            let location = location
                .to_str()
                .map_err(|_| WebError::Url("a redirect leads nowhere"))?;
            let next = target.join(location)?;
            let same = next.origin() == target.origin();
            let kept = matches!(response.status().as_u16(), 307 | 308);
            if request.follow == Follow::Within && !(same && kept) {
                return Err(WebError::Elsewhere(next.place()));
            }
            if !same {
                request.headers = harmless(&request.headers);
            }
            let changes = response.status() == StatusCode::SEE_OTHER
                || (request.method == Method::POST && response.status().as_u16() < 303);
            if changes && request.method != Method::HEAD {
                request.method = Method::GET;
                request.body = Bytes::new();
                request.headers.remove(header::CONTENT_TYPE);
            }
            target = next;
        }
        Err(WebError::Redirects)
    }

    async fn exchange(
        &self,
        target: &Target,
        request: &WebRequest,
    ) -> Result<Response<Incoming>, WebError> {
        let mut message = message(target, request)?;
        // A connection that waits may be closed by now; what was not sent is sent on another.
        while let Some(mut sender) = self.0.kept(target) {
            match sender.try_send_request(message).await {
                Ok(response) => {
                    self.0.keep(target, sender);
                    return Ok(response);
                }
                Err(mut error) => match error.take_message() {
                    Some(unsent) => message = unsent,
                    None => return Err(WebError::broken(error.into_error())),
                },
            }
        }
        let addresses = self.0.checked(target).await?;
        let mut sender = self.0.open(target, &addresses).await?;
        let response = sender
            .send_request(message)
            .await
            .map_err(WebError::broken)?;
        self.0.keep(target, sender);
        Ok(response)
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// What is left of headers when they go to another place.
fn harmless(headers: &HeaderMap) -> HeaderMap {
    let kept = HARMLESS.iter().filter_map(|name| {
        let value = headers.get(name)?;
        Some((name.clone(), value.clone()))
    });
    kept.collect()
}

fn message(target: &Target, request: &WebRequest) -> Result<Request<Full<Bytes>>, WebError> {
    let mut message = Request::new(Full::new(request.body.clone()));
    *message.method_mut() = request.method.clone();
    *message.uri_mut() = target
        .path()
        .parse()
        .map_err(|_| WebError::Url("it cannot be sent"))?;
    *message.headers_mut() = request.headers.clone();
    let host = HeaderValue::try_from(target.host_header())
        .map_err(|_| WebError::Url("its host is not plain"))?;
    message.headers_mut().insert(header::HOST, host);
    Ok(message)
}
