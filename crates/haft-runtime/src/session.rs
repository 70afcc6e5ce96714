//! A caller over time: who it is, what it has at hand, what it may see.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use arc_swap::ArcSwapOption;
use foldhash::fast::FixedState;
use haft_core::{Caller, CancelToken, EventSink, Person, ToolContext};
use haft_policy::Who;
use tokio::sync::{Mutex, watch};

use crate::injection::{Decision, Injection, InjectionMode};
use crate::runs::Runs;
use crate::view::{Filters, Scope, View};
use crate::{Definitions, Entry, Runtime, Shape};

pub struct Session {
    caller: Arc<Caller>,
    /// Made from the session's name: equal names, equal keys
    key: u64,
    standing: Arc<Standing>,
    /// Results are given whole up to this many characters
    whole: Option<usize>,
}

/// What stays the same from one request of a session to the next.
pub(crate) struct Standing {
    who: Who,
    scopes: Vec<Scope>,
    filters: Filters,
    budget: usize,
    injection: Injection,
    turns: AtomicU64,
    view: ArcSwapOption<View>,
    asking: Mutex<()>,
    /// Hidden tools that were found, in the order in which they were
    found: watch::Sender<Vec<Arc<str>>>,
    /// What its calls have started in the background
    runs: Runs,
    /// Where its tools that call tools go, and whether they may leave something behind
    behind: OnceLock<(Weak<Runtime>, bool)>,
}

impl Standing {
    pub(crate) fn runs(&self) -> &Runs {
        &self.runs
    }
}

impl Session {
    pub(crate) fn new(caller: Caller, who: Who, filters: Filters, budget: usize) -> Self {
        Session {
            key: key_of(&caller),
            caller: Arc::new(caller),
            standing: Arc::new(Standing {
                who,
                scopes: Vec::new(),
                filters,
                budget,
                injection: Injection::default(),
                turns: AtomicU64::new(0),
                view: ArcSwapOption::empty(),
                asking: Mutex::default(),
                found: Default::default(),
                runs: Runs::default(),
                behind: OnceLock::new(),
            }),
            whole: None,
        }
    }

    /// A caller with the standing of a session.
    pub(crate) fn of(caller: Arc<Caller>, standing: Arc<Standing>) -> Self {
        Session {
            key: key_of(&caller),
            caller,
            standing,
            whole: None,
        }
    }

    pub(crate) fn standing(&self) -> &Arc<Standing> {
        &self.standing
    }

    pub(crate) fn runs(&self) -> &Runs {
        &self.standing.runs
    }

    pub(crate) fn behind(&self) -> &OnceLock<(Weak<Runtime>, bool)> {
        &self.standing.behind
    }

    pub(crate) fn scopes(&self) -> &[Scope] {
        &self.standing.scopes
    }

    pub fn injection(&self) -> &Injection {
        &self.standing.injection
    }

    /// The same caller, with nothing shared. Its powers still reach as far as they did: whoever
    /// narrows gives it others.
    pub(crate) fn standing_apart(&self, scopes: Vec<Scope>, injection: Injection) -> Session {
        let standing = &self.standing;
        Session {
            caller: self.caller.clone(),
            key: self.key,
            standing: Arc::new(Standing {
                who: standing.who.clone(),
                scopes,
                filters: standing.filters.clone(),
                budget: standing.budget,
                injection,
                turns: AtomicU64::new(standing.turns.load(Ordering::Relaxed)),
                view: ArcSwapOption::empty(),
                asking: Mutex::default(),
                found: Default::default(),
                runs: Runs::default(),
                behind: OnceLock::new(),
            }),
            whole: None,
        }
    }

    /// The same session, seen from one request: with its own cancel token, listener or person.
    /// Who calls and what they may see stay as they are.
    #[must_use]
    pub fn for_request(
        &self,
        cancel: CancelToken,
        person: Option<Arc<dyn Person>>,
        events: Option<Arc<dyn EventSink>>,
    ) -> Session {
        let mut caller = Caller::clone(&self.caller);
        caller.cancel = cancel;
        caller.person = person;
        if let Some(events) = events {
            caller.events = events;
        }
        Session {
            caller: Arc::new(caller),
            key: self.key,
            standing: self.standing.clone(),
            whole: self.whole,
        }
    }

    /// The same session for results that a program reads and no model: nothing is shortened, and
    /// they may have this many characters.
    #[must_use]
    pub fn unshortened(&self, chars: usize) -> Session {
        Session {
            caller: self.caller.clone(),
            key: self.key,
            standing: self.standing.clone(),
            whole: Some(chars),
        }
    }

    pub(crate) fn is_unshortened(&self) -> bool {
        self.whole.is_some()
    }

    pub fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    pub(crate) fn who(&self) -> &Who {
        &self.standing.who
    }

    /// Held while a person is being asked, so that questions come one at a time.
    pub(crate) fn asking(&self) -> &Mutex<()> {
        &self.standing.asking
    }

    /// Characters that one turn's results may take together.
    pub fn budget(&self) -> usize {
        self.whole.unwrap_or(self.standing.budget)
    }

    pub(crate) fn turn(&self) -> u64 {
        self.standing.turns.load(Ordering::Relaxed)
    }

    /// A new turn of the conversation begins.
    pub fn next_turn(&self) {
        self.standing.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// The tools as this caller sees them now.
    pub fn view(&self, runtime: &Runtime) -> Arc<View> {
        let revision = runtime.revision();
        if let Some(view) = &*self.standing.view.load()
            && view.revision() == revision
        {
            return view.clone();
        }
        let snapshot = runtime.registry().snapshot();
        let policy = runtime.policy();
        let view = Arc::new(View::new(
            revision,
            snapshot,
            policy,
            self.standing.who.clone(),
            self.standing.scopes.clone(),
            self.standing.filters.clone(),
        ));
        self.standing.view.store(Some(view.clone()));
        view
    }

    /// What a model is told, in a provider's shape: byte for byte the same from turn to turn,
    /// unless tools changed; what was found since stands at the end.
    pub fn definitions(&self, runtime: &Runtime, shape: Shape) -> Arc<Definitions> {
        let cx = self.context("", "");
        let found = self.standing.found.borrow();
        self.view(runtime)
            .to_definitions(shape, &cx, &self.standing.injection, &found)
    }

    /// How much of the tools a model is told, and why.
    pub fn decision(&self, runtime: &Runtime) -> Decision {
        let cx = self.context("", "");
        self.view(runtime).decision(&self.standing.injection, &cx)
    }

    /// Whether the model behind this caller has not been shown the schema of every tool.
    pub(crate) fn hides_schemas(&self, view: &View, cx: &ToolContext) -> bool {
        view.mode(&self.standing.injection, cx) != InjectionMode::Direct
    }

    /// Whether the model behind this caller can look for its tools.
    pub(crate) fn is_discovering(&self, view: &View, cx: &ToolContext) -> bool {
        let injection = &self.standing.injection;
        injection.open_ended || view.mode(injection, cx) == InjectionMode::Discovery
    }

    /// A model has learned of these tools: from now on it is told their schemas.
    pub fn note_found(&self, names: impl IntoIterator<Item = Arc<str>>) {
        self.standing.found.send_if_modified(|found| {
            let before = found.len();
            for name in names {
                if !found.contains(&name) {
                    found.push(name);
                }
            }
            found.len() > before
        });
    }

    /// Tells when a model has learned of more tools; none where it is shown all of them anyway.
    pub fn finds(&self, runtime: &Runtime) -> Option<watch::Receiver<Vec<Arc<str>>>> {
        let hidden = self.decision(runtime).mode == InjectionMode::Discovery;
        hidden.then(|| self.standing.found.subscribe())
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
            self.standing.budget,
            false,
        )
    }
}

fn key_of(caller: &Caller) -> u64 {
    FixedState::default().hash_one(&*caller.session)
}
