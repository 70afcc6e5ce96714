//! reduce: the tool's reducer, if it has one. What it leaves out stays readable behind a handle.

use haft_core::{Output, ReduceContext};

use super::record;
use super::trim::keep_whole;
use crate::flight::Flight;

pub(crate) fn output(flight: &mut Flight<'_>, output: &mut Output) {
    if flight.session.is_unshortened() {
        return;
    }
    let cx = ReduceContext {
        args: &flight.args,
        turn: flight.session.turn(),
    };
    let Some(mut reduced) = flight
        .runtime
        .reducers()
        .reduce(&flight.cx.tool, output, cx)
    else {
        return;
    };
    if let Some(told) = not_worth_it(flight) {
        // It is part of the notice, so that trimming does not take it for a part of the result.
        if let Some(note) = &mut flight.note {
            note.unreduced = Some(told);
        }
        return;
    }
    let chars = super::trim::chars(output);
    keep_whole(flight, output);
    flight.meta.reduced = true;
    reduced.total_chars = Some(output.total_chars.unwrap_or(chars).max(chars));
    reduced.handle = output.handle.take();
    reduced.error = output.error.take();
    *output = reduced;
}

/// Why the output is left whole: what was left out of others like it kept being read again.
fn not_worth_it(flight: &Flight<'_>) -> Option<String> {
    let recorder = flight.runtime.recorder()?;
    let subject = record::subject(flight);
    recorder
        .keeps_being_read(&subject)
        .then(|| format!("[not shortened: shortened results of `{subject}` kept being read again]"))
}
