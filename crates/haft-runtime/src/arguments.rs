//! Reading arguments that arrive as text.

use haft_core::ToolError;
use serde_json::Value;

/// Bytes of JSON one call may bring.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// Characters shown on each side of a mistake.
const SNIPPET: usize = 24;

/// Parse JSON, or say where it is wrong and what stands there. Nesting is bounded by the parser.
pub fn parse_arguments(text: &str) -> Result<Value, ToolError> {
    if text.len() > MAX_BYTES {
        return Err(ToolError::input_invalid(format!(
            "arguments are too large: {} bytes",
            text.len()
        ))
        .hint(format!(
            "at most {MAX_BYTES} bytes; pass large content through a file"
        )));
    }
    serde_json::from_str(text).map_err(|error| {
        let offset = if error.is_eof() {
            text.len()
        } else {
            offset_of(text, error.line(), error.column())
        };
        ToolError::input_invalid(format!("not JSON at offset {offset}: {error}"))
            .hint(format!("near `{}`", snippet(text, offset)))
    })
}

fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    (before + column.saturating_sub(1)).min(text.len())
}

fn snippet(text: &str, offset: usize) -> String {
    let mut from = offset.saturating_sub(SNIPPET);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let mut to = (offset + SNIPPET).min(text.len());
    while !text.is_char_boundary(to) {
        to += 1;
    }
    crate::visible(&text[from..to])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_located() {
        let check = |text: &str, offset: &str, near: &str| {
            let error = parse_arguments(text).unwrap_err();
            assert!(
                error.message.contains(&format!("offset {offset}:")),
                "{}",
                error.message
            );
            assert!(
                error.hint.as_deref().unwrap().contains(near),
                "{:?}",
                error.hint
            );
        };
        check(r#"{"path": README.md}"#, "9", "README");
        check("{\n \"a\": 1,\n \"b\" 2}", "16", "\"b\" 2");
        check("", "0", "``");
        check("{\"a\": \"open", "11", "open");
        check(&"[".repeat(300), "127", "[[[[");
        check("{\"ü\": ü}", "7", "ü}");
    }
}
