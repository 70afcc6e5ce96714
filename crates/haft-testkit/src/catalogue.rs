//! Thousands of real tool descriptions, as tools that repeat what they were called with.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use haft_core::{
    BoxFuture, DynTool, Effects, Output, Prepared, Repeat, Source, ToolContext, ToolError,
    ToolResult, ToolSpec,
};
use serde_json::{Map, Value, json};

/// A task that one of the tools is for.
#[derive(Debug, Clone)]
pub struct Task {
    pub query: String,
    /// Ids of the tools, as in the set
    pub tools: Vec<String>,
}

/// The lines of a file of a development set of the search.
///
/// # Panics
/// When the set is not there or not as it should be.
#[allow(clippy::expect_used)]
fn lines(set: &str, file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../haft-search/data/sets")
        .join(set)
        .join(file);
    let file = std::fs::File::open(&path).expect("a set of the search");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("UTF-8");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The tools of a development set, as if an MCP server of that name offered them.
pub fn catalogue(set: &str) -> Vec<ToolSpec> {
    lines(set, "tools.jsonl.gz")
        .iter()
        .map(|line| spec(set, line))
        .collect()
}

/// The queries of a development set with the tools that answer them.
pub fn tasks(set: &str) -> Vec<Task> {
    let ids = |line: &Value| {
        let listed = line["relevant"].as_array().into_iter().flatten();
        listed
            .map(|id| format!("mcp.{set}.{}", plain(text(id))))
            .collect()
    };
    lines(set, "queries.jsonl.gz")
        .iter()
        .map(|line| Task {
            query: text(&line["query"]).to_owned(),
            tools: ids(line),
        })
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn plain(id: &str) -> String {
    id.replace(|c: char| c.is_whitespace() || c == '.', "_")
}

fn spec(set: &str, line: &Value) -> ToolSpec {
    let mut properties = Map::new();
    for (name, what) in line["params"].as_object().into_iter().flatten() {
        let property = json!({"type": "string", "description": what});
        properties.insert(name.clone(), property);
    }
    let required: Vec<&String> = properties.keys().take(1).collect();
    let schema = json!({
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    });
    let name = format!("mcp.{set}.{}", plain(text(&line["id"])));
    let mut spec = ToolSpec::new(name, text(&line["description"]), schema);
    spec.title = text(&line["name"]).to_owned();
    spec.repeat = Repeat::Read;
    spec.source = Source::Mcp(set.to_owned());
    spec
}

/// A tool with this spec, which answers with its name and arguments.
pub fn repeating(spec: ToolSpec) -> Arc<dyn DynTool> {
    Arc::new(Repeating(spec))
}

struct Repeating(ToolSpec);

impl DynTool for Repeating {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn unavailable(&self, _cx: &ToolContext) -> Option<String> {
        None
    }

    fn prepare(&self, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        Ok(Box::new(Said(args.clone())))
    }
}

struct Said(Value);

impl Prepared for Said {
    fn effects(&self, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none())
    }

    fn run<'a>(self: Box<Self>, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let said = json!({"tool": &*cx.tool, "args": self.0});
        Box::pin(std::future::ready(Ok(Output::structured(said))))
    }

    fn preview<'a>(self: Box<Self>, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        self.run(cx)
    }

    fn verify<'a>(self: Box<Self>, _cx: &'a ToolContext) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(std::future::ready(Ok(true)))
    }
}
