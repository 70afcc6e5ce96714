//! begin: the call gets its context, and listeners hear of it.

use std::time::Instant;

use haft_core::{Call, EventKind, Meta, ToolContext};

use crate::flight::{Flight, Gate};
use crate::ids;

pub(crate) fn call(gate: Gate<'_>, call: Call, started: Instant) -> Flight<'_> {
    let dry_run = call.dry_run;
    let mut flight = quietly(gate, call, started);
    flight.note = gate.runtime.recorder().map(|_| Box::default());
    flight.cx.emit(EventKind::Begin { dry_run });
    flight
}

/// The same without telling anyone.
pub(crate) fn quietly(gate: Gate<'_>, call: Call, started: Instant) -> Flight<'_> {
    let call_id = call.id.map_or_else(|| ids::call_id(started), Into::into);
    let caller = gate.session.caller().clone();
    let mut cx = ToolContext::new(call_id, call.name, caller, gate.budget, call.dry_run);
    cx.key = call.key;
    if let Some(within) = &call.within {
        cx.enter(within);
    }
    Flight {
        runtime: gate.runtime,
        session: gate.session,
        view: gate.view,
        args: call.args,
        timeout: call.timeout,
        cx,
        lane: gate.lane,
        ticket: None,
        started,
        found: None,
        meta: Meta::default(),
        account: false,
        note: None,
    }
}
