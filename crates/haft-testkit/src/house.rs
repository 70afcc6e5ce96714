//! A runtime with the fixture tools, a workspace and a home, both gone when dropped.

use std::path::Path;
use std::sync::Arc;

use haft_core::{Caller, EventSink, NoEvents, Person, Powers, Recorder};
use haft_host::FileResults;
use haft_policy::{Layer, Places, Policy, PolicyConfig, Who};
use haft_runtime::{
    Filters, IndexStore, Injection, RememberRule, Runtime, RuntimeConfig, Seat, Session,
};
use tempfile::TempDir;

use crate::{Cells, pack};

pub struct House {
    pub runtime: Arc<Runtime>,
    pub workspace: TempDir,
    pub home: TempDir,
    pub cells: Cells,
    pub events: Arc<dyn EventSink>,
    pub person: Option<Arc<dyn Person>>,
}

#[derive(Default)]
pub struct HouseBuilder {
    policy: PolicyConfig,
    config: RuntimeConfig,
    person: Option<Arc<dyn Person>>,
    events: Option<Arc<dyn EventSink>>,
    remember: Option<RememberRule>,
    index: Option<IndexStore>,
    recorder: Option<Arc<dyn Recorder>>,
}

impl House {
    pub fn builder() -> HouseBuilder {
        HouseBuilder::default()
    }

    /// A session of an agent, with a name of its own.
    pub fn session(&self, name: &str) -> Session {
        self.session_as(name, Who::default(), Filters::default())
    }

    pub fn session_as(&self, name: &str, who: Who, filters: Filters) -> Session {
        self.enter(name, who, filters, Injection::default())
    }

    /// A session of an agent that is shown as much of the tools as fits.
    pub fn session_with(&self, name: &str, injection: Injection) -> Session {
        self.enter(name, Who::default(), Filters::default(), injection)
    }

    fn enter(&self, name: &str, who: Who, filters: Filters, injection: Injection) -> Session {
        let mut caller = self.caller(name);
        caller.identity = who.identity;
        self.runtime.enter(Seat {
            caller,
            who,
            filters,
            injection,
            background: true,
        })
    }

    pub fn caller(&self, name: &str) -> Caller {
        let mut powers = Powers::none();
        powers.insert(self.cells.clone());
        Caller {
            powers: Arc::new(powers),
            events: self.events.clone(),
            person: self.person.clone(),
            results: Some(Arc::new(FileResults::new(self.home.path()))),
            ..Caller::alone(name, self.workspace.path().to_owned())
        }
    }
}

impl HouseBuilder {
    #[must_use]
    pub fn policy(mut self, change: impl FnOnce(&mut PolicyConfig)) -> Self {
        change(&mut self.policy);
        self
    }

    #[must_use]
    pub fn config(mut self, change: impl FnOnce(&mut RuntimeConfig)) -> Self {
        change(&mut self.config);
        self
    }

    #[must_use]
    pub fn person(mut self, person: Arc<dyn Person>) -> Self {
        self.person = Some(person);
        self
    }

    #[must_use]
    pub fn events(mut self, events: Arc<dyn EventSink>) -> Self {
        self.events = Some(events);
        self
    }

    #[must_use]
    pub fn remembering(mut self, remember: RememberRule) -> Self {
        self.remember = Some(remember);
        self
    }

    #[must_use]
    pub fn index(mut self, store: IndexStore) -> Self {
        self.index = Some(store);
        self
    }

    #[must_use]
    pub fn recording(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Build it.
    ///
    /// # Panics
    /// When the machine has no room for two folders, or the policy does not compile.
    #[allow(clippy::expect_used)]
    pub fn build(self) -> House {
        let workspace = TempDir::new().expect("a workspace");
        let home = TempDir::new().expect("a home");
        let policy = compile(self.policy, workspace.path());
        let mut runtime = Runtime::new(self.config, policy);
        if let Some(remember) = self.remember {
            runtime = runtime.remembering(remember);
        }
        if let Some(store) = self.index {
            runtime = runtime.keeping_index(store);
        }
        if let Some(recorder) = self.recorder {
            runtime = runtime.recording(recorder);
        }
        runtime.install(&[pack()]).expect("fixture names are free");
        House {
            runtime: Arc::new(runtime),
            workspace,
            home,
            cells: Cells::default(),
            events: self.events.unwrap_or_else(|| Arc::new(NoEvents)),
            person: self.person,
        }
    }
}

/// A policy of one layer.
///
/// # Panics
/// When it does not compile.
#[allow(clippy::expect_used)]
fn compile(config: PolicyConfig, workspace: &Path) -> Policy {
    let layer = Layer {
        from: "test".into(),
        config,
    };
    let places = Places {
        workspace: workspace.to_owned(),
        home: None,
        ..Places::default()
    };
    Policy::compile(vec![layer], places).expect("a good policy")
}
