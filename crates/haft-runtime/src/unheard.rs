//! Tools that nobody has heard of, and that an MCP server may have by now: before a call of one
//! fails, the server is asked once more what it has.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{Call, Source, ToolSpec};
use serde_json::Value;

use crate::{LookAgain, Runtime, Session, View};

/// How long such a call waits for that.
const PATIENCE: Duration = Duration::from_secs(15);
/// What meta-tools call the name of the tool they are about.
const NAMES: [&str; 3] = ["name", "tool_name", "tool"];

impl Runtime {
    /// The view for calls that are about to be made.
    pub(crate) async fn view_for(&self, session: &Session, calls: &[Call]) -> Arc<View> {
        let view = session.view(self);
        let unheard: Vec<&str> = calls
            .iter()
            .filter_map(|call| unheard(&view, call))
            .collect();
        match (&unheard[..], self.look_again()) {
            ([], _) | (_, None) => view,
            // Boxed, so that calls of what is known do not carry the room for it.
            (_, Some(look)) => {
                Box::pin(asked(session, look, unheard, patience(calls))).await;
                session.view(self)
            }
        }
    }
}

fn patience(calls: &[Call]) -> Duration {
    let shortest = calls.iter().filter_map(|call| call.timeout).min();
    shortest.unwrap_or(PATIENCE).min(PATIENCE)
}

async fn asked(session: &Session, look: &LookAgain, servers: Vec<&str>, patience: Duration) {
    let looking = async {
        for server in servers {
            look(server).await;
        }
    };
    tokio::select! {
        _ = tokio::time::timeout(patience, looking) => {}
        () = session.caller().cancel.cancelled() => {}
    }
}

/// The server whose tool a call names, where nobody knows such a tool and this caller could have it.
fn unheard<'a>(view: &View, call: &'a Call) -> Option<&'a str> {
    let (server, tool) = match at_a_server(&call.name) {
        Some(named) if view.resolve(&call.name).is_none() => named,
        Some(_) => return None,
        None => {
            let name = inner_name(view, call)?;
            at_a_server(name).filter(|_| view.resolve(name).is_none())?
        }
    };
    view.could_have(server, tool).then_some(server)
}

/// The name that a tool about tools is given.
fn inner_name<'a>(view: &View, call: &'a Call) -> Option<&'a str> {
    let names = NAMES.iter().filter_map(|key| call.args.get(key));
    let mut names = names.filter_map(Value::as_str);
    let name = names.find(|name| at_a_server(name).is_some())?;
    let index = view.resolve(&call.name)?;
    view.entry(index).spec().is_meta().then_some(name)
}

/// Server and tool in `mcp.server.tool`, `mcp:server:tool` and `mcp__server__tool`.
fn at_a_server(name: &str) -> Option<(&str, &str)> {
    let (mcp, rest) = name.split_at_checked(3)?;
    if !mcp.eq_ignore_ascii_case("mcp") {
        return None;
    }
    let separators = [".", ":", "__"];
    let parts = separators
        .iter()
        .find_map(|sign| rest.strip_prefix(sign)?.split_once(sign));
    parts.filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

impl View {
    /// Whether a tool of an MCP server would be this caller's, if there were one of this name.
    fn could_have(&self, server: &str, tool: &str) -> bool {
        let mut spec = ToolSpec::new(format!("mcp.{server}.{tool}"), "", Value::Null);
        spec.module = format!("mcp.{server}");
        spec.source = Source::Mcp(server.to_owned());
        self.admits(&spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_server() {
        let check = |name: &str, expected: Option<(&str, &str)>| {
            assert_eq!(at_a_server(name), expected, "{name}");
        };
        check("mcp.a.b.c", Some(("a", "b.c")));
        check("mcp__git-hub__make_it", Some(("git-hub", "make_it")));
        check("MCP:a:b", Some(("a", "b")));
        check("mcp.a", None);
        check("mcp..b", None);
        check("mcp_a_b", None);
        check("mc\u{e4}.a.b", None);
        check("file.read", None);
        check("m", None);
    }
}
