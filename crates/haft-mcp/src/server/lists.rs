//! What can be listed and read: tools, resources, prompts, completions.

use std::sync::Arc;

use haft_runtime::Shape;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::answer::{cacheable, failure, result, tool_list};
use super::call::{self, Request};
use super::connection::{Connection, Routed};
use super::describe::parse;
use super::outbox::Outbox;
use super::request::About;
use super::{Begun, Offer, Reference, Server};
use crate::wire::{Reply, RpcError, code};

/// Where a client wants a list to go on.
fn cursor(params: Option<&RawValue>) -> Result<Option<String>, RpcError> {
    #[derive(Deserialize)]
    struct Paged {
        #[serde(default)]
        cursor: Option<String>,
    }
    match params.filter(|raw| raw.get().contains("\"cursor\"")) {
        None => Ok(None),
        Some(raw) => Ok(parse::<Paged>(Some(raw))?.cursor),
    }
}

/// For lists that are given whole, so that there is no page to go on with.
fn whole(params: Option<&RawValue>) -> Result<(), RpcError> {
    match cursor(params)? {
        None => Ok(()),
        Some(cursor) => Err(RpcError::invalid_params(format!(
            "no such page: `{cursor}`"
        ))),
    }
}

pub(super) fn tools(
    server: &Server,
    params: Option<&RawValue>,
    about: &About,
) -> Result<Reply, RpcError> {
    whole(params)?;
    let tools = server
        .session
        .definitions(&server.runtime, Shape::Mcp)
        .json();
    Ok(tool_list(tools, about.revision, &server.config))
}

/// Everything that comes from the offer; a method that it does not have is none of ours.
pub(super) fn offered(
    connection: &Arc<Connection>,
    method: &str,
    params: Option<&RawValue>,
    about: About,
    outbox: &Arc<Outbox>,
) -> Result<Routed, RpcError> {
    let server = &connection.server;
    let unknown = || RpcError::no_method(method);
    let offer = server.offer.clone().ok_or_else(unknown)?;
    let offered = offer.offered();
    let has = match method.split_once('/') {
        Some(("resources", _)) => offered.resources,
        Some(("prompts", _)) => offered.prompts,
        Some(("completion", _)) => offered.completions,
        _ => false,
    };
    if !has {
        return Err(unknown());
    }
    let revision = about.revision;
    let listed = |key: &str, items: Value| {
        whole(params)?;
        let fields = Map::from_iter([(key.to_owned(), items)]);
        Ok(Routed::Reply(cacheable(fields, revision, &server.config)))
    };
    let request = Request {
        connection,
        outbox,
        about,
    };
    match method {
        "prompts/list" => listed("prompts", json!(offer.prompts(&server.session))),
        "resources/templates/list" => {
            listed("resourceTemplates", json!(offer.templates(&server.session)))
        }
        "resources/list" => resources(request, offer, cursor(params)?),
        "resources/read" => read(request, offer, params),
        "prompts/get" => prompt(request, offer, params),
        "completion/complete" => complete(request, offer, params),
        _ => Err(unknown()),
    }
}

fn resources(
    request: Request<'_>,
    offer: Arc<dyn Offer>,
    after: Option<String>,
) -> Result<Routed, RpcError> {
    let revision = request.about.revision;
    let server = request.connection.server.clone();
    request.served(b"resources/list", None, move |session| {
        Box::pin(async move {
            let page = offer.resources(&session, after.as_deref()).await;
            let mut fields = Map::from_iter([("resources".to_owned(), json!(page.resources))]);
            if let Some(next) = page.next {
                fields.insert("nextCursor".to_owned(), next.into());
            }
            cacheable(fields, revision, &server.config)
        })
    })
}

fn read(
    request: Request<'_>,
    offer: Arc<dyn Offer>,
    params: Option<&RawValue>,
) -> Result<Routed, RpcError> {
    #[derive(Deserialize)]
    struct Read {
        uri: String,
    }
    let wanted: Read = parse(params)?;
    let revision = request.about.revision;
    let server = request.connection.server.clone();
    let again = call::again(params)?;
    let subject = format!("resources/read {}", wanted.uri);
    request.served(subject.as_bytes(), again, move |session| {
        Box::pin(async move {
            match offer.read(&session, &wanted.uri).await {
                Ok(Some(contents)) => {
                    let fields = Map::from_iter([("contents".to_owned(), json!(contents))]);
                    cacheable(fields, revision, &server.config)
                }
                Ok(None) => {
                    let code = match revision.is_stateless() {
                        true => code::INVALID_PARAMS,
                        false => code::RESOURCE_NOT_FOUND,
                    };
                    RpcError::new(code, format!("no such resource: `{}`", wanted.uri))
                        .with(json!({"uri": wanted.uri}))
                        .into()
                }
                Err(error) => failure(&error).into(),
            }
        })
    })
}

fn prompt(
    request: Request<'_>,
    offer: Arc<dyn Offer>,
    params: Option<&RawValue>,
) -> Result<Routed, RpcError> {
    #[derive(Deserialize)]
    struct Get {
        name: String,
        #[serde(default)]
        arguments: Option<Map<String, Value>>,
    }
    let wanted: Get = parse(params)?;
    let revision = request.about.revision;
    let server = request.connection.server.clone();
    let again = call::again(params)?;
    let arguments = wanted.arguments.unwrap_or_default();
    let subject = format!(
        "prompts/get {} {}",
        wanted.name,
        Value::Object(arguments.clone())
    );
    request.served(subject.as_bytes(), again, move |session| {
        Box::pin(async move {
            match offer.prompt(&session, &wanted.name, arguments).await {
                Ok(Some(Value::Object(fields))) => result(fields, revision, &server.config),
                Ok(Some(_)) => RpcError::internal("the prompt is not an object").into(),
                Ok(None) => {
                    RpcError::invalid_params(format!("no such prompt: `{}`", wanted.name)).into()
                }
                Err(error) => failure(&error).into(),
            }
        })
    })
}

fn complete(
    request: Request<'_>,
    offer: Arc<dyn Offer>,
    params: Option<&RawValue>,
) -> Result<Routed, RpcError> {
    #[derive(Deserialize)]
    struct Complete {
        #[serde(rename = "ref")]
        reference: Reference,
        argument: Argument,
    }
    #[derive(Deserialize)]
    struct Argument {
        name: String,
        value: String,
    }
    let wanted: Complete = parse(params)?;
    let begun = Begun {
        of: wanted.reference,
        argument: wanted.argument.name,
        value: wanted.argument.value,
    };
    let revision = request.about.revision;
    let server = request.connection.server.clone();
    request.served(b"completion/complete", None, move |session| {
        Box::pin(async move {
            let found = offer.complete(&session, &begun).await;
            // The protocol allows a hundred.
            let shown: Vec<&String> = found.values.iter().take(100).collect();
            let more = found.values.len() > shown.len();
            let mut completion = json!({"values": shown, "hasMore": more});
            if let Some(total) = found.total {
                completion["total"] = total.into();
            }
            let fields = Map::from_iter([("completion".to_owned(), completion)]);
            result(fields, revision, &server.config)
        })
    })
}
