//! What a server answered, as an output of ours: every kind of content survives.

use haft_core::{Block, Output, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::Value;

use super::beside::relink;

/// Bytes of content that one answer may have.
const LARGEST: usize = 20 * 1024 * 1024;
/// Characters of an error that a server tells.
const WORDS: usize = 2_000;

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
        // What went wrong is in the content: words of the server do not pass for ours.
        let text = format!("the MCP server `{server}` says that the call failed");
        output = output.but_failed(ToolError::failed(text));
    }
    Ok(output)
}

/// Words of a server that stand in the place of a result.
pub(super) fn said(words: &str) -> Output {
    Output::text(words.chars().take(WORDS).collect::<String>())
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
