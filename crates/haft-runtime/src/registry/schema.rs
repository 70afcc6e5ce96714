//! A schema of one tool, for its arguments or its answers, which may come from a stranger: bounded,
//! offline, compiled once, and only when it is needed: most values pass by the short way.

use std::sync::OnceLock;

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::plain::Plain;

/// Bytes of JSON that one tool's schema may take.
const MAX_BYTES: usize = 512 * 1024;
const MAX_DEPTH: usize = 64;
/// Steps a pattern may backtrack: enough for honest ones, an end for hostile ones.
const MAX_BACKTRACK: usize = 100_000;

pub(crate) struct Schema {
    /// As JSON: definitions are made more often than schemas change, and the parts are with the spec
    text: Box<RawValue>,
    plain: Option<Plain>,
    full: OnceLock<Option<Validator>>,
}

impl Schema {
    /// For arguments: draft 2020-12 or 07 (or what `$schema` says), or the reason why not.
    pub(super) fn of_input(value: &Value) -> Result<Self, String> {
        if value.get("type").is_some_and(|kind| kind != "object") {
            return Err("input schema must have `type: object`".into());
        }
        Self::new(value).map_err(|reason| format!("input schema {reason}"))
    }

    /// For arguments of a built-in tool, which tests hold to be good; of a bad one nothing is
    /// accepted.
    pub(super) fn of_type(value: &Value) -> Self {
        Self::of_input(value).unwrap_or_else(|_| Schema {
            text: RawValue::NULL.to_owned(),
            plain: None,
            full: OnceLock::from(None),
        })
    }

    /// For structured answers.
    pub(super) fn of_output(value: &Value) -> Result<Self, String> {
        Self::new(value).map_err(|reason| format!("output schema {reason}"))
    }

    fn new(value: &Value) -> Result<Self, String> {
        if !value.is_object() {
            return Err("is not an object".into());
        }
        let mut bytes = 0;
        check(value, 0, &mut bytes)?;
        let text = to_raw_value(value).map_err(|error| format!("is no JSON: {error}"))?;
        // A plain schema compiles for certain, so that can wait.
        let plain = Plain::of(value);
        let full = match plain {
            Some(_) => OnceLock::new(),
            None => OnceLock::from(Some(compile(value)?)),
        };
        Ok(Schema { text, plain, full })
    }

    pub(crate) fn text(&self) -> &RawValue {
        &self.text
    }

    pub(crate) fn accepts(&self, args: &Value) -> bool {
        self.plain.as_ref().is_some_and(|plain| plain.accepts(args))
            || self.full().is_some_and(|full| full.is_valid(args))
    }

    /// What is wrong with arguments that are not accepted.
    pub(crate) fn errors<'a>(
        &'a self,
        args: &'a Value,
    ) -> impl Iterator<Item = ValidationError<'a>> {
        self.full()
            .into_iter()
            .flat_map(|full| full.iter_errors(args))
    }

    fn full(&self) -> Option<&Validator> {
        let compiled = || {
            let schema = serde_json::from_str(self.text.get()).ok()?;
            compile(&schema).ok()
        };
        self.full.get_or_init(compiled).as_ref()
    }
}

fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACK))
        .offline()
        .build(schema)
        .map_err(|error| format!("does not compile: {error}"))
}

fn check(value: &Value, depth: usize, bytes: &mut usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("is nested deeper than {MAX_DEPTH}"));
    }
    *bytes += 8;
    if *bytes > MAX_BYTES {
        return Err(format!("is larger than {MAX_BYTES} bytes"));
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
                    return Err(format!("refers elsewhere: `{value}`"));
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
