//! validate: the arguments fit the schema, or the answer says which field is wrong, what was
//! expected and which name is nearest. Other spellings of parameters are put right here, so
//! nothing later knows them, and so are the parameters of a call that were written beside it.

use std::sync::Arc;

use haft_core::{EVERY_OTHER_KEY, Prepared, ToolError, ToolSpec};
use serde_json::{Map, Value};

use super::hints;
use crate::Entry;
use crate::flight::Flight;
use crate::parse_arguments;

/// Whole numbers below this are exact as floating point numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;

pub(crate) fn arguments(
    flight: &mut Flight<'_>,
    tool: usize,
) -> Result<Box<dyn Prepared>, ToolError> {
    let Flight {
        session,
        view,
        args,
        cx,
        ..
    } = flight;
    let entry = view.entry(tool);
    if args.is_null() {
        *args = Arc::new(Value::Object(Map::new()));
    }
    if !entry.schema().accepts(args) {
        repair(Arc::make_mut(args), entry.spec())?;
        if !entry.schema().accepts(args) {
            let error = misfit(args, entry);
            return Err(match session.hides_schemas(view, cx) {
                true => hints::with_schema(error, entry.spec()),
                false => error,
            });
        }
    }
    entry.tool().prepare(args).or_else(|misfit| {
        // `1.0` is a whole number to JSON Schema, and not to every parser.
        let mut folded = Value::clone(args);
        if !fold_whole(&mut folded) {
            return Err(misfit);
        }
        let prepared = entry.tool().prepare(&folded).map_err(|_| misfit)?;
        *args = Arc::new(folded);
        Ok(prepared)
    })
}

/// Write whole numbers without a fraction; tells whether there was one.
fn fold_whole(value: &mut Value) -> bool {
    match value {
        Value::Number(number) => {
            let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
                return false;
            };
            let exact = float.fract() == 0.0 && float.abs() < EXACT;
            if exact {
                *value = Value::from(float as i64);
            }
            exact
        }
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |any, item| fold_whole(item) | any),
        Value::Object(fields) => fields
            .values_mut()
            .fold(false, |any, field| fold_whole(field) | any),
        _ => false,
    }
}

/// What can be put right without guessing: the documents' parameter names become ours, and a
/// `null` for an optional parameter means that it was not given.
fn repair(args: &mut Value, spec: &ToolSpec) -> Result<(), ToolError> {
    let Value::Object(given) = args else {
        return Ok(());
    };
    // A list gets its name before what is in it; the rest is what no other name took.
    let mut aliases: Vec<_> = spec.parameter_aliases.iter().collect();
    // One that counts from another parameter waits for that.
    let base = |alias: &str| spec.parameter_bases.get(alias).map(String::as_str);
    let waits = |alias: &str| base(alias).is_some_and(|base| base.parse::<u64>().is_err());
    aliases.sort_by_key(|(alias, _)| {
        let rest = alias.ends_with(EVERY_OTHER_KEY);
        (alias.contains("[]."), rest, waits(alias))
    });
    for (alias, name) in aliases {
        match (alias.split_once("[]."), name.split_once("[].")) {
            (Some((list, alias)), Some((_, name))) => {
                let schema = &spec.input_schema["properties"][list]["items"];
                let items = given.get_mut(list).and_then(Value::as_array_mut);
                for item in items.into_iter().flatten() {
                    if let Value::Object(item) = item {
                        put_right(item, alias, name, schema)?;
                    }
                }
            }
            _ => {
                if let Some(base) = base(alias) {
                    count_from(base, given, alias);
                }
                put_right(given, alias, name, &spec.input_schema)?;
            }
        }
    }
    let required = spec.input_schema.get("required").and_then(Value::as_array);
    let is_required =
        |key: &str| required.is_some_and(|names| names.iter().any(|name| name == key));
    let known = spec.input_schema.get("properties");
    given.retain(|key, value| {
        !value.is_null() || is_required(key) || known.is_none_or(|known| known.get(key).is_none())
    });
    Ok(())
}

fn put_right(
    given: &mut Map<String, Value>,
    alias: &str,
    name: &str,
    schema: &Value,
) -> Result<(), ToolError> {
    match alias {
        EVERY_OTHER_KEY => gather(given, name, schema),
        _ => rename(given, alias, name),
    }
}

/// Put the keys that are no parameters into the one that takes them. Where that one is given as
/// well, nobody can tell what was meant, and they stay where they are.
fn gather(given: &mut Map<String, Value>, into: &str, schema: &Value) -> Result<(), ToolError> {
    if let Some(Value::String(text)) = given.get(into) {
        let read = parse_arguments(text)?;
        given.insert(into.to_owned(), read);
    }
    if given.get(into).is_some_and(|value| !value.is_null()) {
        return Ok(());
    }
    let known = &schema["properties"];
    let others: Vec<String> = given
        .keys()
        .filter(|key| known.get(key.as_str()).is_none())
        .cloned()
        .collect();
    if !others.is_empty() {
        let moved = others
            .into_iter()
            .filter_map(|key| given.shift_remove_entry(&key));
        let moved = moved.collect();
        given.insert(into.to_owned(), Value::Object(moved));
    }
    Ok(())
}

/// Make a number count from where we do. What is no number stays as it is, to be told as that.
fn count_from(base: &str, given: &mut Map<String, Value>, alias: &str) {
    let whole = |value: &Value| {
        let mut value = value.clone();
        fold_whole(&mut value);
        value.as_u64()
    };
    let Some(number) = given.get(alias).and_then(whole) else {
        return;
    };
    let taken = base.parse().ok();
    let taken = taken.or_else(|| given.get(base).and_then(whole));
    let counted = number.saturating_sub(taken.unwrap_or(0));
    given.insert(alias.to_owned(), counted.into());
}

/// Give a parameter the name we know it by.
fn rename(given: &mut Map<String, Value>, alias: &str, name: &str) -> Result<(), ToolError> {
    let Some(value) = given.shift_remove(alias) else {
        return Ok(());
    };
    if given.contains_key(name) {
        return Err(ToolError::input_invalid(format!(
            "`{alias}` and `{name}` are the same parameter, given twice"
        ))
        .hint(format!("use `{name}`")));
    }
    given.insert(name.to_owned(), value);
    Ok(())
}

fn misfit(args: &Value, entry: &Entry) -> ToolError {
    let spec = entry.spec();
    let problems: Vec<hints::Problem> = entry
        .schema()
        .errors(args)
        .take(hints::MOST)
        .map(|e| hints::problem(&e, spec))
        .collect();
    let mut messages: Vec<&str> = Vec::new();
    for problem in &problems {
        if !messages.contains(&problem.message.as_str()) {
            messages.push(&problem.message);
        }
    }
    let error = ToolError::input_invalid(format!("`{}`: {}", spec.name, messages.join("; ")));
    match hints::together(&problems, args, spec) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Arguments as they are after repair, or why they cannot be repaired.
    fn repaired(mut args: Value, spec: &ToolSpec) -> Value {
        match repair(&mut args, spec) {
            Ok(()) => args,
            Err(error) => error.into_body().message.into(),
        }
    }

    #[test]
    fn other_spellings_are_put_right_in_lists_too() {
        let mut spec = ToolSpec::new("t", "", json!({"type": "object", "properties": {}}));
        for (theirs, ours) in [("old", "search"), ("edits[].old", "edits[].search")] {
            spec.reword(|words| {
                let aliases = &mut words.parameter_aliases;
                aliases.insert(theirs.to_owned(), ours.to_owned());
            });
        }
        let check = |args, expected: Value| assert_eq!(repaired(args, &spec), expected);
        check(
            json!({"old": "a", "edits": [{"old": "b"}, {"search": "c"}, 5]}),
            json!({"search": "a", "edits": [{"search": "b"}, {"search": "c"}, 5]}),
        );
        check(json!({"edits": "none"}), json!({"edits": "none"}));
        check(
            json!({"edits": [{"old": "b", "search": "c"}]}),
            json!("`old` and `search` are the same parameter, given twice"),
        );
    }

    #[test]
    fn spellings_that_count_from_elsewhere_are_put_right() {
        let mut spec = ToolSpec::new("t", "", json!({"type": "object", "properties": {}}));
        for (theirs, ours, base) in [("first", "offset", "1"), ("end", "limit", "offset")] {
            spec.reword(|words| {
                let aliases = &mut words.parameter_aliases;
                aliases.insert(theirs.to_owned(), ours.to_owned());
                let bases = &mut words.parameter_bases;
                bases.insert(theirs.to_owned(), base.to_owned());
            });
        }
        let check = |args, expected: Value| assert_eq!(repaired(args, &spec), expected);
        check(
            json!({"first": 10, "end": 12}),
            json!({"offset": 9, "limit": 3}),
        );
        check(json!({"end": 12}), json!({"limit": 12}));
        check(json!({"first": 10.0}), json!({"offset": 9}));
        check(json!({"first": 0}), json!({"offset": 0}));
        check(
            json!({"offset": 5, "end": 3}),
            json!({"offset": 5, "limit": 0}),
        );
        check(json!({"first": "x"}), json!({"offset": "x"}));
        check(
            json!({"first": 1, "offset": 0}),
            json!("`first` and `offset` are the same parameter, given twice"),
        );
    }

    #[test]
    fn parameters_beside_a_call_are_its_parameters() {
        let call = json!({"type": "object", "properties": {"name": {}, "params": {}}});
        let mut spec = ToolSpec::new("t", "", call.clone());
        spec.reword(|words| {
            let calls = json!({"type": "array", "items": call});
            words.input_schema["properties"]["calls"] = calls;
        });
        for (theirs, ours) in [
            ("*", "params"),
            ("args", "params"),
            ("calls[].*", "calls[].params"),
            ("calls[].args", "calls[].params"),
            ("tasks", "calls"),
        ] {
            spec.reword(|words| {
                let aliases = &mut words.parameter_aliases;
                aliases.insert(theirs.to_owned(), ours.to_owned());
            });
        }
        let check = |args, expected: Value| assert_eq!(repaired(args, &spec), expected);
        check(
            json!({"name": "a", "x": 1, "y": 2}),
            json!({"name": "a", "params": {"x": 1, "y": 2}}),
        );
        check(
            json!({"name": "a", "params": null, "x": 1}),
            json!({"name": "a", "params": {"x": 1}}),
        );
        check(
            json!({"name": "a", "args": {"x": 1}, "y": 2}),
            json!({"name": "a", "params": {"x": 1}, "y": 2}),
        );
        check(
            json!({"name": "a", "args": "{\"x\": 1}"}),
            json!({"name": "a", "params": {"x": 1}}),
        );
        check(
            json!({"tasks": [{"name": "a", "x": 1}, {"name": "b", "args": {}}]}),
            json!({"calls": [{"name": "a", "params": {"x": 1}}, {"name": "b", "params": {}}]}),
        );
        check(
            json!({"name": "a", "params": "{x}"}),
            json!("not JSON at offset 1: key must be a string at line 1 column 2"),
        );
    }
}
