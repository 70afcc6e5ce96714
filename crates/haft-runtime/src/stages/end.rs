//! end: the outcome, and listeners hear of it.

use haft_core::{EventKind, Outcome, Output, ToolError};

use super::{record, trim};
use crate::flight::Flight;

pub(crate) fn call(flight: &mut Flight<'_>, output: Output) -> Outcome {
    let duration = flight.started.elapsed();
    let error = output.error.map(ToolError::into_body);
    let mut meta = std::mem::take(&mut flight.meta);
    meta.duration_ms = duration.as_micros() as f64 / 1_000.0;
    let shown = match flight.note {
        Some(_) => trim::chars_of(&output.content),
        None => 0,
    };
    flight.cx.emit(EventKind::End {
        ok: error.is_none(),
        code: error.as_ref().map(|error| error.code),
        duration_us: duration.as_micros() as u64,
        chars: meta.total_chars,
    });
    let outcome = Outcome {
        ok: error.is_none(),
        tool: flight.cx.tool.clone(),
        call_id: flight.cx.call_id.clone(),
        content: output.content,
        structured: output.structured,
        error,
        meta,
    };
    record::ending(flight, &outcome, duration, shown);
    outcome
}
