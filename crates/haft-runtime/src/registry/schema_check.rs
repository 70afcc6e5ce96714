//! Compiling an input schema that may come from a stranger: bounded, offline, once.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// Bytes of JSON that one tool's schema may take.
const MAX_BYTES: usize = 512 * 1024;
const MAX_DEPTH: usize = 64;
/// Steps a pattern may backtrack: enough for honest ones, an end for hostile ones.
const MAX_BACKTRACK: usize = 100_000;

/// A validator for draft 2020-12 or 07 (or what `$schema` says) and the schema as JSON, or the
/// reason why not.
pub(super) fn compile(schema: &Value) -> Result<(Validator, Box<RawValue>), String> {
    let Value::Object(object) = schema else {
        return Err("input schema is not an object".into());
    };
    if object.get("type").is_some_and(|kind| kind != "object") {
        return Err("input schema must have `type: object`".into());
    }
    let mut bytes = 0;
    check(schema, 0, &mut bytes)?;
    let validator = jsonschema::options()
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACK))
        .offline()
        .build(schema)
        .map_err(|error| format!("input schema does not compile: {error}"))?;
    let text = to_raw_value(schema).map_err(|error| format!("input schema: {error}"))?;
    Ok((validator, text))
}

fn check(value: &Value, depth: usize, bytes: &mut usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("input schema is nested deeper than {MAX_DEPTH}"));
    }
    *bytes += 8;
    if *bytes > MAX_BYTES {
        return Err(format!("input schema is larger than {MAX_BYTES} bytes"));
    }
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                *bytes += key.len();
                if matches!(key.as_str(), "$ref" | "$dynamicRef")
                    && value
                        .as_str()
                        .is_some_and(|target| !target.starts_with('#'))
                {
                    return Err(format!("input schema refers elsewhere: `{value}`"));
                }
                check(value, depth + 1, bytes)?;
            }
            Ok(())
        }
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| check(item, depth + 1, bytes)),
        Value::String(text) => {
            *bytes += text.len();
            Ok(())
        }
        _ => Ok(()),
    }
}
