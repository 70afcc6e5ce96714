//! What a server offers beside its tools: resources to read and prompts to start from. Each kind is
//! one tool of ours, so that rules, approvals, budgets and the record hold for it as for any other.
//! Without a name such a tool lists what there is, as it was when the server was last looked at.

use haft_core::{Block, Output, ToolError, ToolResult};
use serde_json::{Value, json};

use super::definition::Manifest;
use super::result::within_limit;
use super::words::Words;

const READ: &str = "read_resource";
const GET: &str = "get_prompt";
/// Ours where the server itself has a tool of the usual name.
const APART: &str = "haft_";

/// Names of our tools for what a server has beside its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) read: Option<String>,
    pub(super) get: Option<String>,
}

impl Names {
    pub(super) fn of(manifest: &Manifest) -> Self {
        // Also what the server had once: rules for that are not for ours.
        let taken = |name: &str| manifest.tool(name).is_some() || manifest.gone.contains_key(name);
        let free = |name: &str| {
            let mut name = name.to_owned();
            while taken(&name) {
                name.insert_str(0, APART);
            }
            name
        };
        let resources = !manifest.resources.is_empty() || !manifest.templates.is_empty();
        Names {
            read: resources.then(|| free(READ)),
            get: (!manifest.prompts.is_empty()).then(|| free(GET)),
        }
    }
}

/// Definitions of our tools for what a server has beside its own.
pub(super) fn ours(server: &str, manifest: &Manifest) -> Vec<Words> {
    let names = Names::of(manifest);
    let read = names.read.map(|name| reading(server, &name));
    let get = names.get.map(|name| getting(server, &name));
    [read, get].iter().flatten().filter_map(Words::of).collect()
}

/// Where a resource of a server is to be found among ours: beside its address there, the server
/// that it means something to.
pub(super) fn address(server: &str, uri: &str) -> String {
    format!("haft://mcp/{server}/{uri}")
}

/// The address at the server, whichever of the two was given.
pub(super) fn uri_at<'a>(server: &str, uri: &'a str) -> &'a str {
    uri.strip_prefix("haft://mcp/")
        .and_then(|rest| rest.strip_prefix(server)?.strip_prefix('/'))
        .unwrap_or(uri)
}

/// Links that a client could not follow by itself lead through us.
pub(super) fn relink(server: &str, block: &mut Block) {
    if let Block::ResourceLink { link } = block
        && let Some(Value::String(uri)) = link.get_mut("uri")
        && !uri.starts_with("http://")
        && !uri.starts_with("https://")
    {
        *uri = address(server, uri);
    }
}

/// The definition of the tool that reads resources, as if the server had it.
pub(super) fn reading(server: &str, name: &str) -> Value {
    json!({
        "name": name,
        "title": format!("Read a resource of {server}"),
        "description": format!(
            "Read a resource of the MCP server `{server}` by its URI; without one, list what it has"
        ),
        "inputSchema": {
            "type": "object",
            "properties": {"uri": {"type": "string", "description": "URI of the resource"}},
            "additionalProperties": false,
        },
        "annotations": {"readOnlyHint": true},
    })
}

/// The same for the tool that gets prompts.
pub(super) fn getting(server: &str, name: &str) -> Value {
    json!({
        "name": name,
        "title": format!("Get a prompt of {server}"),
        "description": format!(
            "Get a prompt of the MCP server `{server}` by its name; without one, list what it has"
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Name of the prompt"},
                "arguments": {
                    "type": "object",
                    "description": "Arguments of the prompt, each a text",
                    "additionalProperties": {"type": "string"},
                },
            },
            "additionalProperties": false,
        },
        "annotations": {"readOnlyHint": true},
    })
}

/// What a resource holds: text as text, pictures as pictures, the rest as it came. One block for
/// each of its contents, in their order.
pub(super) fn contents(server: &str, answer: &Value) -> ToolResult {
    let contents = answer["contents"].as_array().cloned().unwrap_or_default();
    within_limit(server, &contents)?;
    let mut output = Output::default();
    for content in &contents {
        let mime_type = content["mimeType"].as_str().unwrap_or_default();
        output
            .content
            .push(match (content["text"].as_str(), content["blob"].as_str()) {
                (Some(text), _) => Block::text(text),
                (None, Some(data)) if mime_type.starts_with("image/") => {
                    Block::image(data, mime_type)
                }
                _ => Block::resource(content.clone()),
            });
    }
    if contents.is_empty() {
        return Err(ToolError::failed(format!(
            "`{server}` answered with no contents"
        )));
    }
    Ok(output.and_structured(json!({"contents": contents})))
}

/// What a prompt says.
pub(super) fn messages(server: &str, answer: &Value) -> ToolResult {
    let messages = answer["messages"].as_array().cloned().unwrap_or_default();
    within_limit(server, &messages)?;
    let mut output = Output::default();
    for message in &messages {
        let role = message["role"].as_str().unwrap_or("user");
        let content = &message["content"];
        let block = serde_json::from_value(content.clone());
        output.content.push(match block {
            Ok(Block::Text { text, .. }) => Block::text(format!("{role}: {text}")),
            Ok(mut other) => {
                relink(server, &mut other);
                other
            }
            Err(_) => Block::text(content.to_string()),
        });
    }
    let mut structured = json!({"messages": messages});
    if let Some(description) = answer["description"].as_str() {
        structured["description"] = description.into();
    }
    Ok(output.and_structured(structured))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_names_give_way_to_the_servers() {
        let check = |tools: &[&str], resources: usize, prompts: usize, expected: [&str; 2]| {
            let words = |value: Value| Words::of(&value).unwrap();
            let tools = tools.iter().map(|name| words(json!({"name": name})));
            let manifest = Manifest {
                tools: tools.collect(),
                resources: vec![words(json!({})); resources],
                prompts: vec![words(json!({})); prompts],
                ..Manifest::default()
            };
            let names = Names::of(&manifest);
            let shown = [names.read, names.get].map(Option::unwrap_or_default);
            assert_eq!(shown, expected);
        };
        check(&[], 0, 0, ["", ""]);
        check(&["x"], 1, 0, ["read_resource", ""]);
        check(
            &["read_resource"],
            1,
            1,
            ["haft_read_resource", "get_prompt"],
        );
        check(
            &["read_resource", "haft_read_resource"],
            1,
            0,
            ["haft_haft_read_resource", ""],
        );
    }

    #[test]
    fn an_address_leads_back_to_its_server_and_no_other() {
        let ours = address("a", "demo://x/1?q=2");
        assert_eq!(ours, "haft://mcp/a/demo://x/1?q=2");
        assert_eq!(uri_at("a", &ours), "demo://x/1?q=2");
        assert_eq!(uri_at("a", "demo://x"), "demo://x");
        assert_eq!(uri_at("b", &ours), ours);
        assert_eq!(uri_at("a", "haft://mcp/ab/x"), "haft://mcp/ab/x");
    }
}
