//! What a server answered, as an output of ours: every kind of content survives.

use haft_core::{Block, Output, ToolError, ToolResult};
use serde_json::Value;

/// Bytes of content that one answer may have.
const LARGEST: usize = 20 * 1024 * 1024;

pub(super) fn output(server: &str, answer: &Value) -> ToolResult {
    let mut output = Output::default();
    let mut bytes = 0;
    for block in answer["content"].as_array().into_iter().flatten() {
        bytes += size(block);
        if bytes > LARGEST {
            return Err(ToolError::failed(format!(
                "the answer of `{server}` is larger than {LARGEST} bytes"
            ))
            .hint("ask for less at once"));
        }
        output
            .content
            .push(match serde_json::from_value(block.clone()) {
                Ok(known) => known,
                // A kind that nobody knows yet is shown as it came.
                Err(_) => Block::text(block.to_string()),
            });
    }
    output.structured = answer
        .get("structuredContent")
        .filter(|value| !value.is_null())
        .cloned();
    if answer["isError"] == true {
        let text: Vec<&str> = output.content.iter().filter_map(Block::as_text).collect();
        let first = text.first().and_then(|text| text.lines().next());
        let error = ToolError::failed(match first {
            Some(line) => line.chars().take(500).collect(),
            None => format!("`{server}` says that it failed"),
        });
        output = output.but_failed(error);
    }
    Ok(output)
}

fn size(block: &Value) -> usize {
    match block {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 8,
    }
}
