//! From a schema violation to a sentence that helps to repair the call.

use haft_core::{ToolError, ToolSpec};
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use crate::visible::shortened;

/// Violations told at once.
pub(super) const MOST: usize = 5;
/// Characters of a wrong value shown.
const VALUE: usize = 60;
/// Characters of a schema in a hint; an error as a whole has a little more.
const SCHEMA: usize = 3_200;

pub(super) struct Problem {
    pub(super) message: String,
    hint: Option<String>,
    missing: Option<String>,
}

/// One violation in words.
pub(super) fn problem(error: &ValidationError<'_>, spec: &ToolSpec) -> Problem {
    let at = place(error);
    let shown = shortened(&error.instance().to_string(), VALUE).into_owned();
    let plain = |message: String| Problem {
        message,
        hint: None,
        missing: None,
    };
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => Problem {
            message: format!(
                "unknown key: {}",
                keys(unexpected.iter().map(String::as_str), &at)
            ),
            hint: nearest_keys(unexpected, error, spec),
            missing: None,
        },
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            Problem {
                message: format!("missing key: {}", keys([name], &at)),
                hint: None,
                missing: Some(name.to_owned()),
            }
        }
        ValidationErrorKind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(kind) => kind.to_string(),
                TypeKind::Multiple(kinds) => kinds
                    .iter()
                    .map(|kind| kind.to_string())
                    .collect::<Vec<_>>()
                    .join(" or "),
            };
            let got = kind_of(error.instance());
            plain(format!(
                "{}: expected {expected}, got {got}: `{shown}`",
                named(&at)
            ))
        }
        _ => match values(error, spec) {
            options if options.is_empty() => plain(format!("{}: {error}", named(&at))),
            options => Problem {
                message: format!("{}: `{shown}` is not one of its values", named(&at)),
                hint: Some(did_you_mean(
                    &plain_value(error.instance()),
                    &options,
                    "valid values",
                )),
                missing: None,
            },
        },
    }
}

/// The values there are, where something else was given: as one list, or each with its own words.
fn values(error: &ValidationError<'_>, spec: &ToolSpec) -> Vec<String> {
    let each = match error.kind() {
        ValidationErrorKind::Enum { options } => return listed(options),
        ValidationErrorKind::OneOfNotValid { .. } | ValidationErrorKind::AnyOf { .. } => {
            spec.input_schema.pointer(error.schema_path().as_str())
        }
        _ => None,
    };
    let each = each.and_then(Value::as_array).into_iter().flatten();
    each.flat_map(|one| match one.get("const") {
        Some(value) => vec![plain_value(value)],
        None => one.get("enum").map(listed).unwrap_or_default(),
    })
    .collect()
}

fn listed(values: &Value) -> Vec<String> {
    let values = values.as_array().into_iter().flatten();
    values.map(plain_value).collect()
}

/// One hint for all of them: the nearest names first, then what there is.
pub(super) fn together(problems: &[Problem], args: &Value, spec: &ToolSpec) -> Option<String> {
    if !args.is_object() {
        return Some("arguments are one JSON object".into());
    }
    if let Some(hint) = problems.iter().find_map(|problem| problem.hint.clone()) {
        return Some(hint);
    }
    let missing: Vec<&String> = problems.iter().filter_map(|p| p.missing.as_ref()).collect();
    if missing.is_empty() {
        return None;
    }
    let described: Vec<String> = missing.iter().map(|name| describe(name, spec)).collect();
    Some(described.join("; "))
}

/// The hint of a caller that was never shown the schema: it comes now, as much of it as an error
/// has room for.
pub(super) fn with_schema(error: ToolError, spec: &ToolSpec) -> ToolError {
    let whole = spec.input_schema.to_string();
    let schema = if whole.chars().count() <= SCHEMA {
        whole
    } else {
        let mut bare = spec.input_schema.clone();
        without_descriptions(&mut bare);
        shortened(&bare.to_string(), SCHEMA).into_owned()
    };
    let schema = format!("schema of `{}`: {schema}", spec.name);
    let hint = match &error.hint {
        Some(hint) => format!("{hint}\n{schema}"),
        None => schema,
    };
    error.hint(hint)
}

fn without_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("description").is_some_and(Value::is_string) {
                object.shift_remove("description");
            }
            object.values_mut().for_each(without_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(without_descriptions),
        _ => {}
    }
}

fn describe(name: &str, spec: &ToolSpec) -> String {
    let text = |key: &str| {
        let property = spec
            .input_schema
            .get("properties")
            .and_then(|all| all.get(name))?;
        property.get(key).and_then(Value::as_str)
    };
    match (text("type"), text("description")) {
        (Some(kind), Some(what)) => format!("`{name}` ({kind}): {what}"),
        (Some(kind), None) => format!("`{name}` is a {kind}"),
        _ => format!("add `{name}`"),
    }
}

fn nearest_keys(
    unexpected: &[String],
    error: &ValidationError<'_>,
    spec: &ToolSpec,
) -> Option<String> {
    let object = subschema(error, spec)?;
    let valid: Vec<String> = object
        .get("properties")?
        .as_object()?
        .keys()
        .cloned()
        .collect();
    if valid.is_empty() {
        return Some(format!("`{}` takes no parameters", spec.name));
    }
    // A key that is already there is not what was meant.
    let given = error.instance().as_object();
    let free: Vec<String> = valid
        .iter()
        .filter(|name| given.is_none_or(|given| !given.contains_key(*name)))
        .cloned()
        .collect();
    let wrong = unexpected.first()?;
    let meant = spec
        .parameter_aliases
        .get(wrong)
        .or_else(|| nearest(wrong, &free));
    let valid = keys(valid.iter().map(String::as_str), "");
    Some(match meant {
        Some(name) => format!("did you mean `{name}`? valid keys: {valid}"),
        None => format!("valid keys: {valid}"),
    })
}

/// The object schema that an unknown key broke.
fn subschema<'s>(error: &ValidationError<'_>, spec: &'s ToolSpec) -> Option<&'s Value> {
    let path = error.schema_path().to_string();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    spec.input_schema.pointer(parent)
}

fn did_you_mean(wrong: &str, options: &[String], label: &str) -> String {
    let list = keys(options.iter().map(String::as_str), "");
    match nearest(wrong, options) {
        Some(name) => format!("did you mean `{name}`? {label}: {list}"),
        None => format!("{label}: {list}"),
    }
}

fn nearest<'a>(wrong: &str, options: &'a [String]) -> Option<&'a String> {
    let wrong = wrong.to_lowercase();
    let contains = |option: &String| {
        let option = option.to_lowercase();
        wrong.len() >= 3 && (option.contains(&wrong) || wrong.contains(&option))
    };
    options
        .iter()
        .map(|option| {
            (
                strsim::normalized_damerau_levenshtein(&wrong, &option.to_lowercase()),
                option,
            )
        })
        .filter(|(likeness, option)| *likeness >= 0.5 || contains(option))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, option)| option)
}

fn place(error: &ValidationError<'_>) -> String {
    error
        .instance_path()
        .to_string()
        .trim_start_matches('/')
        .replace('/', ".")
}

fn named(at: &str) -> String {
    if at.is_empty() {
        "arguments".into()
    } else {
        format!("`{at}`")
    }
}

fn keys<'a>(names: impl IntoIterator<Item = &'a str>, at: &str) -> String {
    let prefix = if at.is_empty() {
        String::new()
    } else {
        format!("{at}.")
    };
    let names: Vec<String> = names
        .into_iter()
        .take(40)
        .map(|name| format!("`{prefix}{}`", shortened(&crate::visible(name), VALUE)))
        .collect();
    names.join(", ")
}

fn plain_value(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
