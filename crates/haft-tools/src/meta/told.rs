//! Tools and outcomes as the tools about tools tell them.

use haft_core::{Block, Outcome, Output, Source, ToolCard, ToolSpec};
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
    let mut told = json!({
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
    });
    if let Some(said) = &spec.said {
        told["server_instructions"] = (&**said).into();
    }
    told
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

/// An outcome as the document of the meta-tools has it, and where the whole of it is.
pub(super) fn outcome(outcome: &Outcome) -> Map<String, Value> {
    let mut map = outcome.account();
    if let Some(handle) = &outcome.meta.handle {
        map.insert("handle".into(), handle.as_str().into());
    }
    if let Some(would) = &outcome.meta.would {
        map.insert("would".into(), would.as_str().into());
    }
    map
}

/// An answer about calls. What they brought besides text has no place in JSON and follows it.
pub(super) fn answer<'a>(answer: Value, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Output {
    let (mut foreign, mut notes) = (false, false);
    let mut others = Vec::new();
    for (index, outcome) in outcomes.into_iter().enumerate() {
        foreign |= outcome.meta.untrusted;
        notes |= outcome.meta.forgettable;
        let brought = outcome.content.iter();
        let mut brought = brought.filter(|block| block.as_text().is_none()).peekable();
        if brought.peek().is_some() {
            others.push(Block::text(format!("[of the call with the index {index}]")));
            others.extend(brought.cloned());
        }
    }
    let mut output = match others.is_empty() {
        true => Output::default(),
        false => Output::text(answer.to_string()),
    };
    output.content.append(&mut others);
    let output = output.and_structured(answer);
    output.untrusted_if(foreign).forgettable_if(notes)
}
