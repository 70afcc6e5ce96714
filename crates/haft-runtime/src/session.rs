//! A caller over time: who it is, what it has at hand, what it may see.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use arc_swap::ArcSwapOption;
use haft_core::{Caller, ToolContext};
use haft_policy::Who;
use tokio::sync::Mutex;

use crate::injection::{Decision, Injection, InjectionMode};
use crate::view::{Filters, Scope, View};
use crate::{Definitions, Entry, Runtime, Shape};

pub struct Session {
    caller: Arc<Caller>,
    who: Who,
    scopes: Vec<Scope>,
    filters: Filters,
    budget: usize,
    turns: AtomicU64,
    view: ArcSwapOption<View>,
    asking: Mutex<()>,
    injection: Injection,
    /// Hidden tools that were found, in the order in which they were
    found: std::sync::Mutex<Vec<Arc<str>>>,
}

impl Session {
    pub(crate) fn new(caller: Caller, who: Who, filters: Filters, budget: usize) -> Self {
        Session {
            caller: Arc::new(caller),
            who,
            scopes: Vec::new(),
            filters,
            budget,
            turns: AtomicU64::new(0),
            view: ArcSwapOption::empty(),
            asking: Mutex::default(),
            injection: Injection::default(),
            found: Default::default(),
        }
    }

    /// How much of its tools a model behind this caller is shown.
    #[must_use]
    pub fn injecting(mut self, injection: Injection) -> Self {
        self.injection = injection;
        self
    }

    /// The same caller with a narrower scope. There is no way to widen.
    #[must_use]
    pub fn scoped(&self, scope: Scope) -> Session {
        let mut scopes = self.scopes.clone();
        scopes.push(scope);
        Session {
            caller: self.caller.clone(),
            who: self.who.clone(),
            scopes,
            filters: self.filters.clone(),
            budget: self.budget,
            turns: AtomicU64::new(self.turns.load(Ordering::Relaxed)),
            view: ArcSwapOption::empty(),
            asking: Mutex::default(),
            injection: self.injection.clone(),
            found: Default::default(),
        }
    }

    pub fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    pub(crate) fn who(&self) -> &Who {
        &self.who
    }

    /// Held while a person is being asked, so that questions come one at a time.
    pub(crate) fn asking(&self) -> &Mutex<()> {
        &self.asking
    }

    /// Characters that one turn's results may take together.
    pub fn budget(&self) -> usize {
        self.budget
    }

    pub(crate) fn turn(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// A new turn of the conversation begins.
    pub fn next_turn(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// The tools as this caller sees them now.
    pub fn view(&self, runtime: &Runtime) -> Arc<View> {
        if let Some(view) = &*self.view.load()
            && runtime.is_current(view)
        {
            return view.clone();
        }
        let snapshot = runtime.registry().snapshot();
        let policy = runtime.policy();
        let view = Arc::new(View::new(
            snapshot,
            policy,
            self.who.clone(),
            self.scopes.clone(),
            self.filters.clone(),
        ));
        self.view.store(Some(view.clone()));
        view
    }

    /// What a model is told, in a provider's shape: byte for byte the same from turn to turn,
    /// unless tools changed; what was found since stands at the end.
    pub fn definitions(&self, runtime: &Runtime, shape: Shape) -> Arc<Definitions> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let cx = self.context("", "");
        self.view(runtime)
            .to_definitions(shape, &cx, &self.injection, &found)
    }

    /// How much of the tools a model is told, and why.
    pub fn decision(&self, runtime: &Runtime) -> Decision {
        let cx = self.context("", "");
        self.view(runtime).decision(&self.injection, &cx)
    }

    /// Whether the model behind this caller has not been shown the schema of every tool.
    pub(crate) fn hides_schemas(&self, view: &View, cx: &ToolContext) -> bool {
        view.mode(&self.injection, cx) != InjectionMode::Direct
    }

    /// A model has learned of these tools: from now on it is told their schemas.
    pub fn note_found(&self, names: impl IntoIterator<Item = Arc<str>>) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names {
            if !found.contains(&name) {
                found.push(name);
            }
        }
    }

    /// Why a tool cannot be called now, if so.
    pub fn unavailable(&self, entry: &Entry) -> Option<String> {
        entry.unavailable(&self.context("", &entry.spec().name))
    }

    /// A context outside any call, to ask tools whether they are available.
    pub(crate) fn context(&self, call_id: &str, tool: &str) -> ToolContext {
        ToolContext::new(
            call_id.into(),
            tool.into(),
            self.caller.clone(),
            self.budget,
            false,
        )
    }
}
