//! reduce: the tool's reducer, if it has one. What it leaves out stays readable behind a handle.

use haft_core::{Output, ReduceContext};

use super::trim::keep_whole;
use crate::flight::Flight;

pub(crate) fn output(flight: &mut Flight<'_>, output: Output) -> Output {
    let cx = ReduceContext {
        args: &flight.args,
        turn: flight.session.turn(),
    };
    let Some(mut reduced) = flight
        .runtime
        .reducers()
        .reduce(&flight.cx.tool, &output, cx)
    else {
        return output;
    };
    let chars = super::trim::chars(&output);
    keep_whole(flight, &output);
    flight.meta.reduced = true;
    reduced.total_chars = Some(output.total_chars.unwrap_or(chars).max(chars));
    reduced.handle = output.handle;
    reduced.error = output.error;
    reduced
}
