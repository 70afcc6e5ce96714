//! One JSON-RPC message. What is only passed on stays raw: an id is echoed byte for byte, and
//! parameters are parsed once, by the method that knows them.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::code::{self, RpcError};
use super::outgoing::Outgoing;
use super::revision::Revision;

/// A request id as it was written: a string or an integer.
pub(crate) type Id = Arc<str>;

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

pub(crate) struct Incoming<'a> {
    pub(crate) kind: Kind<'a>,
}

pub(crate) enum Kind<'a> {
    Request {
        id: Id,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// An answer to one of our own requests; an error is an answer too
    Response {
        id: Id,
        result: Result<&'a RawValue, &'a RawValue>,
    },
}

impl<'a> Incoming<'a> {
    /// Parse a message, or give the error to answer with and the id it goes to.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, (Option<Id>, RpcError)> {
        let envelope: Envelope<'a> = match serde_json::from_slice(bytes) {
            Ok(_) if is_batch(bytes) => {
                let error = RpcError::invalid_request("a list where a message should be");
                return Err((None, error));
            }
            Ok(envelope) => envelope,
            Err(error) => return Err((None, unreadable(bytes, &error))),
        };
        let id = match envelope.id.map(RawValue::get) {
            None => None,
            Some(raw) if is_id(raw) => Some(Id::from(raw)),
            Some(_) => {
                let error = RpcError::invalid_request("`id` must be a string or an integer");
                return Err((None, error));
            }
        };
        if envelope.jsonrpc.as_deref() != Some("2.0") {
            let error = RpcError::invalid_request("`jsonrpc` must be \"2.0\"");
            return Err((id, error));
        }
        if envelope
            .params
            .is_some_and(|raw| !raw.get().starts_with('{'))
        {
            let error = RpcError::invalid_params("`params` must be an object");
            return Err((id, error));
        }
        let params = envelope.params;
        let kind = match (envelope.method, id, envelope.result, envelope.error) {
            (Some(method), Some(id), None, None) => Kind::Request { id, method, params },
            (Some(method), None, None, None) => Kind::Notification { method, params },
            (None, Some(id), Some(result), None) => Kind::Response {
                id,
                result: Ok(result),
            },
            (None, Some(id), None, Some(error)) => Kind::Response {
                id,
                result: Err(error),
            },
            (_, id, _, _) => {
                let error =
                    RpcError::invalid_request("neither a request, a notification nor a response");
                return Err((id, error));
            }
        };
        Ok(Incoming { kind })
    }
}

/// Whether this is a list of messages.
pub(crate) fn is_batch(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().first() == Some(&b'[')
}

fn unreadable(bytes: &[u8], error: &serde_json::Error) -> RpcError {
    match serde_json::from_slice::<&RawValue>(bytes) {
        Ok(_) => RpcError::invalid_request(format!("not a JSON-RPC message: {error}")),
        Err(_) => RpcError::new(code::PARSE, format!("not JSON: {error}")),
    }
}

/// A string, or an integer that fits 64 bits.
fn is_id(raw: &str) -> bool {
    raw.starts_with('"') || raw.parse::<i64>().is_ok() || raw.parse::<u64>().is_ok()
}

/// What a request is answered with: JSON that is ready to be sent.
#[derive(Debug)]
pub(crate) enum Reply {
    Result(Vec<u8>),
    /// A result that is a list of tools, kept as JSON by whoever made it, and the fields after it
    Tools(Arc<str>, String),
    /// The answers to a batch, each with its id
    Batch(Vec<u8>),
    Error(RpcError),
}

impl Reply {
    pub(crate) fn value(value: &Value) -> Self {
        Reply::Result(value.to_string().into_bytes())
    }

    /// The whole message, appended to `out`.
    pub(crate) fn write(&self, id: &str, out: &mut Outgoing) {
        match self {
            Reply::Error(error) => return out.push(&error_reply(Some(id), error)),
            Reply::Batch(json) => return out.push(json),
            Reply::Result(_) | Reply::Tools(..) => {}
        }
        out.push(br#"{"jsonrpc":"2.0","id":"#);
        out.push(id.as_bytes());
        out.push(br#","result":"#);
        match self {
            Reply::Result(json) => out.push(json),
            Reply::Tools(tools, rest) => {
                out.push(br#"{"tools":"#);
                out.point_at(tools);
                out.push(rest.as_bytes());
                out.push(b"}");
            }
            Reply::Batch(_) | Reply::Error(_) => {}
        }
        out.push(b"}");
    }
}

impl From<RpcError> for Reply {
    fn from(error: RpcError) -> Self {
        Reply::Error(error)
    }
}

/// What stands for an id that could not be read: JSON-RPC wants `null`, and since 2025-11-25 the
/// protocol wants nothing. A client of whom nothing is known speaks JSON-RPC.
pub(crate) fn no_id(revision: Option<Revision>) -> Option<&'static str> {
    let wants_nothing = revision.is_some_and(|revision| revision >= Revision::V2025_11_25);
    (!wants_nothing).then_some("null")
}

/// An error response.
pub(crate) fn error_reply(id: Option<&str>, error: &RpcError) -> Vec<u8> {
    let error = error.to_value();
    match id {
        Some(id) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
        None => format!(r#"{{"jsonrpc":"2.0","error":{error}}}"#),
    }
    .into_bytes()
}

pub(crate) fn notification(method: &str, params: &Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
        .to_string()
        .into_bytes()
}

pub(crate) fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        .to_string()
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The official examples of whole messages come out as they went in.
    #[test]
    fn official_examples_round_trip() {
        let mut seen = 0;
        for example in haft_testkit::mcp::examples() {
            if example.value.get("jsonrpc").is_none() {
                continue;
            }
            let text = example.value.to_string();
            let Ok(message) = Incoming::parse(text.as_bytes()) else {
                panic!("{} {}", example.kind, example.name);
            };
            let params = |raw: Option<&RawValue>| -> Value {
                raw.map_or(json!({}), |raw| serde_json::from_str(raw.get()).unwrap())
            };
            let (mut bytes, id) = match message.kind {
                Kind::Notification { method, params: p } => {
                    (notification(&method, &params(p)), None)
                }
                Kind::Request {
                    id,
                    method,
                    params: p,
                } => (request(0, &method, &params(p)), Some(id)),
                Kind::Response { id, result } => {
                    let reply = match result {
                        Ok(raw) => Reply::Result(raw.get().as_bytes().to_vec()),
                        Err(raw) => {
                            let error: Value = serde_json::from_str(raw.get()).unwrap();
                            let message = error["message"].as_str().unwrap();
                            let mut told = RpcError::new(error["code"].as_i64().unwrap(), message);
                            told.data = error.get("data").cloned().map(Box::new);
                            Reply::Error(told)
                        }
                    };
                    let mut out = Outgoing::default();
                    reply.write(&id, &mut out);
                    (out.into_vec(), None)
                }
            };
            let mut written: Value = serde_json::from_slice(&bytes).unwrap();
            if let Some(id) = id {
                written["id"] = serde_json::from_str(&id).unwrap();
            }
            bytes.clear();
            let mut expected = example.value;
            if written.get("method").is_some() && expected.get("params").is_none() {
                expected["params"] = json!({});
            }
            assert_eq!(written, expected, "{} {}", example.kind, example.name);
            seen += 1;
        }
        assert_eq!(seen, 32);
    }

    #[test]
    fn messages_are_told_apart() {
        let check = |text: &str, expected: &str| {
            let told = match Incoming::parse(text.as_bytes()) {
                Ok(message) => match message.kind {
                    Kind::Request { id, method, .. } => format!("request {id} {method}"),
                    Kind::Notification { method, .. } => format!("notification {method}"),
                    Kind::Response { id, result } => format!("response {id} {}", result.is_ok()),
                },
                Err((id, error)) => format!("{} {:?}", error.code, id.as_deref()),
            };
            assert_eq!(told, expected, "{text}");
        };
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            "request 1 ping",
        );
        check(
            r#"{"jsonrpc":"2.0","id":"a\"b","method":"p\u0069ng","params":{}}"#,
            r#"request "a\"b" ping"#,
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/x"}"#,
            "notification notifications/x",
        );
        check(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "response 7 true");
        check(
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""}}"#,
            "response 7 false",
        );
        check(r#"{"jsonrpc":"2.0","id":7}"#, r#"-32600 Some("7")"#);
        check(
            r#"{"jsonrpc":"1.0","id":7,"method":"x"}"#,
            r#"-32600 Some("7")"#,
        );
        check(r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, "-32600 None");
        check(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, "-32600 None");
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#,
            r#"-32602 Some("1")"#,
        );
        check(r#"[{"jsonrpc":"2.0"}]"#, "-32600 None");
        check(r#"["2.0", 1, "ping"]"#, "-32600 None");
        check("{\"jsonrpc\":", "-32700 None");
        check("\u{1}", "-32700 None");
        check(&"[".repeat(100_000), "-32700 None");
    }
}
