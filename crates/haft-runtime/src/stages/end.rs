//! end: the outcome, and listeners hear of it.

use std::mem;
use std::time::Instant;

use haft_core::{EventKind, Outcome, OutcomeBody, Output, ToolError};
use serde_json::Value;

use super::{record, trim};
use crate::flight::{Flight, Landed};

pub(crate) fn call(flight: &mut Flight<'_>, mut output: Output) -> Landed {
    let at = Instant::now();
    let duration = at.saturating_duration_since(flight.started);
    let error = output.error.take().map(ToolError::into_body);
    let mut meta = mem::take(&mut flight.meta);
    let duration_us = duration.as_micros() as u64;
    meta.duration_ms = duration_us as f64 / 1_000.0;
    let shown = match flight.note {
        Some(_) => trim::chars_of(&output.content),
        None => 0,
    };
    flight.cx.emit(EventKind::End {
        ok: error.is_none(),
        code: error.as_ref().map(|error| error.code),
        duration_us,
        chars: meta.total_chars,
    });
    let mut outcome = Outcome::from(OutcomeBody {
        ok: error.is_none(),
        call: flight.cx.tag().clone(),
        content: mem::take(&mut output.content),
        structured: output.structured.take(),
        error,
        meta,
    });
    if flight.account {
        outcome.structured = Some(account(&outcome));
    }
    record::ending(flight, &outcome, duration, shown);
    Landed { outcome, at }
}

/// The answer of a tool that calls others by name, for programs: how the other one did, and what is
/// known of the call. What models read stays as the other tool said it.
fn account(outcome: &Outcome) -> Value {
    let mut metadata = serde_json::to_value(&outcome.meta).unwrap_or_default();
    metadata["tool"] = outcome.tool.as_ref().into();
    let mut account = outcome.account();
    account.insert("metadata".to_owned(), metadata);
    Value::Object(account)
}
