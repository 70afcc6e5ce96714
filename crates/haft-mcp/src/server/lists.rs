//! What can be listed and read: tools, resources, prompts, completions.

use std::sync::Arc;

use haft_runtime::Shape;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::answer::{cacheable, failure, result, tool_list};
use super::connection::{Connection, Routed};
use super::describe::parse;
use super::outbox::Outbox;
use super::request::About;
use super::{Offer, Server, call};
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
    let listed = |key: &str, items: Value| {
        whole(params)?;
        let fields = Map::from_iter([(key.to_owned(), items)]);
        Ok(Routed::Reply(cacheable(
            fields,
            about.revision,
            &server.config,
        )))
    };
    match method {
        "prompts/list" => listed("prompts", json!(offer.prompts(&server.session))),
        "resources/templates/list" => {
            listed("resourceTemplates", json!(offer.templates(&server.session)))
        }
        "resources/list" => {
            let after = cursor(params)?;
            resources(connection, offer, after, about, outbox)
        }
        "resources/read" => read(connection, offer, params, about, outbox),
        "prompts/get" => prompt(connection, offer, params, about, outbox),
        "completion/complete" => complete(server, &*offer, params, &about).map(Routed::Reply),
        _ => Err(unknown()),
    }
}

fn resources(
    connection: &Arc<Connection>,
    offer: Arc<dyn Offer>,
    after: Option<String>,
    about: About,
    outbox: &Arc<Outbox>,
) -> Result<Routed, RpcError> {
    let revision = about.revision;
    let server = connection.server.clone();
    call::asking(
        connection,
        about,
        outbox,
        b"resources/list",
        None,
        move |session| {
            Box::pin(async move {
                let page = offer.resources(&session, after.as_deref()).await;
                let mut fields = Map::from_iter([("resources".to_owned(), json!(page.resources))]);
                if let Some(next) = page.next {
                    fields.insert("nextCursor".to_owned(), next.into());
                }
                cacheable(fields, revision, &server.config)
            })
        },
    )
}

fn read(
    connection: &Arc<Connection>,
    offer: Arc<dyn Offer>,
    params: Option<&RawValue>,
    about: About,
    outbox: &Arc<Outbox>,
) -> Result<Routed, RpcError> {
    #[derive(Deserialize)]
    struct Read {
        uri: String,
    }
    let wanted: Read = parse(params)?;
    let revision = about.revision;
    let server = connection.server.clone();
    let again = call::again(params)?;
    let subject = format!("resources/read {}", wanted.uri);
    call::asking(
        connection,
        about,
        outbox,
        subject.as_bytes(),
        again,
        move |session| {
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
        },
    )
}

fn prompt(
    connection: &Arc<Connection>,
    offer: Arc<dyn Offer>,
    params: Option<&RawValue>,
    about: About,
    outbox: &Arc<Outbox>,
) -> Result<Routed, RpcError> {
    #[derive(Deserialize)]
    struct Get {
        name: String,
        #[serde(default)]
        arguments: Option<Map<String, Value>>,
    }
    let wanted: Get = parse(params)?;
    let revision = about.revision;
    let server = connection.server.clone();
    let again = call::again(params)?;
    let arguments = wanted.arguments.unwrap_or_default();
    let subject = format!(
        "prompts/get {} {}",
        wanted.name,
        Value::Object(arguments.clone())
    );
    call::asking(
        connection,
        about,
        outbox,
        subject.as_bytes(),
        again,
        move |session| {
            Box::pin(async move {
                match offer.prompt(&session, &wanted.name, arguments).await {
                    Ok(Some(Value::Object(fields))) => result(fields, revision, &server.config),
                    Ok(Some(_)) => RpcError::internal("the prompt is not an object").into(),
                    Ok(None) => {
                        RpcError::invalid_params(format!("no such prompt: `{}`", wanted.name))
                            .into()
                    }
                    Err(error) => failure(&error).into(),
                }
            })
        },
    )
}

fn complete(
    server: &Server,
    offer: &dyn Offer,
    params: Option<&RawValue>,
    about: &About,
) -> Result<Reply, RpcError> {
    #[derive(Deserialize)]
    struct Complete {
        #[serde(rename = "ref")]
        reference: Value,
        argument: Argument,
    }
    #[derive(Deserialize)]
    struct Argument {
        name: String,
        value: String,
    }
    let wanted: Complete = parse(params)?;
    let found = offer.complete(
        &wanted.reference,
        &wanted.argument.name,
        &wanted.argument.value,
    );
    // The protocol allows a hundred.
    let shown: Vec<&String> = found.values.iter().take(100).collect();
    let mut completion = json!({"values": shown, "hasMore": found.values.len() > shown.len()});
    if let Some(total) = found.total {
        completion["total"] = total.into();
    }
    let fields = Map::from_iter([("completion".to_owned(), completion)]);
    Ok(result(fields, about.revision, &server.config))
}
