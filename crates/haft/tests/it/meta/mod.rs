//! Tools about tools, through the one pipeline: as the same caller, by the same rules.

mod account;
mod background;
mod finding;
mod nested;
mod player;

use haft_core::{Call, Outcome};
use haft_runtime::Session;
use haft_testkit::{House, HouseBuilder};
use serde_json::Value;

/// The fixture tools and the tools about tools.
pub(crate) fn furnished(builder: HouseBuilder) -> House {
    let house = builder.build();
    let mut packs = haft_tools::packs();
    packs.retain(|pack| pack.module.name == "meta");
    house.runtime.install(&packs).unwrap();
    house
}

pub(crate) async fn call(house: &House, session: &Session, name: &str, args: Value) -> Outcome {
    house.runtime.call(session, Call::new(name, args)).await
}

/// The structured answer of a call that went well.
#[track_caller]
pub(crate) fn answer(outcome: &Outcome) -> &Value {
    assert!(outcome.ok, "{outcome:?}");
    outcome.structured.as_ref().unwrap()
}

/// An outcome in one line: its code or `ok`, and what was said.
pub(crate) fn said(outcome: &Outcome) -> String {
    match &outcome.error {
        None => format!("ok {}", outcome.text()),
        Some(error) => format!("{} {}", error.code, error.message),
    }
}
