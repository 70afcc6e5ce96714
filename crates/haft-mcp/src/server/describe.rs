//! What the server says about itself: by `initialize` to older clients, by `server/discover` since
//! 2026-07-28.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::Server;
use super::answer::{cacheable, implementation};
use super::connection::Connection;
use super::request::{Agreed, LEVELS};
use super::tasks;
use crate::wire::{Capabilities, Reply, Revision, RpcError};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialize {
    protocol_version: String,
    #[serde(default)]
    capabilities: Value,
}

pub(super) fn initialize(
    connection: &Connection,
    params: Option<&RawValue>,
) -> Result<Reply, RpcError> {
    let wanted: Initialize = parse(params)?;
    // A revision that we do not know, or that has no `initialize`, is answered with the newest
    // that has; the client decides whether that will do.
    let revision = Revision::parse(&wanted.protocol_version)
        .filter(|revision| !revision.is_stateless())
        .unwrap_or(Revision::LAST_STATEFUL);
    connection.agree(Agreed {
        revision,
        capabilities: Capabilities::of(&wanted.capabilities),
    })?;
    let server = &connection.server;
    let mut result = Map::new();
    result.insert("protocolVersion".into(), revision.as_str().into());
    result.insert("capabilities".into(), capabilities(server, revision));
    result.insert("serverInfo".into(), json!(implementation(&server.config)));
    if let Some(instructions) = instructions(server) {
        result.insert("instructions".into(), instructions.into());
    }
    Ok(Reply::value(&Value::Object(result)))
}

pub(super) fn discover(server: &Server) -> Reply {
    let revision = Revision::V2026_07_28;
    let mut result = Map::new();
    result.insert("supportedVersions".into(), json!(Revision::SUPPORTED));
    result.insert("capabilities".into(), capabilities(server, revision));
    if let Some(instructions) = instructions(server) {
        result.insert("instructions".into(), instructions.into());
    }
    cacheable(result, revision, &server.config)
}

/// Our words for the model, and those of the servers whose tools it gets through us, marked.
fn instructions(server: &Server) -> Option<String> {
    let theirs = server.session.said_by_others(&server.runtime);
    match (&server.config.instructions, theirs) {
        (Some(ours), Some(theirs)) => Some(format!("{ours}\n\n{theirs}")),
        (Some(ours), None) => Some(ours.clone()),
        (None, theirs) => theirs,
    }
}

fn capabilities(server: &Server, revision: Revision) -> Value {
    let mut capabilities = json!({"tools": {"listChanged": true}, "logging": {}});
    tasks::declare(&mut capabilities, revision);
    let Some(offer) = &server.offer else {
        return capabilities;
    };
    let offered = offer.offered();
    if offered.resources {
        capabilities["resources"] = json!({"listChanged": offer.resource_changes().is_some()});
        if !revision.is_stateless() {
            capabilities["resources"]["subscribe"] = offered.subscriptions.into();
        }
    }
    if offered.prompts {
        capabilities["prompts"] = json!({"listChanged": offer.prompt_changes().is_some()});
    }
    if offered.completions {
        capabilities["completions"] = json!({});
    }
    capabilities
}

pub(super) fn set_level(
    connection: &Connection,
    params: Option<&RawValue>,
) -> Result<Reply, RpcError> {
    #[derive(Deserialize)]
    struct SetLevel {
        level: String,
    }
    let wanted: SetLevel = parse(params)?;
    let level = LEVELS
        .iter()
        .position(|known| *known == wanted.level)
        .and_then(|place| u8::try_from(place).ok())
        .ok_or_else(|| RpcError::invalid_params(format!("no such level: `{}`", wanted.level)))?;
    connection.set_level(level);
    Ok(Reply::Result(b"{}".to_vec()))
}

/// The parameters of a method.
pub(super) fn parse<'a, T: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<T, RpcError> {
    serde_json::from_str(params.map_or("{}", RawValue::get))
        .map_err(|error| RpcError::invalid_params(format!("`params`: {error}")))
}
