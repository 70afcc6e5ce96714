//! begin: the call gets its context, and listeners hear of it.

use std::time::Instant;

use haft_core::{Call, EventKind, Meta, ToolContext};

use crate::flight::Flight;
use crate::scheduler::Ticket;
use crate::{Runtime, Session, ids};

pub(crate) fn call<'a>(
    runtime: &'a Runtime,
    session: &'a Session,
    call: Call,
    ticket: Ticket<'a>,
    budget: usize,
) -> Flight<'a> {
    let dry_run = call.dry_run;
    let mut flight = quietly(runtime, session, call, ticket, budget);
    flight.note = runtime.recorder().map(|_| Box::default());
    flight.cx.emit(EventKind::Begin { dry_run });
    flight
}

/// The same without telling anyone.
pub(crate) fn quietly<'a>(
    runtime: &'a Runtime,
    session: &'a Session,
    call: Call,
    ticket: Ticket<'a>,
    budget: usize,
) -> Flight<'a> {
    let started = Instant::now();
    let call_id = call.id.map_or_else(|| ids::call_id(started), Into::into);
    let caller = session.caller().clone();
    let mut cx = ToolContext::new(call_id, call.name, caller, budget, call.dry_run);
    cx.key = call.key;
    if let Some(within) = &call.within {
        cx.enter(within);
    }
    Flight {
        runtime,
        session,
        view: session.view(runtime),
        args: call.args,
        timeout: call.timeout,
        cx,
        ticket,
        started,
        found: None,
        meta: Meta::default(),
        note: None,
    }
}
