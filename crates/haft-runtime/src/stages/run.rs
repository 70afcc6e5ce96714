//! run: the tool itself, under its deadlines and the caller's cancel token. What was judged is
//! looked at once more, so that the world cannot change between the yes and the deed.

use std::task::Poll;
use std::time::Duration;

use haft_core::{BoxFuture, ErrorCode, Output, Prepared, ToolContext, ToolError, ToolResult};

use super::cancelled;
use serde_json::Value;

use super::judge::Judged;
use crate::approvals::{Approval, digest};
use crate::flight::Flight;
use crate::visible::shortened;

/// Characters of one argument that a dry run repeats.
const ARGUMENT: usize = 500;

pub(crate) async fn tool(
    flight: &Flight<'_>,
    prepared: Box<dyn Prepared>,
    judged: &Judged,
    approval: Option<Approval>,
) -> ToolResult {
    let approved = approval.is_some();
    recheck(flight, &*prepared, judged, approval)?;
    let limits = Limits::of(flight);
    if !flight.cx.dry_run {
        return within(limits, &flight.cx, prepared.run(&flight.cx)).await;
    }
    let previews = flight.entry().is_some_and(|entry| entry.spec().has_preview);
    // A preview that runs a command is as good as a run: what asks is asked first.
    let may = judged.effects.commands.is_empty() || judged.ask.is_none() || approved;
    if previews && may {
        return within(limits, &flight.cx, prepared.preview(&flight.cx)).await;
    }
    Ok(would_be_called(flight))
}

fn recheck(
    flight: &Flight<'_>,
    prepared: &dyn Prepared,
    judged: &Judged,
    approval: Option<Approval>,
) -> Result<(), ToolError> {
    if flight.cx.cancel.is_cancelled() {
        return Err(cancelled());
    }
    if !judged.effects.is_none() && prepared.effects(&flight.cx)? != *judged.effects {
        return Err(
            ToolError::conflict("what the call touches has changed since it was judged")
                .hint("make the call again"),
        );
    }
    let Some(Approval(id)) = approval else {
        return Ok(());
    };
    let now = digest(
        &flight.cx,
        &flight.args,
        &judged.effects,
        &flight.runtime.policy(),
    );
    flight
        .runtime
        .approvals()
        .consume(&id, now)
        .map_err(|error| {
            ToolError::conflict(format!("the approval does not count: {error}"))
                .hint("make the call again")
        })
}

struct Limits {
    hard: Duration,
    idle: Option<Duration>,
    grace: Duration,
}

impl Limits {
    /// The tool's own deadline or the usual one; the caller may shorten it, config clamps it.
    fn of(flight: &Flight<'_>) -> Self {
        let config = flight.runtime.config();
        let spec = flight.entry().map(|entry| entry.spec());
        let stated = spec.and_then(|spec| spec.timeout).unwrap_or(config.timeout);
        let hard = [flight.timeout, config.max_timeout]
            .into_iter()
            .flatten()
            .fold(stated, Ord::min);
        Limits {
            hard,
            idle: spec.and_then(|spec| spec.idle_timeout),
            grace: config.grace,
        }
    }
}

/// Drive the work until it ends, a deadline passes or the caller gives up. Then the tool is told
/// to stop and has a moment to say how far it came; after that it is dropped.
async fn within(limits: Limits, cx: &ToolContext, work: BoxFuture<'_, ToolResult>) -> ToolResult {
    let mut work = work;
    // A tool that answers at once arms no timer, nor carries the room for one.
    let at_once = std::future::poll_fn(|task| Poll::Ready(work.as_mut().poll(task))).await;
    match at_once {
        Poll::Ready(result) => result,
        Poll::Pending => Box::pin(watched(limits, cx, work)).await,
    }
}

async fn watched(
    limits: Limits,
    cx: &ToolContext,
    mut work: BoxFuture<'_, ToolResult>,
) -> ToolResult {
    let stopped = tokio::select! {
        biased;
        result = work.as_mut() => {
            // A tool that heard of it and stopped by itself was cancelled all the same.
            let heard = cx.cancel.is_cancelled();
            return result.map(|output| if heard { output.but_failed(cancelled()) } else { output });
        }
        () = cx.cancel.cancelled() => cancelled(),
        () = tokio::time::sleep(limits.hard) => timed_out(limits.hard),
        quiet = silence(limits.idle, cx) => idle_too_long(quiet),
    };
    match stopped.code {
        ErrorCode::TimedOut => cx.time_is_up(),
        _ => cx.cancel.cancel(),
    }
    match tokio::time::timeout(limits.grace, work).await {
        Ok(Ok(output)) => Ok(output.but_failed(stopped)),
        Ok(Err(_)) | Err(_) => Err(stopped),
    }
}

/// Resolves when the tool has shown no sign of life for this long.
async fn silence(idle: Option<Duration>, cx: &ToolContext) -> Duration {
    let Some(idle) = idle else {
        return std::future::pending().await;
    };
    loop {
        let seen = cx.activity();
        tokio::time::sleep(idle).await;
        if cx.activity() == seen {
            return idle;
        }
    }
}

fn timed_out(limit: Duration) -> ToolError {
    ToolError::new(
        ErrorCode::TimedOut,
        format!("no answer within {} ms", limit.as_millis()),
    )
    .hint("ask for less at once, or allow it more time")
}

fn idle_too_long(limit: Duration) -> ToolError {
    ToolError::new(
        ErrorCode::TimedOut,
        format!("no sign of life for {} ms", limit.as_millis()),
    )
}

fn would_be_called(flight: &Flight<'_>) -> Output {
    let mut shown = Value::clone(&flight.args);
    for value in shown
        .as_object_mut()
        .into_iter()
        .flat_map(|args| args.values_mut())
    {
        if let Some(text) = value.as_str() {
            *value = shortened(text, ARGUMENT).into_owned().into();
        }
    }
    Output::text(format!(
        "[dry-run] {} would be called with: {shown}",
        flight.cx.tool
    ))
}
