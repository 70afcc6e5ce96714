//! `haft batch`: many calls at once, outcomes in the order given.

use std::path::Path;

use anyhow::{Result, bail};
use haft_core::Call;
use serde::Deserialize;
use serde_json::Value;

use crate::cli;
use crate::exit;
use crate::terminal::live::Voices;
use crate::terminal::{drive, fail, input, show};
use crate::wiring::{House, Wants};

/// One entry of the array.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    #[serde(default)]
    id: Option<Value>,
    name: String,
    #[serde(default, alias = "arguments", alias = "params")]
    args: Value,
}

pub(crate) fn run(command: cli::Batch) -> Result<u8> {
    let manner = &command.manner;
    let calls = calls(command.file.as_deref())?
        .into_iter()
        .map(|call| drive::in_manner(call, manner))
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
    if manner.json {
        show::json(&driven.result)?;
    } else {
        for outcome in &driven.result {
            show::heading(outcome);
            show::outcome(outcome, driven.shown.has(outcome))?;
        }
    }
    let all_well = driven.result.iter().all(|outcome| outcome.ok);
    Ok(match (driven.interrupted, all_well) {
        (true, _) => exit::INTERRUPTED,
        (false, false) => exit::FAILED,
        (false, true) => 0,
    })
}

fn calls(file: Option<&Path>) -> Result<Vec<Call>> {
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
    items
        .into_iter()
        .enumerate()
        .map(|(n, item)| one(n, item))
        .collect()
}

fn one(position: usize, item: Value) -> Result<Call> {
    let item: Item = serde_json::from_value(item).map_err(|error| {
        fail::Usage(format!(
            "entry {position} of the batch is not {{id, name, args}}: {error}"
        ))
    })?;
    let call = Call::new(item.name, item.args);
    Ok(match item.id {
        None | Some(Value::Null) => call,
        Some(Value::String(id)) => call.id(id),
        Some(other) => call.id(other.to_string()),
    })
}
