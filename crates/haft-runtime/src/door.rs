//! The one door: every call of every front end comes in here.

use std::sync::Arc;

use futures_util::future::join_all;
use haft_core::{Call, Caller, Outcome, ToolError};
use haft_policy::{Judgement, Who};
use serde::Serialize;
use serde_json::Value;

use crate::{Entry, Filters, Runtime, Session, pipeline};

/// What policy says of a call, without making it.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// Canonical name
    pub tool: String,
    #[serde(flatten)]
    pub judgement: Judgement,
}

impl Runtime {
    /// A caller enters.
    pub fn session(&self, caller: Caller, who: Who, filters: Filters) -> Session {
        Session::new(caller, who, filters, self.config().result_budget)
    }

    /// Make one call. The answer is always an outcome.
    pub async fn call(&self, session: &Session, call: Call) -> Outcome {
        let ticket = self.ticket(&session.caller().session);
        pipeline::walk(self, session, call, ticket, session.budget()).await
    }

    /// Make many calls at once: they overlap unless their effects conflict, and then run in the
    /// order given. Results come in that order too, and share the session's budget evenly.
    pub async fn execute_parallel(&self, session: &Session, calls: Vec<Call>) -> Vec<Outcome> {
        let share = session.budget() / calls.len().max(1);
        let tickets: Vec<_> = calls
            .iter()
            .map(|_| self.ticket(&session.caller().session))
            .collect();
        let walks = calls
            .into_iter()
            .zip(tickets)
            .map(|(call, ticket)| pipeline::walk(self, session, call, ticket, share));
        join_all(walks).await
    }

    /// The tool that a name leads to, if this caller may see it.
    pub fn find(&self, session: &Session, name: &str) -> Result<Arc<Entry>, ToolError> {
        pipeline::find(self, session, Call::new(name, Value::Null))
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
