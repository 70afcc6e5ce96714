//! `haft batch`: many calls at once, outcomes in the order given.

use std::path::Path;

use anyhow::{Result, bail};
use haft_core::{Call, Outcome, ToolError};
use serde::Deserialize;
use serde_json::Value;

use super::call::key;
use crate::cli;
use crate::exit;
use crate::terminal::live::Voices;
use crate::terminal::{drive, fail, input, show};
use crate::wiring::{House, Wants};

/// One entry of the array.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a call: `{\"id\", \"name\", \"args\"}`"
)]
struct Item {
    #[serde(default, rename = "id")]
    _id: Option<Value>,
    name: String,
    #[serde(default, alias = "arguments", alias = "params")]
    args: Value,
    /// Name of the piece of work, the same when it is tried again
    #[serde(default)]
    key: Option<String>,
}

pub(crate) fn run(command: cli::Batch) -> Result<u8> {
    let manner = &command.manner;
    let entries = entries(command.file.as_deref())?;
    let calls = entries
        .iter()
        .filter_map(|entry| entry.as_ref().ok())
        .map(|call| drive::in_manner(call.clone(), manner))
        .collect();
    let wants = Wants {
        background: true,
        ..drive::wants(manner)
    };
    let house = House::open(&manner.seat, wants)?;
    fail::notices(&house.loaded.notices);
    let driven = drive::to_the_end(&house, manner, Voices::Many, async |runtime, session| {
        runtime.execute_parallel(session, calls).await
    })?;
    let mut made = driven.result.into_iter();
    let outcomes: Vec<Outcome> = entries
        .into_iter()
        .filter_map(|entry| match entry {
            Ok(_) => made.next(),
            Err(outcome) => Some(*outcome),
        })
        .collect();
    if manner.json {
        show::json(&outcomes)?;
    } else {
        for outcome in &outcomes {
            show::heading(outcome);
            show::outcome(outcome, driven.shown.has(outcome))?;
        }
    }
    let all_well = outcomes.iter().all(|outcome| outcome.ok);
    Ok(match (driven.interrupted, all_well) {
        (true, _) => exit::INTERRUPTED,
        (false, false) => exit::FAILED,
        (false, true) => 0,
    })
}

/// A call, or the answer to what is none.
type Entry = Result<Call, Box<Outcome>>;

fn entries(file: Option<&Path>) -> Result<Vec<Entry>> {
    let text = match file {
        None => input::standard_input()?,
        Some(path) if path == Path::new("-") => input::standard_input()?,
        Some(path) => input::file(path)?,
    };
    let Value::Array(items) = input::parse(&text)? else {
        bail!(fail::Usage(
            "a batch is a JSON array of {id, name, args}".to_owned()
        ));
    };
    Ok(items
        .into_iter()
        .zip(1..)
        .map(|(item, position)| one(position, item))
        .collect())
}

fn one(position: usize, item: Value) -> Entry {
    let id = match item.get("id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.clone()),
        Some(other) => Some(other.to_string()),
    };
    let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
    let name = name.to_owned();
    let parsed = serde_json::from_value::<Item>(item).map_err(|error| error.to_string());
    let keyed = parsed.and_then(|item| match item.key.as_deref().map(key).transpose() {
        Ok(key) => Ok((item, key)),
        Err(wrong) => Err(wrong.0),
    });
    match keyed {
        Ok((item, key)) => {
            let mut call = Call::new(item.name, item.args);
            call.key = key;
            Ok(match id {
                Some(id) => call.id(id),
                None => call,
            })
        }
        Err(error) => Err(Box::new(Outcome::refused(
            name,
            id.unwrap_or_default(),
            ToolError::input_invalid(format!(
                "entry {position} of the batch is not a call: {error}"
            ))
            .hint("an entry is {\"id\": …, \"name\": …, \"args\": {…}, \"key\": …}"),
        ))),
    }
}
