//! Asking a server what it offers, page by page, and no more of it than anybody can use.

use haft_core::BoxFuture;
use rmcp::model::{ErrorCode as RpcCode, PaginatedRequestParams};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde::Serialize;

use super::definition::Offered;
use super::words::Words;

/// Things of one kind that a server may have; the rest is left out.
const MOST: usize = 20_000;
/// Bytes of what is said about one resource or prompt; what needs more is left out. Tools have a
/// limit of their own, and are named when they are beyond it.
const LARGEST: usize = 16 * 1024;
/// Pages of one list, for servers that never come to an end.
const PAGES: usize = 1_000;

/// What a server offers. Beside its tools it is asked only for what it says it has.
pub(super) fn offered(peer: Peer<RoleClient>) -> BoxFuture<'static, Result<Offered, ServiceError>> {
    Box::pin(async move {
        let info = peer.peer_info();
        let has = info.as_ref().map(|info| &info.capabilities);
        let resources = has.is_some_and(|has| has.resources.is_some());
        let prompts = has.is_some_and(|has| has.prompts.is_some());
        let mut offered = Offered {
            instructions: info.as_ref().and_then(|info| info.instructions.clone()),
            tools: pages(&peer, tools).await?,
            ..Offered::default()
        };
        if resources {
            offered.resources = beside(pages(&peer, resources_of).await)?;
            offered.templates = beside(pages(&peer, templates).await)?;
        }
        if prompts {
            offered.prompts = beside(pages(&peer, prompts_of).await)?;
        }
        Ok(offered)
    })
}

/// Things of a page, and where the next one begins.
type Page = (Vec<Words>, Option<String>);
type Asking = BoxFuture<'static, Result<Page, ServiceError>>;
type From = Option<PaginatedRequestParams>;

fn tools(peer: Peer<RoleClient>, from: From) -> Asking {
    Box::pin(async move {
        let list = peer.list_tools(from).await?;
        Ok((words(&list.tools), list.next_cursor))
    })
}

fn resources_of(peer: Peer<RoleClient>, from: From) -> Asking {
    Box::pin(async move {
        let list = peer.list_resources(from).await?;
        Ok((words(&list.resources), list.next_cursor))
    })
}

fn templates(peer: Peer<RoleClient>, from: From) -> Asking {
    Box::pin(async move {
        let list = peer.list_resource_templates(from).await?;
        Ok((words(&list.resource_templates), list.next_cursor))
    })
}

fn prompts_of(peer: Peer<RoleClient>, from: From) -> Asking {
    Box::pin(async move {
        let list = peer.list_prompts(from).await?;
        Ok((words(&list.prompts), list.next_cursor))
    })
}

async fn pages(
    peer: &Peer<RoleClient>,
    next: fn(Peer<RoleClient>, From) -> Asking,
) -> Result<Vec<Words>, ServiceError> {
    let mut all = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES {
        let from = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let (items, more) = match next(peer.clone(), from).await {
            // A server without such things need not know the question.
            Err(ServiceError::McpError(error)) if error.code == RpcCode::METHOD_NOT_FOUND => break,
            page => page?,
        };
        all.extend(items);
        cursor = more;
        if cursor.is_none() || all.len() > MOST {
            break;
        }
    }
    all.truncate(MOST);
    Ok(all)
}

/// What is there beside the tools. A server that fails to say it still has its tools.
fn beside(listed: Result<Vec<Words>, ServiceError>) -> Result<Vec<Words>, ServiceError> {
    let mut said = match listed {
        Err(ServiceError::McpError(_)) => Vec::new(),
        listed => listed?,
    };
    said.retain(|words| words.len() <= LARGEST);
    Ok(said)
}

fn words<T: Serialize>(items: &[T]) -> Vec<Words> {
    items.iter().filter_map(Words::of).collect()
}
