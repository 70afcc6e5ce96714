//! Asking a server what it offers, page by page, and no more of it than anybody can use. Each entry
//! is looked at by itself: one that is not what the protocol says is left out and named, and takes
//! none of its neighbours with it.

use std::collections::HashMap;
use std::sync::Arc;

use haft_runtime::visible;
use rmcp::model::{
    ClientRequest, ErrorCode as RpcCode, ListPromptsRequest, ListResourceTemplatesRequest,
    ListResourcesRequest, ListToolsRequest, PaginatedRequestParams, Prompt, Resource,
    ResourceTemplate, Tool,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::definition::{LeftOut, Offered};
use super::failure::unexpected;
use super::lane::Lane;
use super::words::Words;

/// Things of one kind that a server may have; the rest is left out.
const MOST: usize = 20_000;
/// Bytes of what is said about one resource or prompt; what needs more is left out. Tools have a
/// limit of their own.
const LARGEST: usize = 16 * 1024;
/// Pages of one list, for servers that never come to an end.
const PAGES: usize = 1_000;
/// Entries of each kind that are named as left out, and characters of a name and of a reason.
const NAMED: usize = 100;
const LABEL: usize = 100;
const REASON: usize = 200;

/// A connection on which a server can be asked.
pub(super) struct Asking {
    pub(super) peer: Peer<RoleClient>,
    /// The way past rmcp, and what each request says of its client there
    pub(super) lane: Option<Arc<Lane>>,
    pub(super) about: Option<Box<RawValue>>,
}

/// One of the lists of a server.
struct Kind {
    method: &'static str,
    key: &'static str,
    request: fn(Option<PaginatedRequestParams>) -> ClientRequest,
    /// An entry in the words that are kept of it, or why it cannot be used
    entry: fn(&str) -> Result<Words, String>,
    largest: usize,
}

const TOOLS: Kind = Kind {
    method: "tools/list",
    key: "tools",
    request: |params| {
        ClientRequest::ListToolsRequest(ListToolsRequest {
            params,
            ..Default::default()
        })
    },
    entry: typed::<Tool>,
    largest: super::definition::LARGEST,
};
const RESOURCES: Kind = Kind {
    method: "resources/list",
    key: "resources",
    request: |params| {
        ClientRequest::ListResourcesRequest(ListResourcesRequest {
            params,
            ..Default::default()
        })
    },
    entry: typed::<Resource>,
    largest: LARGEST,
};
const TEMPLATES: Kind = Kind {
    method: "resources/templates/list",
    key: "resourceTemplates",
    request: |params| {
        ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest {
            params,
            ..Default::default()
        })
    },
    entry: typed::<ResourceTemplate>,
    largest: LARGEST,
};
const PROMPTS: Kind = Kind {
    method: "prompts/list",
    key: "prompts",
    request: |params| {
        ClientRequest::ListPromptsRequest(ListPromptsRequest {
            params,
            ..Default::default()
        })
    },
    entry: typed::<Prompt>,
    largest: LARGEST,
};

/// What a server offers. Beside its tools it is asked only for what it says it has.
pub(super) async fn offered(asking: &Asking) -> Result<Offered, ServiceError> {
    let info = asking.peer.peer_info();
    let has = info.as_ref().map(|info| &info.capabilities);
    let resources = has.is_some_and(|has| has.resources.is_some());
    let prompts = has.is_some_and(|has| has.prompts.is_some());
    let mut offered = Offered {
        instructions: info.as_ref().and_then(|info| info.instructions.clone()),
        ..Offered::default()
    };
    let left_out = &mut offered.left_out;
    offered.tools = asking.all(&TOOLS, left_out).await?;
    if resources {
        offered.resources = beside(asking.all(&RESOURCES, left_out).await)?;
        offered.templates = beside(asking.all(&TEMPLATES, left_out).await)?;
    }
    if prompts {
        offered.prompts = beside(asking.all(&PROMPTS, left_out).await)?;
    }
    Ok(offered)
}

/// What is there beside the tools. A server that fails to say it still has its tools.
fn beside(listed: Result<Vec<Words>, ServiceError>) -> Result<Vec<Words>, ServiceError> {
    match listed {
        Err(ServiceError::McpError(_)) => Ok(Vec::new()),
        listed => listed,
    }
}

/// Entries of a page as they came, and where the next one begins.
type Page = (Vec<Box<RawValue>>, Option<String>);

impl Asking {
    async fn all(
        &self,
        kind: &Kind,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<Vec<Words>, ServiceError> {
        let mut all = Vec::new();
        let mut seen = 0;
        let mut named = 0;
        let mut cursor = None;
        for _ in 0..PAGES {
            let (entries, more) = match self.page(kind, cursor).await {
                // A server without such things need not know the question.
                Err(ServiceError::McpError(error)) if error.code == RpcCode::METHOD_NOT_FOUND => {
                    break;
                }
                page => page?,
            };
            for entry in entries {
                seen += 1;
                match usable(kind, entry.get()) {
                    Ok(words) => all.push(words),
                    Err(_) if named == NAMED => {}
                    Err(reason) => {
                        named += 1;
                        left_out.push(LeftOut {
                            kind: kind.key.to_owned(),
                            name: label(entry.get(), seen),
                            reason: reason.chars().take(REASON).collect(),
                        });
                    }
                }
            }
            cursor = more;
            if cursor.is_none() || seen > MOST {
                break;
            }
        }
        all.truncate(MOST);
        Ok(all)
    }

    async fn page(&self, kind: &Kind, cursor: Option<String>) -> Result<Page, ServiceError> {
        #[derive(Serialize)]
        struct Params<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            cursor: Option<String>,
            #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
            about: Option<&'a RawValue>,
        }
        let about = self.about.as_deref();
        let page = match &self.lane {
            Some(lane) => {
                let params = serde_json::to_vec(&Params { cursor, about }).map_err(unexpected)?;
                lane.ask(lane.number(), kind.method, &params).await?
            }
            None => {
                let params = cursor
                    .map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
                let answer = self.peer.send_request((kind.request)(params)).await?;
                to_raw_value(&answer).map_err(unexpected)?
            }
        };
        let mut page: HashMap<String, Box<RawValue>> =
            serde_json::from_str(page.get()).map_err(unexpected)?;
        let entries = page.remove(kind.key);
        let entries = entries.ok_or(ServiceError::UnexpectedResponse)?;
        let entries = serde_json::from_str(entries.get()).map_err(unexpected)?;
        let more = page.remove("nextCursor");
        let more = more.and_then(|more| serde_json::from_str::<Option<String>>(more.get()).ok());
        Ok((entries, more.flatten()))
    }
}

fn usable(kind: &Kind, entry: &str) -> Result<Words, String> {
    if entry.len() > kind.largest {
        return Err(format!("it is larger than {} bytes", kind.largest));
    }
    (kind.entry)(entry)
}

fn typed<T: DeserializeOwned + Serialize>(entry: &str) -> Result<Words, String> {
    match serde_json::from_str::<T>(entry) {
        Ok(typed) => Words::of(&typed).ok_or_else(|| "it cannot be kept".to_owned()),
        Err(error) => Err(format!("not what the protocol says: {error}")),
    }
}

/// What an entry that cannot be used is called: by itself, or by its place.
fn label(entry: &str, place: usize) -> String {
    #[derive(Deserialize)]
    struct Called {
        name: Option<Value>,
        uri: Option<Value>,
    }
    let called: Option<Called> = serde_json::from_str(entry).ok();
    let called = called.and_then(|called| match (called.name, called.uri) {
        (Some(Value::String(name)), _) | (None, Some(Value::String(name))) => Some(name),
        _ => None,
    });
    match called {
        Some(name) => {
            let name: String = name.chars().take(LABEL).collect();
            visible(&name).replace('\n', "\\n")
        }
        None => format!("#{place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_cannot_be_used_is_named_with_its_reason() {
        let check = |entry: &str, name: &str, reason: &str| {
            let told = usable(&TOOLS, entry).err().unwrap_or_default();
            assert!(
                told.contains(reason) && told.is_empty() == reason.is_empty(),
                "{told}"
            );
            assert_eq!(label(entry, 7), name, "{entry}");
        };
        check(r#"{"name":"a","inputSchema":{"type":"object"}}"#, "a", "");
        check(r#"{"name":"a"}"#, "a", "inputSchema");
        check(r#"{"name":"a\nb","inputSchema":null}"#, "a\\nb", "null");
        check(r#"{"inputSchema":{}}"#, "#7", "name");
        check("7", "#7", "invalid type");
        check(
            r#"{"name":"a","description":7,"inputSchema":{}}"#,
            "a",
            "integer `7`",
        );
        let deep = format!(
            r#"{{"name":"deep","inputSchema":{}1{}}}"#,
            r#"{"p":"#.repeat(300),
            "}".repeat(300)
        );
        check(&deep, "deep", "recursion");
    }
}
