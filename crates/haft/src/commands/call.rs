//! `haft call`: one tool, once.

use std::sync::Arc;

use anyhow::{Result, bail};
use haft_core::{Call, ErrorCode, Outcome};
use haft_runtime::{Runtime, Session};
use serde_json::{Map, Value};

use crate::cli;
use crate::exit;
use crate::terminal::live::Voices;
use crate::terminal::{drive, fail, input, pour, show};
use crate::wiring::House;

const LONGEST_KEY: usize = 200;

pub(crate) fn run(command: cli::Call) -> Result<u8> {
    let manner = &command.manner;
    let mut wants = drive::wants(manner);
    // One call alone may print while it searches; JSON comes whole.
    if let (Some(budget), false) = (manner.budget, manner.json) {
        wants.outlet = Some(pour::to_stdout(budget));
    }
    let house = House::open(&manner.seat, wants)?;
    fail::notices(&house.loaded.notices);
    let mut args = input::arguments(command.args.as_deref())?.unwrap_or_else(|| Map::new().into());
    for setting in &command.set {
        set(&mut args, setting, &house, &command.name)?;
    }
    let mut call = drive::in_manner(Call::new(&*command.name, args), manner);
    call.key = command.key.as_deref().map(key).transpose()?;
    let work = async |runtime: &Runtime, session: &Session| runtime.call(session, call).await;
    let show = |driven| finish(driven, manner);
    let code = drive::to_the_answer(&house, manner, Voices::One, work, show);
    // The process ends here. To take everything apart first costs a tenth of a short call.
    std::mem::forget(house);
    code
}

/// A key as the journal takes it.
pub(super) fn key(key: &str) -> Result<Arc<str>, fail::Usage> {
    let plain = |c: char| !c.is_control();
    match !key.is_empty() && key.len() <= LONGEST_KEY && key.chars().all(plain) {
        true => Ok(key.into()),
        false => Err(fail::Usage(format!(
            "a key is 1 to {LONGEST_KEY} bytes of text without control characters"
        ))),
    }
}

/// Show the outcome of one call, and say how haft exits.
pub(super) fn finish(driven: drive::Driven<Outcome>, manner: &cli::Manner) -> Result<u8> {
    let outcome = driven.result;
    if manner.json {
        show::json(&outcome)?;
    } else {
        show::outcome(&outcome, driven.shown.has(&outcome))?;
    }
    Ok(match outcome.code() {
        _ if driven.interrupted => exit::INTERRUPTED,
        Some(ErrorCode::Cancelled) => exit::INTERRUPTED,
        Some(_) => exit::FAILED,
        None => 0,
    })
}

/// `key=value`: text where the tool wants text, else JSON where it is JSON.
fn set(args: &mut Value, setting: &str, house: &House, tool: &str) -> Result<()> {
    let given = setting.split_once('=').filter(|(key, _)| !key.is_empty());
    let Some((key, value)) = given else {
        bail!(fail::Usage(format!(
            "`--set` takes KEY=VALUE, got `{setting}`"
        )));
    };
    let Value::Object(args) = args else {
        bail!(fail::Usage(
            "`--set` needs arguments that are a JSON object".to_owned()
        ));
    };
    let view = house.session.view(&house.runtime);
    let wants_text = view.resolve(tool).is_some_and(|index| {
        let spec = view.snapshot().entries()[index].spec();
        let key = spec.parameter_aliases.get(key).map_or(key, String::as_str);
        spec.input_schema["properties"][key]["type"] == "string"
    });
    let parsed = if wants_text {
        None
    } else {
        serde_json::from_str(value).ok()
    };
    args.insert(key.to_owned(), parsed.unwrap_or_else(|| value.into()));
    Ok(())
}
