//! Results in the words of MCP. Since 2026-07-28 a result names its type and its server, and what
//! may be cached says for how long.

use std::ops::Not;
use std::sync::Arc;

use haft_core::{Block, ErrorCode, Outcome};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::ServerConfig;
use crate::wire::{Reply, Revision, RpcError};

/// How long a client may keep a list before it asks again, where nobody tells it of changes.
const LIST_MS: u64 = 5_000;

/// Where a result names its server in its `_meta`.
const SERVER: &str = "io.modelcontextprotocol/serverInfo";

#[derive(Serialize)]
pub(super) struct Implementation<'a> {
    name: &'a str,
    title: &'a str,
    version: &'a str,
}

pub(super) fn implementation(config: &ServerConfig) -> Implementation<'_> {
    Implementation {
        name: &config.name,
        title: &config.title,
        version: &config.version,
    }
}

/// A result of a method, finished for its revision.
pub(super) fn result(
    mut fields: Map<String, Value>,
    revision: Revision,
    config: &ServerConfig,
) -> Reply {
    if revision.is_stateless() {
        fields
            .entry("resultType")
            .or_insert_with(|| "complete".into());
        let meta = fields.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert(SERVER.to_owned(), json!(implementation(config)));
        }
    }
    Reply::value(&Value::Object(fields))
}

/// The same, for what a client may cache.
pub(super) fn cacheable(
    mut fields: Map<String, Value>,
    revision: Revision,
    config: &ServerConfig,
) -> Reply {
    if revision.is_stateless() {
        fields.insert("ttlMs".into(), LIST_MS.into());
        fields.insert("cacheScope".into(), "private".into());
    }
    result(fields, revision, config)
}

/// `tools/list` around a list that is ready JSON already.
pub(super) fn tool_list(tools: Arc<str>, revision: Revision, config: &ServerConfig) -> Reply {
    let rest = match revision.is_stateless() {
        true => format!(
            r#","resultType":"complete","ttlMs":{LIST_MS},"cacheScope":"private","_meta":{}"#,
            json!({SERVER: implementation(config)})
        ),
        false => String::new(),
    };
    Reply::Tools(tools, rest)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a Value>,
    #[serde(skip_serializing_if = "Not::not")]
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(rename = "_meta", skip_serializing_if = "Meta::is_empty")]
    meta: Meta<'a>,
}

#[derive(Serialize)]
struct Meta<'a> {
    #[serde(rename = "haft/handle", skip_serializing_if = "Option::is_none")]
    handle: Option<&'a str>,
    /// Texts carry their marks; what programs read has to be the answer's own
    #[serde(rename = "haft/untrusted", skip_serializing_if = "Not::not")]
    untrusted: bool,
    #[serde(
        rename = "io.modelcontextprotocol/serverInfo",
        skip_serializing_if = "Option::is_none"
    )]
    server: Option<Implementation<'a>>,
}

impl Meta<'_> {
    fn is_empty(&self) -> bool {
        self.handle.is_none() && !self.untrusted && self.server.is_none()
    }
}

/// The blocks, and the error as one more.
struct Content<'a>(&'a Outcome);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let error = self.0.error.as_ref().map(|error| {
            let hint = error.hint.as_deref().map(|hint| format!("\nhint: {hint}"));
            Block::text(format!(
                "{}: {}{}",
                error.code,
                error.message,
                hint.unwrap_or_default()
            ))
        });
        serializer.collect_seq(self.0.content.iter().chain(&error))
    }
}

/// The answer to `tools/call`.
pub(super) fn outcome(outcome: &Outcome, revision: Revision, config: &ServerConfig) -> Reply {
    let stateless = revision.is_stateless();
    let result = CallResult {
        content: Content(outcome),
        // Before 2026-07-28 it had to be an object.
        structured_content: outcome
            .structured
            .as_ref()
            .filter(|value| stateless || value.is_object()),
        is_error: !outcome.ok,
        result_type: stateless.then_some("complete"),
        meta: Meta {
            handle: outcome.meta.handle.as_deref(),
            untrusted: outcome.meta.untrusted,
            server: stateless.then(|| implementation(config)),
        },
    };
    match serde_json::to_vec(&result) {
        Ok(json) => Reply::Result(json),
        Err(error) => RpcError::internal(format!("the result is not JSON: {error}")).into(),
    }
}

/// What went wrong with a request that is not a tool call.
pub(super) fn failure(error: &haft_core::ToolError) -> RpcError {
    let message = match &error.hint {
        Some(hint) => format!("{} ({hint})", error.message),
        None => error.message.clone(),
    };
    match error.code {
        ErrorCode::InputInvalid | ErrorCode::NotAvailable | ErrorCode::Denied => {
            RpcError::invalid_params(message)
        }
        _ => RpcError::internal(message),
    }
}
