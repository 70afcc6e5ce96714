//! Definitions at their shortest, for the few tools with which all others are found: they are all
//! that a client is shown, so each word of them is paid for in every conversation. What is left out
//! here is told by `get_tool`, and every call is held to the whole schema as before.

use haft_core::{Repeat, ToolSpec};
use serde_json::{Map, Value, json};

/// Bounds and defaults: a call that oversteps is told so.
const BOUNDS: [&str; 8] = [
    "additionalProperties",
    "default",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
];

/// Characters below which words about an argument say little more than its name.
const TELLING: usize = 28;

/// Arguments, their kinds, and words about those of the tool itself.
pub(crate) fn schema(whole: &str) -> Value {
    let mut schema = serde_json::from_str(whole).unwrap_or_else(|_| json!({"type": "object"}));
    shorten(&mut schema, 0);
    schema
}

fn shorten(schema: &mut Value, depth: usize) {
    let Value::Object(fields) = schema else {
        return;
    };
    fields.retain(|key, value| match key.as_str() {
        "description" => {
            let words = value.as_str().unwrap_or_default();
            depth <= 1 && words.chars().count() >= TELLING
        }
        key => !BOUNDS.contains(&key),
    });
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for property in properties.values_mut() {
            shorten(property, depth + 1);
        }
    }
    if let Some(items) = fields.get_mut("items") {
        shorten(items, depth + 1);
    }
}

/// The first sentence.
pub(crate) fn description(whole: &str) -> String {
    let line = whole.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.find(". ").unwrap_or(line.len());
    line[..end].trim_end_matches('.').to_owned()
}

/// Only what differs from what a client assumes. A tool that calls others may do whatever they do,
/// so nothing is said of one that does not only read.
pub(crate) fn annotations(spec: &ToolSpec) -> Option<Map<String, Value>> {
    let reads = spec.repeat == Repeat::Read;
    reads.then(|| Map::from_iter([("readOnlyHint".to_owned(), true.into())]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_call_needs_stays() {
        let whole = json!({
            "type": "object", "additionalProperties": false,
            "properties": {
                "name": {"type": "string", "description": "Its name", "minLength": 1},
                "what": {"type": "string", "enum": ["a"], "description": "What to do with it, in one word"},
                "default": {"type": "array", "maxItems": 2, "items": {
                    "type": "object", "required": ["x"],
                    "properties": {"x": {"type": "integer", "description": "The number that is to be added"}},
                }},
            },
            "required": ["name"],
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "what": {"type": "string", "enum": ["a"], "description": "What to do with it, in one word"},
                "default": {"type": "array", "items": {
                    "type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}},
                }},
            },
            "required": ["name"],
        });
        assert_eq!(schema(&whole.to_string()), expected);
        assert_eq!(description("Do one\nthing. Then rest."), "Do one thing");
    }
}
