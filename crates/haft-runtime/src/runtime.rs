//! What all calls share: the registry, the policy in force, limits, order and approvals.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use haft_core::{BoxFuture, Pack, Recorder, ToolError};
use haft_policy::Policy;

use crate::approvals::Approvals;
use crate::catalogue::{Catalogue, IndexStore};
use crate::scheduler::Scheduler;
use crate::{Reducers, RegisterError, Registry};

/// Limits, as the binary read them from config.
#[derive(Debug, Clone)]
pub struct RuntimeConfig {
    /// Characters that the results of one turn may take together
    pub result_budget: usize,
    /// Deadline of a tool that states none
    pub timeout: Duration,
    /// No call runs longer, whatever its tool or arguments say
    pub max_timeout: Option<Duration>,
    /// How long a question waits for its answer
    pub approval_timeout: Duration,
    /// How long a tool may tidy up after it was told to stop
    pub grace: Duration,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        RuntimeConfig {
            result_budget: 80_000,
            timeout: Duration::from_secs(30),
            max_timeout: None,
            approval_timeout: Duration::from_secs(300),
            grace: Duration::from_secs(2),
        }
    }
}

/// Stores an "always" rule and gives the policy that includes it.
pub type RememberRule = Box<dyn Fn(&str) -> Result<Policy, String> + Send + Sync>;

/// Asks a server, by its name, what it has; that is in the registry then.
pub type LookAgain = Box<dyn Fn(&str) -> BoxFuture<'static, ()> + Send + Sync>;

pub struct Runtime {
    config: RuntimeConfig,
    registry: Registry,
    reducers: Reducers,
    policy: ArcSwap<Policy>,
    /// How many policies there were: cheaper to look at than the policy
    policies: AtomicU64,
    scheduler: Scheduler,
    approvals: Approvals,
    remember: Option<RememberRule>,
    recorder: Option<Arc<dyn Recorder>>,
    catalogue: Catalogue,
    look_again: OnceLock<LookAgain>,
}

/// Which tools and which policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Revision {
    tools: u64,
    policy: u64,
}

impl Runtime {
    pub fn new(config: RuntimeConfig, policy: Policy) -> Self {
        let approvals = Approvals::new(config.approval_timeout);
        Runtime {
            config,
            registry: Registry::new(),
            reducers: Reducers::new(),
            policy: ArcSwap::from_pointee(policy),
            policies: AtomicU64::new(0),
            scheduler: Scheduler::default(),
            approvals,
            remember: None,
            recorder: None,
            catalogue: Catalogue::default(),
            look_again: OnceLock::new(),
        }
    }

    /// How servers are asked once more what they have; whoever says it first is heard.
    pub fn looking_again(&self, look: LookAgain) {
        let _ = self.look_again.set(look);
    }

    pub(crate) fn look_again(&self) -> Option<&LookAgain> {
        self.look_again.get()
    }

    /// Where "always" is stored; without it, "always" means yes.
    #[must_use]
    pub fn remembering(mut self, remember: RememberRule) -> Self {
        self.remember = Some(remember);
        self
    }

    /// Who writes calls down; without one nothing is recorded.
    #[must_use]
    pub fn recording(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Where the search index is kept between runs; without it, it is made at the first search.
    #[must_use]
    pub fn keeping_index(mut self, store: IndexStore) -> Self {
        self.catalogue.keep_in(store);
        self
    }

    /// Register modules with their tools and reducers.
    pub fn install(&self, packs: &[Pack]) -> Result<(), RegisterError> {
        self.registry.register_packs(packs)?;
        for reducer in packs.iter().flat_map(|pack| &pack.reducers) {
            let _kept = self.reducers.register(reducer.clone())?;
        }
        Ok(())
    }

    pub fn config(&self) -> &RuntimeConfig {
        &self.config
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    pub fn reducers(&self) -> &Reducers {
        &self.reducers
    }

    pub fn policy(&self) -> Arc<Policy> {
        self.policy.load_full()
    }

    /// Another one when the tools or the policy have changed. What is made of both looks at it
    /// first, so that it never passes for newer than it is.
    pub(crate) fn revision(&self) -> Revision {
        Revision {
            tools: self.registry.revision(),
            policy: self.policies.load(Ordering::Acquire),
        }
    }

    /// Put another policy in force; calls that are under way keep theirs, approvals given under
    /// the old one no longer count.
    pub fn set_policy(&self, policy: Policy) {
        self.policy.store(Arc::new(policy));
        self.policies.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    pub(crate) fn recorder(&self) -> Option<&Arc<dyn Recorder>> {
        self.recorder.as_ref()
    }

    pub(crate) fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    pub(crate) fn remember(&self, rule: &str) -> Result<(), ToolError> {
        let Some(remember) = &self.remember else {
            return Ok(());
        };
        let policy = remember(rule).map_err(|reason| {
            ToolError::failed(format!("the rule could not be remembered: {reason}"))
        })?;
        self.set_policy(policy);
        Ok(())
    }

    pub(crate) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }
}
