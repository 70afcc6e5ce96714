//! What a server answered, as an output of ours: every kind of content survives.

use haft_core::{Block, Output, ToolError, ToolResult};
use rmcp::service::ServiceError;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::beside::relink;
use super::failure::unexpected;

/// Bytes of content that one answer may have.
const LARGEST: usize = 20 * 1024 * 1024;
/// Characters of an error that a server tells.
const WORDS: usize = 2_000;

/// The answer to a call of a tool. Its content is left as it came until it is known to be of use.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer<'a> {
    #[serde(default)]
    result_type: Option<String>,
    #[serde(borrow, default)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: Option<bool>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Result,
    /// The server wants to know more before it goes on
    Wants,
    /// Nothing that a call can be answered with
    Other,
}

impl<'a> Answer<'a> {
    pub(super) fn read(json: &'a str) -> Result<Self, ServiceError> {
        match json.starts_with('{') {
            true => serde_json::from_str(json).map_err(unexpected),
            false => Err(ServiceError::UnexpectedResponse),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        let says_something = self.content.is_some() || self.structured_content.is_some();
        match self.result_type.as_deref() {
            None | Some("complete") if says_something => Kind::Result,
            Some("input_required") => Kind::Wants,
            _ => Kind::Other,
        }
    }

    pub(super) fn output(self, server: &str) -> ToolResult {
        let content = self.content.unwrap_or_default();
        if content.iter().map(|block| block.get().len()).sum::<usize>() > LARGEST {
            // What is long may be so for its spelling alone.
            let read = content.iter().map(|block| value(block.get()));
            within_limit(server, &read.collect::<Vec<_>>())?;
        }
        let mut output = Output::default();
        output.content = content
            .into_iter()
            .map(|block| match serde_json::from_str(block.get()) {
                Ok(mut known) => {
                    relink(server, &mut known);
                    known
                }
                // A kind that nobody knows yet is shown as it is.
                Err(_) => Block::text(value(block.get()).to_string()),
            })
            .collect();
        output.structured = self.structured_content;
        if self.is_error == Some(true) {
            // What went wrong is in the content: words of the server do not pass for ours.
            let text = format!("the MCP server `{server}` says that the call failed");
            output = output.but_failed(ToolError::failed(text));
        }
        Ok(output)
    }
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

/// A part of an answer; what cannot be read, such as one that is too deep, is its own text.
fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| json.into())
}

fn size(block: &Value) -> usize {
    match block {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_result_a_question_or_neither() {
        let check = |json: &str, expected: Option<Kind>| {
            let kind = Answer::read(json).ok().map(|answer| answer.kind());
            assert_eq!(kind, expected, "{json}");
        };
        check(r#"{"content":[]}"#, Some(Kind::Result));
        check(
            r#"{"resultType":"complete","content":null,"structuredContent":[1]}"#,
            Some(Kind::Result),
        );
        check(r#"{"resultType":"input_required"}"#, Some(Kind::Wants));
        check(r#"{"resultType":"other","content":[]}"#, Some(Kind::Other));
        check(r#"{"structuredContent":null}"#, Some(Kind::Other));
        check(r#"{"content":{}}"#, None);
        check(r#"{"content":[],"isError":"no"}"#, None);
        check("7", None);
        check("[null,[]]", None);
    }

    #[test]
    fn what_nobody_knows_yet_is_shown_as_it_came_and_what_is_too_large_is_not() {
        let answer = r#"{"content":[{"type":"text","text":"a"},{"type":"new","x":"\u0031"},7],
            "structuredContent":{"s":true},"isError":true}"#;
        let output = Answer::read(answer).unwrap().output("srv").unwrap();
        let shown = [r#"{"type":"new","x":"1"}"#, "7"].map(Block::text);
        assert_eq!(output.content[0], Block::text("a"));
        assert_eq!(output.content[1..], shown);
        assert_eq!(output.structured, Some(serde_json::json!({"s": true})));
        assert!(output.error.as_ref().unwrap().message.contains("`srv`"));
        let large = format!(r#"{{"content":["{}"]}}"#, "x".repeat(LARGEST + 1));
        let refused = Answer::read(&large).unwrap().output("srv").unwrap_err();
        assert!(refused.message.contains("larger than"), "{refused:?}");
        let spelled_out = format!(r#"{{"content":["{}"]}}"#, "\\u0078".repeat(LARGEST / 5));
        assert!(Answer::read(&spelled_out).unwrap().output("srv").is_ok());
    }
}
