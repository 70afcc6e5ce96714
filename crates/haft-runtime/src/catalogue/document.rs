//! A tool's spec as the search reads it.

use haft_core::Source;
use haft_search::ToolDoc;
use serde_json::Value;

use crate::Entry;

/// Characters of what a source says of all its tools that help to find each of them.
const SAID: usize = 300;

/// Everything about a tool that words can find.
pub(super) fn document(entry: &Entry) -> ToolDoc {
    let spec = entry.spec();
    let (name, server) = match entry.source() {
        Source::Builtin => (spec.name.to_string(), None),
        Source::Plugin(id) | Source::Mcp(id) | Source::Node(id) => {
            (spec.action().to_owned(), Some(id.clone()))
        }
    };
    let said = spec.said.as_ref();
    let said = said.map(|said| said.chars().take(SAID).collect::<String>());
    ToolDoc {
        id: spec.name.to_string(),
        name,
        category: spec.module.clone(),
        server,
        title: spec.title.clone(),
        description: spec.description.clone(),
        parameters: parameters(&spec.input_schema),
        tags: spec.tags.iter().cloned().chain(said).collect(),
        aliases: spec.aliases.clone(),
        // What we say of every tool of a server tells none from another.
        side_effects: match entry.source() {
            Source::Mcp(_) => Vec::new(),
            _ => spec.side_effects.clone(),
        },
    }
}

fn parameters(schema: &Value) -> Vec<(String, String)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let text = property.get("description").and_then(Value::as_str);
            (name.clone(), text.unwrap_or_default().to_owned())
        })
        .collect()
}
