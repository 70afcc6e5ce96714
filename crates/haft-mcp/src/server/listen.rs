//! News about lists. Since 2026-07-28 a client asks for them by `subscriptions/listen` and says
//! which; older ones get them on whatever stream they listen to.

use std::future::pending;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Server;
use super::connection::{Connection, Routed};
use super::describe::parse;
use super::outbox::Outbox;
use crate::wire::{Id, Reply, RpcError, notification};

#[derive(Deserialize)]
struct Listen {
    notifications: Wanted,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    #[serde(default)]
    tools_list_changed: bool,
    #[serde(default)]
    prompts_list_changed: bool,
    #[serde(default)]
    resources_list_changed: bool,
}

pub(super) fn subscribe(
    connection: &Arc<Connection>,
    id: &Id,
    params: Option<&RawValue>,
    outbox: &Arc<Outbox>,
) -> Result<Routed, RpcError> {
    let wanted: Listen = parse(params)?;
    let id: Value = serde_json::from_str(id)
        .map_err(|error| RpcError::invalid_request(format!("`id`: {error}")))?;
    let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
    let mut news = News::of(&connection.server);
    let tools = wanted.notifications.tools_list_changed;
    let prompts = wanted.notifications.prompts_list_changed && news.prompts.is_some();
    let resources = wanted.notifications.resources_list_changed && news.resources.is_some();
    let mut honoured = json!({});
    if tools {
        honoured["toolsListChanged"] = true.into();
    }
    if prompts {
        honoured["promptsListChanged"] = true.into();
    }
    if resources {
        honoured["resourcesListChanged"] = true.into();
    }
    outbox.put(notification(
        "notifications/subscriptions/acknowledged",
        &json!({"notifications": honoured, "_meta": meta}),
    ));
    let cancel = connection.cancel.child();
    let ended = cancel.clone();
    let outbox = outbox.clone();
    let work = Box::pin(async move {
        loop {
            let changed = tokio::select! {
                () = ended.cancelled() => break,
                changed = news.next() => changed,
            };
            let honoured = match changed {
                TOOLS => tools,
                PROMPTS => prompts,
                _ => resources,
            };
            if honoured {
                outbox.put(notification(changed, &json!({"_meta": meta})));
            }
        }
        Reply::value(&json!({"resultType": "complete", "_meta": meta}))
    });
    Ok(Routed::Work(cancel, work))
}

pub(super) const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";

/// Changes of the lists a server has.
pub(super) struct News {
    tools: watch::Receiver<u64>,
    /// Of a client that finds its tools: what it found stands in its list
    finds: Option<watch::Receiver<Vec<Arc<str>>>>,
    prompts: Option<watch::Receiver<u64>>,
    resources: Option<watch::Receiver<u64>>,
}

impl News {
    pub(super) fn of(server: &Server) -> Self {
        let mut tools = server.runtime.registry().changes();
        tools.mark_unchanged();
        let finds = server.session.finds(&server.runtime);
        let offer = server.offer.as_ref();
        let mut prompts = offer.and_then(|offer| offer.prompt_changes());
        let mut resources = offer.and_then(|offer| offer.resource_changes());
        for changes in [&mut prompts, &mut resources].into_iter().flatten() {
            changes.mark_unchanged();
        }
        News {
            tools,
            finds,
            prompts,
            resources,
        }
    }

    /// The next change, as the method that tells of it.
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            () = changed(Some(&mut self.tools)) => TOOLS,
            () = changed(self.finds.as_mut()) => TOOLS,
            () = changed(self.prompts.as_mut()) => PROMPTS,
            () = changed(self.resources.as_mut()) => RESOURCES,
        }
    }
}

async fn changed<T>(receiver: Option<&mut watch::Receiver<T>>) {
    if let Some(receiver) = receiver
        && receiver.changed().await.is_ok()
    {
        return;
    }
    // Nothing will ever change here.
    pending().await
}

/// `resources/subscribe` of older clients. Resources that can tell of changes say so themselves.
pub(super) fn to_resource(
    server: &Server,
    method: &str,
    params: Option<&RawValue>,
) -> Result<Reply, RpcError> {
    #[derive(Deserialize)]
    struct Subscribe {
        #[serde(rename = "uri")]
        _uri: String,
    }
    if !server
        .offer
        .as_ref()
        .is_some_and(|offer| offer.offered().subscriptions)
    {
        return Err(RpcError::no_method(method));
    }
    let _wanted: Subscribe = parse(params)?;
    Ok(Reply::Result(b"{}".to_vec()))
}
