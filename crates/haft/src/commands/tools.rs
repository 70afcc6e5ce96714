//! `haft tools`: what there is.

use std::sync::Arc;

use anyhow::{Result, bail};
use haft_core::{Source, canonical_module};
use haft_runtime::{Entry, Injection, visible};
use serde::Serialize;
use serde_json::{Value, json};

use super::{discover, inject};
use crate::cli::{self, Seat, ToolsAction};
use crate::skills;
use crate::terminal::{fail, print, show, table};
use crate::wiring::{House, Wants};

/// Tokens of a model's context where neither flag nor config tells.
pub(super) const USUAL_CONTEXT: u64 = 8_000;

pub(crate) fn run(command: cli::Tools) -> Result<u8> {
    match command.action {
        None => list(&command.seat, command.json),
        Some(ToolsAction::Show { name, json, seat }) => show_one(&seat, &name, json),
        Some(ToolsAction::Search {
            query,
            limit,
            json,
            explain,
            why,
            seat,
        }) => {
            let manner = discover::Manner {
                limit: limit.into(),
                json,
                explain,
            };
            discover::search(&open(&seat)?, &query, &manner, why.as_deref())
        }
        Some(ToolsAction::Inject {
            context_window,
            json,
            definitions,
            seat,
        }) => {
            let (house, told) = open_for_model(&seat, context_window)?;
            inject::run(&house, json, definitions, told)
        }
        Some(ToolsAction::Prompt {
            mode,
            context_window,
            seat,
        }) => {
            let (house, _) = open_for_model(&seat, context_window)?;
            let mut prompt = house.session.prompt(&house.runtime, mode.into());
            prompt.push_str(&skills::standing(&house.skills));
            print::raw(prompt.as_bytes())?;
            Ok(0)
        }
        Some(ToolsAction::Categories { json, seat }) => discover::categories(&open(&seat)?, json),
        Some(ToolsAction::Schema { module, seat }) => schema(&seat, &module),
    }
}

fn open(seat: &Seat) -> Result<House> {
    open_with(seat, None)
}

/// As a model finds it, and whether anybody tells its context: else it has the usual one.
fn open_for_model(seat: &Seat, context_window: Option<u64>) -> Result<(House, bool)> {
    let mut house = open_with(seat, context_window)?;
    let injection = house.session.injection();
    let told = injection.context_window.is_some();
    if !told {
        let usual = Injection {
            context_window: Some(USUAL_CONTEXT),
            ..injection.clone()
        };
        house.session = house.session.injecting(usual);
    }
    Ok((house, told))
}

fn open_with(seat: &Seat, context_window: Option<u64>) -> Result<House> {
    let wants = Wants {
        // What is shown is what a model behind a server has.
        background: true,
        injection: Injection {
            context_window,
            ..Injection::default()
        },
        ..Wants::default()
    };
    let house = House::open(seat, wants)?;
    fail::notices(&house.loaded.notices);
    for bad in house.runtime.registry().snapshot().quarantined() {
        fail::notice(&format!("`{}` is quarantined: {}", bad.name, bad.reason));
    }
    Ok(house)
}

fn list(seat: &Seat, as_json: bool) -> Result<u8> {
    let house = open(seat)?;
    let view = house.session.view(&house.runtime);
    if as_json {
        let tools: Vec<Listed<'_>> = view
            .tools()
            .map(|entry| Listed::of(&house, entry))
            .collect();
        show::json(&tools)?;
        return Ok(0);
    }
    let rows = view.tools().map(|entry| {
        let listed = Listed::of(&house, entry);
        let what = first_sentence(&entry.spec().description);
        let (verdict, what) = match listed.unavailable {
            None => (listed.verdict, what),
            Some(reason) => ("unavailable".to_owned(), format!("{what} [{reason}]")),
        };
        vec![in_line(&entry.spec().name), verdict, in_line(&what)]
    });
    table::print(&["tool", "policy", "what it does"], rows);
    Ok(0)
}

/// A tool as `--json` lists it: its spec, and what this caller should know.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    spec: &'a haft_core::ToolSpec,
    api_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable: Option<String>,
    /// What policy says before arguments are known
    verdict: String,
}

impl<'a> Listed<'a> {
    fn of(house: &House, entry: &'a Arc<Entry>) -> Self {
        let verdict = house
            .runtime
            .explain(&house.session, &entry.spec().name, None)
            .map_or_else(
                |error| error.code.to_string(),
                |e| e.judgement.verdict.to_string(),
            );
        Listed {
            spec: entry.spec(),
            api_name: entry.api_name(),
            unavailable: house.session.unavailable(entry),
            verdict,
        }
    }
}

fn show_one(seat: &Seat, name: &str, as_json: bool) -> Result<u8> {
    let house = open(seat)?;
    let entry = house.runtime.find(&house.session, name)?;
    let listed = Listed::of(&house, &entry);
    if as_json {
        show::json(&listed)?;
        return Ok(0);
    }
    let spec = entry.spec();
    let name = print::bold(&in_line(&spec.name));
    print::line(&format!("{name}{}", in_line(&aliases(&entry))));
    print::line(&format!("\n{}\n", described(&entry)));
    let facts = [
        ("policy", listed.verdict),
        (
            "unavailable",
            or_dash(listed.unavailable.unwrap_or_default()),
        ),
        ("risk", word(&spec.risk)),
        ("repeat", word(&spec.repeat)),
        ("effects", or_dash(in_line(&spec.side_effects.join("; ")))),
        (
            "needs",
            or_dash(
                spec.capabilities
                    .iter()
                    .map(|c| c.id())
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
        ),
        ("source", entry.source().to_string()),
    ];
    table::print(
        &["", ""],
        facts.map(|(key, value)| vec![key.to_owned(), value]),
    );
    print::line("");
    table::print(
        &["parameter", "type", "", "what it is"],
        parameters(&spec.input_schema),
    );
    for example in &spec.examples {
        print::line(&format!(
            "\n# {}\nhaft call {} '{}'",
            example.title, spec.name, example.args
        ));
    }
    Ok(0)
}

fn schema(seat: &Seat, module: &str) -> Result<u8> {
    let house = open(seat)?;
    let wanted = canonical_module(module);
    let view = house.session.view(&house.runtime);
    let tools: Vec<Value> = view
        .tools()
        .map(|entry| entry.spec())
        .filter(|spec| spec.module == wanted)
        .map(|spec| {
            json!({
                "name": spec.name, "description": spec.description,
                "input_schema": spec.input_schema, "output_schema": spec.output_schema,
            })
        })
        .collect();
    if tools.is_empty() {
        let mut modules: Vec<&str> = view
            .tools()
            .map(|entry| entry.spec().module.as_str())
            .collect();
        modules.dedup();
        bail!(fail::Failed {
            message: format!("no module with tools: `{module}`"),
            hint: Some(format!("modules: {}", modules.join(", "))),
        });
    }
    show::json(&tools)?;
    Ok(0)
}

fn aliases(entry: &Entry) -> String {
    match entry.spec().aliases.as_slice() {
        [] => String::new(),
        aliases => format!("  (also {})", aliases.join(", ")),
    }
}

fn parameters(schema: &Value) -> Vec<Vec<String>> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    properties
        .iter()
        .map(|(name, property)| {
            let kind = match &property["enum"] {
                Value::Array(values) => values
                    .iter()
                    .filter_map(Value::as_str)
                    .collect::<Vec<_>>()
                    .join("|"),
                _ => property["type"].as_str().unwrap_or("any").to_owned(),
            };
            let needed = if required.contains(&json!(name)) {
                "required"
            } else {
                ""
            };
            let what = property["description"].as_str().unwrap_or_default();
            vec![
                in_line(name),
                in_line(&kind),
                needed.to_owned(),
                in_line(what),
            ]
        })
        .collect()
}

/// What a tool does. A stranger's words stand behind a bar, so that no line passes for ours.
fn described(entry: &Entry) -> String {
    let text = visible(&entry.spec().description);
    match entry.source() {
        Source::Builtin => text,
        _ if text.is_empty() => "(it says nothing)".to_owned(),
        _ => format!("│ {}", text.replace('\n', "\n│ ")),
    }
}

/// On one line, with nothing hidden.
fn in_line(text: &str) -> String {
    visible(text).replace('\n', " ")
}

fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|v| v.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn or_dash(text: String) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}

/// On one line, so that a list has a line a tool.
pub(super) fn first_sentence(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.find(". ").unwrap_or(line.len());
    line[..end].trim_end_matches('.').to_owned()
}
