//! `haft undo`: a call of `file.undo`, through the same door as every other one.

use anyhow::Result;
use haft_core::Call;
use serde_json::json;

use super::call;
use crate::cli;
use crate::terminal::live::Voices;
use crate::terminal::{drive, fail};
use crate::wiring::House;

pub(crate) fn run(mut command: cli::Undo) -> Result<u8> {
    // A list changes nothing: whoever typed it need not be asked.
    command.manner.yes |= command.list && command.call.is_none();
    let manner = &command.manner;
    let house = House::open(&manner.seat, drive::wants(manner))?;
    fail::notices(&house.loaded.notices);
    let args = match &command.call {
        Some(call) => json!({ "call": call }),
        None if command.list => json!({"list": true}),
        None if command.whole_session => json!({"wholeSession": true}),
        None => json!({}),
    };
    let call = drive::in_manner(Call::new("file.undo", args), manner);
    let driven = drive::to_the_end(&house, manner, Voices::One, async |runtime, session| {
        runtime.call(session, call).await
    })?;
    call::finish(driven, manner)
}
