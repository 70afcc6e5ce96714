//! The door for tools that call tools: the same pipeline, as the same caller. A nested call gets
//! its caller's view, policy, approvals and person; it ends with the call around it and lives on
//! a share of that one's budget.

use std::sync::{Arc, Weak};
use std::time::Duration;

use haft_core::{
    BoxFuture, Call, CallTools, Caller, Category, Door, FoundTools, Inquiry, Outcome, Powers, Run,
    ToolCard, ToolContext, ToolError, Within,
};
use haft_policy::Who;
use serde_json::Value;

use crate::session::Standing;
use crate::{Entry, Filters, Injection, Runtime, Scope, Session, visible};

/// Calls may be made inside calls, and inside those; no deeper.
const DEEPEST: u8 = 2;
/// Characters of a model's question that a person is shown.
const INQUIRY: usize = 20_000;

/// A caller about to enter.
pub struct Seat {
    pub caller: Caller,
    pub who: Who,
    pub filters: Filters,
    pub injection: Injection,
    /// Later calls can ask about what earlier ones have started
    pub background: bool,
}

impl Runtime {
    /// A caller enters who may call tools through tools.
    pub fn enter(self: &Arc<Self>, seat: Seat) -> Session {
        let session = self
            .session(seat.caller, seat.who, seat.filters)
            .injecting(seat.injection);
        seated(session, Arc::downgrade(self), seat.background)
    }
}

impl Session {
    /// How much of its tools a model behind this caller is shown.
    #[must_use]
    pub fn injecting(&self, injection: Injection) -> Session {
        self.apart(self.scopes().to_vec(), injection)
    }

    /// The same caller with a narrower scope. There is no way to widen: its tools that call
    /// tools do so in the narrower scope.
    #[must_use]
    pub fn scoped(&self, scope: Scope) -> Session {
        let mut scopes = self.scopes().to_vec();
        scopes.push(scope);
        self.apart(scopes, self.injection().clone())
    }

    fn apart(&self, scopes: Vec<Scope>, injection: Injection) -> Session {
        let apart = self.standing_apart(scopes, injection);
        match self.behind().get() {
            Some((runtime, background)) => seated(apart, runtime.clone(), *background),
            None => apart,
        }
    }

    /// End what goes on in the background, and wait a moment for it.
    pub async fn end_runs(&self, patience: Duration) {
        self.runs().end_all(patience).await;
    }
}

/// The session with a door of its own, in the place of any other.
fn seated(session: Session, runtime: Weak<Runtime>, background: bool) -> Session {
    let standing = session.standing().clone();
    let door = SessionDoor {
        runtime: runtime.clone(),
        standing: standing.clone(),
    };
    let mut caller = Caller::clone(session.caller());
    let mut powers = Powers::clone(&caller.powers);
    powers.insert(CallTools::new(Arc::new(door), background));
    caller.powers = Arc::new(powers);
    // Invariant: a standing is seated once, when it is made.
    let _ = session.behind().set((runtime, background));
    Session::of(Arc::new(caller), standing)
}

struct SessionDoor {
    runtime: Weak<Runtime>,
    standing: Arc<Standing>,
}

impl SessionDoor {
    /// The session as the caller of this call has it, with its person and its listeners.
    fn open(&self, cx: &ToolContext) -> Result<(Arc<Runtime>, Session), ToolError> {
        let runtime = self.runtime.upgrade().ok_or_else(closed)?;
        let session = Session::of(cx.caller.clone(), self.standing.clone());
        Ok((runtime, session))
    }
}

fn closed() -> ToolError {
    ToolError::not_available("the session is over")
}

/// What another tool may know of a tool.
fn card(runtime: &Runtime, session: &Session, entry: &Entry, score: Option<f32>) -> ToolCard {
    let mut spec = entry.spec().clone();
    spec.source = entry.source().clone();
    let policy = runtime
        .explain(session, &spec.name, None)
        .map_or("deny", |explained| explained.judgement.verdict.as_str());
    ToolCard {
        spec,
        policy,
        score,
    }
}

fn nested(call: Call, cx: &ToolContext) -> Result<Call, ToolError> {
    if cx.depth >= DEEPEST {
        return Err(
            ToolError::input_invalid("tools that call tools are nested too deeply")
                .hint("make these calls one level further out"),
        );
    }
    Ok(Call {
        dry_run: call.dry_run || cx.dry_run,
        within: Some(Within {
            cancel: cx.cancel.clone(),
            depth: cx.depth + 1,
        }),
        ..call
    })
}

impl Door for SessionDoor {
    fn search(&self, query: &str, limit: usize, cx: &ToolContext) -> Result<FoundTools, ToolError> {
        let (runtime, session) = self.open(cx)?;
        let found = runtime.search(&session, query, limit);
        let hits = found.hits.iter().filter(|_| !found.nothing_fits);
        let tools: Vec<ToolCard> = hits
            .map(|hit| card(&runtime, &session, &hit.entry, Some(hit.score)))
            .collect();
        session.note_found(tools.iter().map(|tool| tool.spec.name.clone()));
        let categories = found.categories.into_iter();
        Ok(FoundTools {
            tools,
            nothing_fits: found.nothing_fits,
            categories: categories.map(|(name, _)| name).collect(),
        })
    }

    fn look_up(&self, name: &str, cx: &ToolContext) -> Result<ToolCard, ToolError> {
        let (runtime, session) = self.open(cx)?;
        let entry = runtime.find(&session, name)?;
        if let Some(reason) = session.unavailable(&entry) {
            return Err(ToolError::not_available(format!(
                "`{}` is not currently available: {reason}",
                entry.spec().name
            )));
        }
        session.note_found([entry.spec().name.clone()]);
        Ok(card(&runtime, &session, &entry, None))
    }

    fn categories(&self, cx: &ToolContext) -> Result<Vec<Category>, ToolError> {
        let (runtime, session) = self.open(cx)?;
        Ok(runtime.categories(&session))
    }

    fn of_category(&self, category: &str, cx: &ToolContext) -> Result<Vec<ToolCard>, ToolError> {
        let (runtime, session) = self.open(cx)?;
        let entries = runtime.of_category(&session, category);
        let cards = entries
            .iter()
            .map(|entry| card(&runtime, &session, entry, None));
        Ok(cards.collect())
    }

    fn call_all<'a>(
        &'a self,
        calls: Vec<Call>,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Vec<Outcome>, ToolError>> {
        Box::pin(async move {
            let (runtime, session) = self.open(cx)?;
            let calls = calls
                .into_iter()
                .map(|call| nested(call, cx))
                .collect::<Result<Vec<_>, _>>()?;
            Ok(runtime
                .execute_within(&session, calls, cx.result_budget)
                .await)
        })
    }

    fn start(&self, call: Call, cx: &ToolContext) -> Result<Run, ToolError> {
        let (runtime, session) = self.open(cx)?;
        let cancel = session.caller().cancel.child();
        let mut call = nested(call, cx)?;
        if let Some(within) = &mut call.within {
            within.cancel = cancel.clone();
        }
        let id = session.runs().open(call.name.clone(), cancel)?;
        let own = id.clone();
        // Kept by its token: whoever ends the session ends it, and waits for it.
        tokio::spawn(async move {
            let outcome = runtime.call(&session, call).await;
            session.runs().end(&own, outcome);
        });
        self.standing.runs().get(&id).ok_or_else(closed)
    }

    fn run(&self, id: &str) -> Option<Run> {
        self.standing.runs().get(id)
    }

    fn runs(&self) -> Vec<Run> {
        self.standing.runs().list()
    }

    fn wait<'a>(
        &'a self,
        id: &'a str,
        patience: Duration,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Option<Run>> {
        let runs = self.standing.runs();
        Box::pin(async move {
            tokio::select! {
                run = runs.wait(id, patience) => run,
                () = cx.cancel.cancelled() => runs.get(id),
            }
        })
    }

    fn cancel(&self, id: &str) -> Option<Run> {
        self.standing.runs().cancel(id)
    }

    fn inquire<'a>(
        &'a self,
        mut inquiry: Inquiry,
        patience: Duration,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move {
            make_visible(&mut inquiry.params);
            let (_, session) = self.open(cx).ok()?;
            let asked = async {
                // Questions come one at a time, approvals among them.
                let _alone = session.asking().lock().await;
                cx.inquire(&inquiry).await
            };
            tokio::select! {
                reply = tokio::time::timeout(patience, asked) => reply.ok().flatten(),
                () = cx.cancel.cancelled() => None,
            }
        })
    }
}

/// What a model wrote, as a person may safely see it.
fn make_visible(value: &mut Value) {
    match value {
        Value::String(text) => {
            let shown: String = visible(text).chars().take(INQUIRY).collect();
            *text = shown;
        }
        Value::Array(items) => items.iter_mut().for_each(make_visible),
        Value::Object(map) => map.values_mut().for_each(make_visible),
        _ => {}
    }
}
