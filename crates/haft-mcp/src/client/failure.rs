//! What the errors of a connection mean: whether a request can have reached its tool, and how that is
//! told. Words of the server stand apart from ours, since nobody vouches for them.

use std::error::Error;

use haft_host::WebError;
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

/// Characters of what a server says where it should have answered.
const WORDS: usize = 300;

/// What can go wrong on the way to a server at a URL.
#[derive(Debug, thiserror::Error)]
pub(super) enum WayError {
    #[error(transparent)]
    Web(#[from] WebError),
    /// It answered, with something that is no message
    #[error("HTTP {status}: {words}")]
    Answer { status: u16, words: String },
}

impl WayError {
    pub(super) fn answer(status: u16, body: &[u8]) -> Self {
        // More bytes than characters are needed; the rest is not looked at.
        let body = &body[..body.len().min(4 * WORDS)];
        let words = String::from_utf8_lossy(body);
        WayError::Answer {
            status,
            words: words.trim().chars().take(WORDS).collect(),
        }
    }
}

/// What is not in the words of the protocol is no answer.
pub(super) fn unexpected(_: serde_json::Error) -> ServiceError {
    ServiceError::UnexpectedResponse
}

/// Whether the tool can have heard of a request that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    No,
    /// The server says that it will not have it
    Refused,
    Perhaps,
}

#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) heard: Heard,
    pub(super) reason: String,
    /// What the server said, bounded
    pub(super) words: Option<String>,
}

impl Trouble {
    fn new(heard: Heard, reason: impl Into<String>) -> Self {
        Trouble {
            heard,
            reason: reason.into(),
            words: None,
        }
    }

    pub(super) fn of(error: &DynamicTransportError) -> Self {
        use StreamableHttpError as Http;
        type Failure = StreamableHttpError<WayError>;
        let Some(http) = error.error.downcast_ref::<Failure>() else {
            return Trouble::new(Heard::Perhaps, told(&*error.error));
        };
        match http {
            Http::AuthRequired(_) => Trouble::new(Heard::No, "it wants a login"),
            Http::InsufficientScope(_) => Trouble::new(Heard::No, "it wants another login"),
            Http::SessionExpired => Trouble::new(Heard::No, "it has forgotten the session"),
            Http::Client(WayError::Web(error)) => Trouble::new(reach(error), web(error)),
            Http::Client(WayError::Answer { status, words }) => Trouble {
                heard: understood(*status),
                reason: match status {
                    200..300 => "it answered with something that is no message".to_owned(),
                    status => format!("it answered HTTP {status}"),
                },
                words: Some(words.clone()).filter(|words| !words.is_empty()),
            },
            other => Trouble::new(Heard::Perhaps, told(other)),
        }
    }
}

/// Where a name leads inside, the owner can say that it may.
fn web(error: &WebError) -> String {
    match error {
        WebError::Refused("private" | "loopback" | "this machine's own") => format!(
            "{error}; `private: true` in its configuration opens it, if that is where it belongs"
        ),
        WebError::Elsewhere(_) => format!("{error}; configure that URL, if you trust it"),
        error => error.to_string(),
    }
}

/// A request that no connection could be made for has been heard by nobody.
fn reach(error: &WebError) -> Heard {
    use WebError::{
        Connect, Elsewhere, Header, NoSuchHost, Port, Redirects, Refused, TimedOut, Tls, TooLarge,
    };
    match error {
        Connect(_) | Tls(_) | Header(_) | NoSuchHost | Port(_) | Refused(_) => Heard::No,
        // Who sends us elsewhere has not done it himself.
        Elsewhere(_) | Redirects | WebError::Url(_) => Heard::No,
        TimedOut(_) | TooLarge(_) | WebError::Broken(_) => Heard::Perhaps,
    }
}

fn understood(status: u16) -> Heard {
    match status {
        401 | 403 | 429 => Heard::No,
        // It gave up waiting, for whatever.
        408 => Heard::Perhaps,
        400..500 => Heard::Refused,
        _ => Heard::Perhaps,
    }
}

/// Why a server could not be greeted.
pub(super) fn greeting(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => {
            let trouble = Trouble::of(error);
            match trouble.words {
                Some(words) => format!("{}: {words:?}", trouble.reason),
                None => trouble.reason,
            }
        }
        ClientInitializeError::JsonRpcError(error) => {
            let words: String = error.message.chars().take(WORDS).collect();
            format!("it answered with an error: {words:?}")
        }
        other => told(other).chars().take(WORDS).collect(),
    }
}

/// An error with what it came from. Names of types mean nothing to anybody who reads it.
pub(super) fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if text.contains("::") {
            text = cause_text;
        } else if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;
    use std::io;

    use super::*;

    #[test]
    fn only_what_cannot_have_reached_the_tool_was_not_heard() {
        let check = |error: WayError, expected: Heard| {
            let error = StreamableHttpError::Client(error);
            let error = DynamicTransportError::from_parts("x::y", TypeId::of::<()>(), error.into());
            let trouble = Trouble::of(&error);
            assert_eq!(trouble.heard, expected, "{trouble:?}");
            assert!(!trouble.reason.contains("::"), "{trouble:?}");
        };
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        check(WebError::Connect(refused()).into(), Heard::No);
        check(WebError::NoSuchHost.into(), Heard::No);
        check(WebError::Broken("half way".into()).into(), Heard::Perhaps);
        check(WebError::TimedOut("the answer").into(), Heard::Perhaps);
        for (status, expected) in [
            (200, Heard::Perhaps),
            (400, Heard::Refused),
            (401, Heard::No),
            (404, Heard::Refused),
            (408, Heard::Perhaps),
            (429, Heard::No),
            (500, Heard::Perhaps),
            (502, Heard::Perhaps),
            (503, Heard::Perhaps),
        ] {
            check(WayError::answer(status, b"no"), expected);
        }
    }

    #[test]
    fn the_words_of_a_server_are_bounded() {
        let words = "\u{e4}".repeat(10_000);
        let WayError::Answer { words, .. } = WayError::answer(500, words.as_bytes()) else {
            panic!("an answer");
        };
        assert_eq!(words.chars().count(), WORDS);
    }
}
