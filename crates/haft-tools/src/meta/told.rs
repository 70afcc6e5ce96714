//! Tools and outcomes as the tools about tools tell them.

use haft_core::{Outcome, Source, ToolCard, ToolSpec};
use serde_json::{Map, Value, json};

/// The least that is told of a tool.
pub(super) fn line(card: &ToolCard) -> Value {
    let spec = &card.spec;
    json!({
        "name": spec.name,
        "description": spec.description,
        "risk_level": spec.risk,
        "tags": spec.tags,
    })
}

/// A found tool, ready to be called.
pub(super) fn found(card: &ToolCard) -> Value {
    let spec = &card.spec;
    json!({
        "name": spec.name,
        "description": spec.description,
        "risk_level": spec.risk,
        "params_summary": summary(spec),
        "relevance": card.score.map(|score| (f64::from(score) * 100.0).round() / 100.0),
        "tags": spec.tags,
        "parameters": spec.input_schema,
    })
}

/// Everything about a tool that helps to call it.
pub(super) fn whole(card: &ToolCard) -> Value {
    let spec = &card.spec;
    let examples: Vec<Value> = spec
        .examples
        .iter()
        .map(|example| json!({"title": example.title, "params": example.args}))
        .collect();
    json!({
        "name": spec.name,
        "description": spec.description,
        "module": spec.module,
        "risk_level": spec.risk,
        "tags": spec.tags,
        "aliases": spec.aliases,
        "parameters": spec.input_schema,
        "examples": examples,
        "side_effects": spec.side_effects,
        "irreversible": spec.irreversible,
        "policy": card.policy,
    })
}

/// Parameters in one line: what is needed first, what may be left out in brackets.
fn summary(spec: &ToolSpec) -> String {
    let properties = spec
        .input_schema
        .get("properties")
        .and_then(Value::as_object);
    let required = spec.input_schema.get("required").and_then(Value::as_array);
    let needed = |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
    let empty = Map::new();
    let properties = properties.unwrap_or(&empty);
    let kind = |property: &Value| {
        let kind = property.get("type").and_then(Value::as_str);
        kind.unwrap_or("any").to_owned()
    };
    let (first, rest): (Vec<_>, Vec<_>) = properties.iter().partition(|(name, _)| needed(name));
    let first = first
        .into_iter()
        .map(|(name, property)| format!("{name}: {}", kind(property)));
    let rest = rest
        .into_iter()
        .map(|(name, property)| format!("[{name}: {}]", kind(property)));
    first.chain(rest).collect::<Vec<_>>().join(", ")
}

/// Whether somebody else wrote what is said about a tool.
pub(super) fn is_foreign(card: &ToolCard) -> bool {
    card.spec.source != Source::Builtin
}

/// An outcome as the document of the meta-tools has it.
pub(super) fn outcome(outcome: &Outcome) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("success".into(), outcome.ok.into());
    let data = match &outcome.structured {
        Some(structured) => structured.clone(),
        None => outcome.text().into(),
    };
    map.insert("data".into(), data);
    map.insert("error".into(), json!(outcome.error));
    map
}
