//! How long a call may take: deadlines, the caller's cancel token, and a moment to tidy up.

use std::future::poll_fn;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use haft_core::{BoxFuture, Effects, ErrorCode, Prepared, ToolContext, ToolError, ToolResult};

use super::cancelled;
use crate::flight::Flight;

#[derive(Clone, Copy)]
pub(super) struct Limits {
    hard: Duration,
    idle: Option<Duration>,
    grace: Duration,
    surveys: bool,
}

impl Limits {
    /// The tool's own deadline or the usual one; the caller may shorten it, config clamps it.
    pub(super) fn of(flight: &Flight<'_>) -> Self {
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
            surveys: spec.is_some_and(|spec| spec.surveys),
        }
    }
}

/// What the call touches, found within its deadline.
pub(super) fn effects(flight: &Flight<'_>, prepared: &dyn Prepared) -> Result<Effects, ToolError> {
    if !flight.entry().is_some_and(|entry| entry.spec().surveys) {
        return prepared.effects(&flight.cx);
    }
    let limits = Limits::of(flight);
    let found = overseen(limits.hard, &flight.cx, || prepared.effects(&flight.cx));
    found.map_err(|error| match flight.cx.timed_out() {
        true => timed_out(limits.hard),
        false => error,
    })
}

/// A step that keeps its thread busy: no timer of the runtime could stop it, so a thread of its
/// own watches the clock and cancels the call when the time is up.
fn overseen<T>(limit: Duration, cx: &ToolContext, step: impl FnOnce() -> T) -> T {
    let (busy, over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        // Let go with the step, even if that panics.
        let _busy = busy;
        scope.spawn(move || {
            if over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                cx.cancel.time_is_up();
            }
        });
        step()
    })
}

/// Drive the work until it ends, a deadline passes or the caller gives up. Then the tool is told
/// to stop and has a moment to say how far it came; after that it is dropped.
pub(super) fn within<'a>(
    limits: Limits,
    cx: &'a ToolContext,
    work: BoxFuture<'a, ToolResult>,
) -> impl Future<Output = ToolResult> {
    // A tool that answers at once arms no timer, nor carries the room for one.
    let mut fresh = Some(work);
    let mut waits: Option<BoxFuture<'a, ToolResult>> = None;
    poll_fn(move |task| {
        if let Some(mut work) = fresh.take() {
            let polled = match limits.surveys {
                true => overseen(limits.hard, cx, || work.as_mut().poll(task)),
                false => work.as_mut().poll(task),
            };
            match polled {
                Poll::Ready(Err(_)) if cx.timed_out() => {
                    return Poll::Ready(Err(timed_out(limits.hard)));
                }
                Poll::Pending => waits = Some(Box::pin(watched(limits, cx, work))),
                ready => return ready,
            }
        }
        match &mut waits {
            Some(waits) => waits.as_mut().poll(task),
            None => Poll::Pending,
        }
    })
}

/// Work that has just been looked at and waits.
async fn watched(
    limits: Limits,
    cx: &ToolContext,
    mut work: BoxFuture<'_, ToolResult>,
) -> ToolResult {
    // Where its share of turns is used up, nothing below is looked at now: it has to be the next time.
    let mut looked_at = tokio::task::coop::has_budget_remaining();
    let done = poll_fn(|task| match std::mem::take(&mut looked_at) {
        true => Poll::Pending,
        false => work.as_mut().poll(task),
    });
    let stopped = tokio::select! {
        biased;
        result = done => {
            // A tool that heard of it and stopped by itself was cancelled all the same.
            let heard = cx.cancel.is_cancelled();
            return result.map(|output| if heard { output.but_failed(cancelled()) } else { output });
        }
        () = cx.cancel.cancelled() => cancelled(),
        () = tokio::time::sleep(limits.hard) => timed_out(limits.hard),
        quiet = silence(limits.idle, cx) => idle_too_long(quiet),
    };
    match stopped.code {
        ErrorCode::TimedOut => cx.cancel.time_is_up(),
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
