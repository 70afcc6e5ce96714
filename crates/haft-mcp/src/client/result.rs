//! What a server answered, as an output of ours: every kind of content survives.

use haft_core::{Block, Output, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::Value;

use super::beside::relink;

/// Bytes of content that one answer may have.
const LARGEST: usize = 20 * 1024 * 1024;

pub(super) fn output(server: &str, answer: &Value) -> ToolResult {
    let mut output = Output::default();
    let blocks = answer["content"].as_array().map_or(&[][..], Vec::as_slice);
    within_limit(server, blocks)?;
    for block in blocks {
        output.content.push(match Block::deserialize(block) {
            Ok(mut known) => {
                relink(server, &mut known);
                known
            }
            // A kind that nobody knows yet is shown as it came.
            Err(_) => Block::text(block.to_string()),
        });
    }
    output.structured = answer
        .get("structuredContent")
        .filter(|value| !value.is_null())
        .cloned();
    if answer["isError"] == true {
        output = output.but_failed(failed(server));
    }
    Ok(output)
}

/// A server says that something went wrong. Its words are in the answer, where they are marked as a
/// stranger's: an error of ours does not repeat them.
pub(super) fn failed(server: &str) -> ToolError {
    ToolError::failed(format!("`{server}` says that it failed"))
}

/// An answer may not be larger than anybody can use.
pub(super) fn within_limit(server: &str, parts: &[Value]) -> Result<(), ToolError> {
    if parts.iter().map(size).sum::<usize>() > LARGEST {
        return Err(ToolError::failed(format!(
            "the answer of `{server}` is larger than {LARGEST} bytes"
        ))
        .hint("ask for less at once"));
    }
    Ok(())
}

fn size(block: &Value) -> usize {
    match block {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 8,
    }
}
