//! Headers that repeat what the body says, so that those on the way need not read it. Since
//! 2026-07-28 they have to be there and to agree.

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_runtime::View;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::{Kind, RequestMeta, Revision, RpcError, code};

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// What the headers can be held against.
#[derive(Deserialize, Default)]
struct Named {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    uri: Option<String>,
    #[serde(default, rename = "taskId")]
    task: Option<String>,
}

#[derive(Deserialize, Default)]
struct Versioned<'a> {
    #[serde(rename = "_meta", borrow, default)]
    meta: Option<RequestMeta<'a>>,
}

fn version(headers: &HeaderMap) -> Option<&str> {
    headers.get(VERSION).and_then(|value| value.to_str().ok())
}

pub(super) fn revision(headers: &HeaderMap) -> Option<Revision> {
    version(headers).and_then(Revision::parse)
}

/// The revision that the headers name, if they do; one that nobody knows is an error.
pub(super) fn stated(headers: &HeaderMap) -> Option<Result<Revision, RpcError>> {
    let text = version(headers)?;
    let unknown = || RpcError::unsupported_version(text, &Revision::SUPPORTED);
    Some(Revision::parse(text).ok_or_else(unknown))
}

fn params<'a>(kind: &Kind<'a>) -> Option<&'a RawValue> {
    match kind {
        Kind::Request { params, .. } | Kind::Notification { params, .. } => *params,
        Kind::Response { .. } => None,
    }
}

fn body_version(kind: &Kind<'_>) -> Option<String> {
    let raw = params(kind).filter(|raw| raw.get().contains("\"_meta\""))?;
    let read: Versioned<'_> = serde_json::from_str(raw.get()).ok()?;
    read.meta?.version.map(String::from)
}

/// Whether a message stands alone: header or body name a revision that has no handshake, or one
/// that nobody knows.
pub(super) fn speaks_for_itself(headers: &HeaderMap, kind: &Kind<'_>) -> bool {
    match version(headers) {
        Some(text) => Revision::parse(text).is_none_or(Revision::is_stateless),
        None => body_version(kind).is_some(),
    }
}

/// Headers and body agree, and what is needed is there.
pub(super) fn agree(headers: &HeaderMap, kind: &Kind<'_>, view: &View) -> Result<(), RpcError> {
    let mismatch = |text: String| Err(RpcError::new(code::HEADER_MISMATCH, text));
    let (Kind::Request { method, .. } | Kind::Notification { method, .. }) = kind else {
        return Ok(());
    };
    let Some(stated) = version(headers) else {
        return mismatch("`MCP-Protocol-Version` is missing".into());
    };
    if let Some(body) = body_version(kind).filter(|body| body != stated) {
        return mismatch(format!(
            "`MCP-Protocol-Version` says `{stated}`, the request `{body}`"
        ));
    }
    // What nobody knows is told by the version first.
    if Revision::parse(stated).is_none() || matches!(kind, Kind::Notification { .. }) {
        return Ok(());
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match text(METHOD).map(str::trim) {
        Some(named) if named == method => {}
        Some(named) => {
            return mismatch(format!(
                "`Mcp-Method` says `{named}`, the request `{method}`"
            ));
        }
        None => return mismatch("`Mcp-Method` is missing".into()),
    }
    let named: Named = params(kind)
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    let expected = match &**method {
        "tools/call" | "prompts/get" => named.name,
        "resources/read" => named.uri,
        "tasks/get" | "tasks/update" | "tasks/cancel" => named.task,
        _ => None,
    };
    let Some(expected) = expected else {
        return Ok(());
    };
    match text(NAME).map(str::trim).map(decoded) {
        Some(Some(given)) if given == expected => {}
        Some(_) => return mismatch(format!("`Mcp-Name` does not say `{expected}`")),
        None => return mismatch("`Mcp-Name` is missing".into()),
    }
    let tool = view.resolve(&expected).filter(|_| method == "tools/call");
    match tool {
        Some(index) => {
            let schema = &view.snapshot().entries()[index].spec().input_schema;
            arguments_agree(headers, schema, params(kind))
        }
        None => Ok(()),
    }
}

/// Arguments that a tool wants repeated in headers are, and say the same.
fn arguments_agree(
    headers: &HeaderMap,
    schema: &Value,
    params: Option<&RawValue>,
) -> Result<(), RpcError> {
    let properties = schema["properties"].as_object();
    let repeated: Vec<(&String, &str)> = properties
        .into_iter()
        .flatten()
        .filter_map(|(key, property)| Some((key, property["x-mcp-header"].as_str()?)))
        .collect();
    if repeated.is_empty() {
        return Ok(());
    }
    let params: Value = params
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    let arguments = &params["arguments"];
    for (key, header) in repeated {
        let expected = match &arguments[key] {
            Value::String(text) => Some(text.clone()),
            value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
            _ => None,
        };
        let given = headers
            .get(format!("mcp-param-{header}"))
            .map(|value| value.to_str().ok().and_then(|text| decoded(text.trim())));
        let same = match (&expected, given) {
            (None, None) => true,
            (Some(expected), Some(Some(given))) => *expected == given,
            _ => false,
        };
        if !same {
            return Err(RpcError::new(
                code::HEADER_MISMATCH,
                format!("`Mcp-Param-{header}` does not say what `{key}` does"),
            ));
        }
    }
    Ok(())
}

/// A header value, taken out of its base64 wrapping where it has one.
fn decoded(value: &str) -> Option<String> {
    match value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    {
        Some(wrapped) => String::from_utf8(STANDARD.decode(wrapped).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}
