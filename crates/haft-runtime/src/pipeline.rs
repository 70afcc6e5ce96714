//! The way of a call: one function, one line a stage, one file a stage; no stage knows the next.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use haft_core::{Call, ErrorCode, Output, Prepared, ToolError, ToolResult};
use haft_policy::Judgement;
use serde::Serialize;

use crate::Entry;
use crate::flight::{Flight, Gate, Landed};
use crate::stages::{
    approve, available, begin, end, inspect, judge, once, permit, record, reduce, resolve, run,
    schedule, trim, validate,
};

/// Calls that may stand for one another, one behind the other.
const MOST_STEPS: usize = 4;

/// What policy says of a call, without making it.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// Canonical name
    pub tool: String,
    #[serde(flatten)]
    pub judgement: Judgement,
}

/// Every call there is goes through here.
pub(crate) async fn walk(gate: Gate<'_>, call: Call, started: Instant) -> Landed {
    let mut flight = begin::call(gate, call, started);
    let result = unpanicked(pin!(answer(&mut flight))).await;
    let mut output = result.unwrap_or_else(Output::failed);
    let shaped = catch_unwind(AssertUnwindSafe(|| {
        inspect::output(&mut flight, &mut output);
        record::output(&mut flight, &output);
        reduce::output(&mut flight, &mut output);
        trim::output(&mut flight, &mut output);
    }));
    if let Err(panic) = shaped {
        output = Output::failed(panicked(panic));
    }
    end::call(&mut flight, output)
}

/// A panic on the way is an answer too.
fn unpanicked(
    mut answer: Pin<&mut impl Future<Output = ToolResult>>,
) -> impl Future<Output = ToolResult> {
    poll_fn(move |task| {
        catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(task)))
            .unwrap_or_else(|panic| Poll::Ready(Err(panicked(panic))))
    })
}

/// From a name and arguments to what the tool says; the first stage that refuses ends it.
async fn answer(flight: &mut Flight<'_>) -> ToolResult {
    let (tool, prepared) = settle(flight)?;
    let judged = judge::effects(flight, tool, &*prepared)?;
    schedule::turn(flight).await?;
    if let Some(output) = once::answer(flight, tool, &judged).await? {
        return Ok(output);
    }
    let approval = approve::call(flight, &judged).await?;
    flight.cx.unasked = approval.is_none() && haft_policy::reads_around(&judged.effects);
    let approved = run::spend(flight, &judged, approval)?;
    record::intent(flight, &judged.effects).await?;
    run::tool(flight, prepared, &judged, approved).await
}

/// From a name and arguments to a tool that may be called with them. A call that stands for
/// another one gives way to it, and that one starts from the beginning.
fn settle(flight: &mut Flight<'_>) -> Result<(usize, Box<dyn Prepared>), ToolError> {
    for _ in 0..MOST_STEPS {
        let tool = resolve::name(flight)?;
        permit::tool(flight, tool)?;
        available::tool(flight, tool)?;
        let prepared = validate::arguments(flight, tool)?;
        flight.fits(true);
        match prepared.stands_for() {
            None => {
                flight.cx.dry_run |= prepared.rehearses();
                return Ok((tool, prepared));
            }
            Some(call) => flight.give_way(call?),
        }
    }
    Err(
        ToolError::input_invalid("a call that stands for another one again and again")
            .hint("name the tool itself"),
    )
}

/// The stages that decide, without those that act.
pub(crate) fn explain(
    gate: Gate<'_>,
    call: Call,
    with_arguments: bool,
) -> Result<Explanation, ToolError> {
    let mut flight = begin::quietly(gate, call, Instant::now());
    let mut tool = resolve::name(&mut flight)?;
    permit::in_view(&flight, tool)?;
    if with_arguments && flight.view.entry(tool).spec().is_meta() {
        tool = settle(&mut flight)?.0;
    }
    let bound = flight.view.bound(tool).clone();
    let judgement = if with_arguments && bound.visible() {
        let prepared = validate::arguments(&mut flight, tool)?;
        match judge::explained(&flight, &bound, &*prepared) {
            // What the host refuses is refused, whatever the rules say.
            Err(error) if error.code == ErrorCode::Denied => {
                bound.refused("workspace", error.into_body().message)
            }
            explained => explained?,
        }
    } else {
        bound.tool_verdict().clone()
    };
    Ok(Explanation {
        tool: flight.cx.tool.to_string(),
        judgement,
    })
}

/// Whether an interrupted call happened, as its tool tells; none where it cannot.
pub(crate) async fn verify(gate: Gate<'_>, call: Call) -> Option<bool> {
    let mut flight = begin::quietly(gate, call, Instant::now());
    let (tool, prepared) = settle(&mut flight).ok()?;
    judge::effects(&mut flight, tool, &*prepared).ok()?;
    if !flight.view.entry(tool).spec().has_verify {
        return None;
    }
    once::verified(&mut flight, tool).await
}

/// The stages that find.
pub(crate) fn find(gate: Gate<'_>, call: Call) -> Result<Arc<Entry>, ToolError> {
    let mut flight = begin::quietly(gate, call, Instant::now());
    let tool = resolve::name(&mut flight)?;
    permit::tool(&flight, tool)?;
    Ok(flight.view.entry(tool).clone())
}

fn panicked(panic: Box<dyn Any + Send>) -> ToolError {
    let said = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    ToolError::failed(format!("the tool panicked: {said}"))
        .hint("this is a fault in the tool; other tools are not affected")
}
