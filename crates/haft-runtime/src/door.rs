//! The one door: every call of every front end comes in here.

use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::future::OptionFuture;
use futures_util::stream::FuturesUnordered;
use haft_core::{Call, Caller, Outcome, ToolError};
use haft_policy::Who;
use serde_json::Value;

use crate::scheduler::Ticket;
use crate::{Entry, Explanation, Filters, Runtime, Session, pipeline};

impl Runtime {
    /// A caller enters.
    pub fn session(&self, caller: Caller, who: Who, filters: Filters) -> Session {
        Session::new(caller, who, filters, self.config().result_budget)
    }

    /// Make one call. The answer is always an outcome.
    pub async fn call(&self, session: &Session, call: Call) -> Outcome {
        let ticket = self.ticket(session);
        pipeline::walk(self, session, call, ticket, session.budget()).await
    }

    /// Make many calls at once: they overlap unless their effects conflict, and then run in the
    /// order given. Results come in that order too, and share the session's budget evenly.
    pub async fn execute_parallel(&self, session: &Session, calls: Vec<Call>) -> Vec<Outcome> {
        let tickets: Vec<_> = calls.iter().map(|_| self.ticket(session)).collect();
        self.execute(session, calls, tickets, session.budget())
            .await
    }

    /// The same for calls that another call makes, on its budget. That call holds its place in the
    /// order, so these are ordered among themselves.
    pub(crate) async fn execute_within(
        &self,
        session: &Session,
        calls: Vec<Call>,
        budget: usize,
    ) -> Vec<Outcome> {
        let scheduler = self.scheduler();
        let group = scheduler.group();
        let tickets: Vec<_> = calls
            .iter()
            .map(|_| scheduler.nested(session.key(), group))
            .collect();
        self.execute(session, calls, tickets, budget).await
    }

    async fn execute(
        &self,
        session: &Session,
        calls: Vec<Call>,
        tickets: Vec<Ticket<'_>>,
        budget: usize,
    ) -> Vec<Outcome> {
        let share = budget / calls.len().max(1);
        let mut answered = Answers::of(calls.len());
        let mut waiting = FuturesUnordered::new();
        // Most calls end without ever having to wait: they walk in one place, one after the other.
        let mut walk = Box::pin(OptionFuture::default());
        for (place, (call, ticket)) in calls.into_iter().zip(tickets).enumerate() {
            walk.set(Some(pipeline::walk(self, session, call, ticket, share)).into());
            match poll_fn(|task| Poll::Ready(walk.as_mut().poll(task))).await {
                Poll::Ready(outcome) => answered.add(place, outcome),
                Poll::Pending => {
                    let waits = mem::replace(&mut walk, Box::pin(OptionFuture::default()));
                    waiting.push(async move { (place, waits.await) });
                }
            }
        }
        while let Some((place, outcome)) = waiting.next().await {
            answered.add(place, outcome);
        }
        answered.in_order()
    }

    /// A place in the order of calls.
    pub(crate) fn ticket(&self, session: &Session) -> Ticket<'_> {
        self.scheduler().ticket(session.key())
    }

    /// The tool that a name leads to, if this caller may see it.
    pub fn find(&self, session: &Session, name: &str) -> Result<Arc<Entry>, ToolError> {
        pipeline::find(self, session, Call::new(name, Value::Null))
    }

    /// Whether an interrupted call happened, if its tool can tell. Nothing is changed.
    pub async fn verify(&self, session: &Session, call: Call) -> Option<bool> {
        pipeline::verify(self, session, call).await
    }

    /// What policy would say: of the tool alone, or of exactly these arguments.
    pub fn explain(
        &self,
        session: &Session,
        name: &str,
        args: Option<&Value>,
    ) -> Result<Explanation, ToolError> {
        let call = Call::new(name, args.cloned().unwrap_or_default());
        pipeline::explain(self, session, call, args.is_some())
    }
}

/// Outcomes as they come in. They are large, so each is put down once, and moved again only where
/// it came out of turn.
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

    fn add(&mut self, place: usize, outcome: Option<Outcome>) {
        if let Some(outcome) = outcome {
            self.outcomes.push(outcome);
            self.places.push(place);
        }
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
