//! The one door: every call of every front end comes in here.

use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::future::OptionFuture;
use futures_util::stream::FuturesUnordered;
use haft_core::{Call, Caller, Outcome, ToolError};
use haft_policy::Who;
use serde_json::Value;

use crate::flight::{Gate, Landed};
use crate::scheduler::Lane;
use crate::{Entry, Explanation, Filters, Runtime, Session, View, pipeline};

impl Runtime {
    /// A caller enters.
    pub fn session(&self, caller: Caller, who: Who, filters: Filters) -> Session {
        Session::new(caller, who, filters, self.config().result_budget)
    }

    /// Make one call. The answer is always an outcome.
    pub async fn call(&self, session: &Session, call: Call) -> Outcome {
        let view = self.view_for(session, std::slice::from_ref(&call)).await;
        let landed = pipeline::walk(self.gate(session, &view), call, Instant::now()).await;
        landed.outcome
    }

    /// Make many calls at once: they overlap unless their effects conflict, and then run in the
    /// order given. Results come in that order too, and share the session's budget evenly.
    pub async fn execute_parallel(&self, session: &Session, calls: Vec<Call>) -> Vec<Outcome> {
        let view = self.view_for(session, &calls).await;
        execute(self.gate(session, &view), calls).await
    }

    /// The same for calls that another call makes, on its budget. That call holds its place in the
    /// order, so these are ordered among themselves.
    pub(crate) async fn execute_within(
        &self,
        session: &Session,
        calls: Vec<Call>,
        budget: usize,
    ) -> Vec<Outcome> {
        let view = self.view_for(session, &calls).await;
        let gate = Gate {
            lane: self.scheduler().nested(session.key()),
            budget,
            ..self.gate(session, &view)
        };
        execute(gate, calls).await
    }

    fn gate<'a>(&'a self, session: &'a Session, view: &'a View) -> Gate<'a> {
        Gate {
            runtime: self,
            session,
            view,
            lane: Lane::of(session.key()),
            budget: session.budget(),
        }
    }

    /// The tool that a name leads to, if this caller may see it.
    pub fn find(&self, session: &Session, name: &str) -> Result<Arc<Entry>, ToolError> {
        let view = session.view(self);
        pipeline::find(self.gate(session, &view), Call::new(name, Value::Null))
    }

    /// Whether an interrupted call happened, if its tool can tell. Nothing is changed.
    pub async fn verify(&self, session: &Session, call: Call) -> Option<bool> {
        let view = session.view(self);
        pipeline::verify(self.gate(session, &view), call).await
    }

    /// What policy would say: of the tool alone, or of exactly these arguments.
    pub fn explain(
        &self,
        session: &Session,
        name: &str,
        args: Option<&Value>,
    ) -> Result<Explanation, ToolError> {
        let call = Call::new(name, args.cloned().unwrap_or_default());
        let view = session.view(self);
        pipeline::explain(self.gate(session, &view), call, args.is_some())
    }
}

async fn execute(mut gate: Gate<'_>, calls: Vec<Call>) -> Vec<Outcome> {
    gate.budget /= calls.len().max(1);
    let mut answered = Answers::of(calls.len());
    let mut waiting = FuturesUnordered::new();
    // Most calls end without ever having to wait: they walk in one place, one after the other.
    // One begins when the one before it has ended or waits.
    let mut walk = Box::pin(OptionFuture::default());
    let mut now = Instant::now();
    for (place, call) in calls.into_iter().enumerate() {
        walk.set(Some(pipeline::walk(gate, call, now)).into());
        match poll_fn(|task| Poll::Ready(walk.as_mut().poll(task))).await {
            Poll::Ready(landed) => now = answered.add(place, landed).unwrap_or(now),
            Poll::Pending => {
                let waits = mem::replace(&mut walk, Box::pin(OptionFuture::default()));
                waiting.push(async move { (place, waits.await) });
                now = Instant::now();
            }
        }
    }
    while let Some((place, landed)) = waiting.next().await {
        answered.add(place, landed);
    }
    answered.in_order()
}

/// Outcomes as they come in.
struct Answers {
    outcomes: Vec<Outcome>,
    /// Where each of them belongs
    places: Vec<usize>,
}

impl Answers {
    fn of(calls: usize) -> Self {
        Answers {
            outcomes: Vec::with_capacity(calls),
            places: Vec::with_capacity(calls),
        }
    }

    /// Tells when it ended.
    fn add(&mut self, place: usize, landed: Option<Landed>) -> Option<Instant> {
        let Landed { outcome, at } = landed?;
        self.outcomes.push(outcome);
        self.places.push(place);
        Some(at)
    }

    fn in_order(mut self) -> Vec<Outcome> {
        for here in 0..self.places.len() {
            while self.places[here] != here {
                let there = self.places[here];
                self.outcomes.swap(here, there);
                self.places.swap(here, there);
            }
        }
        self.outcomes
    }
}
