//! Other apps as one tool. Who runs them is up to the binary.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::{BoxFuture, Capability, Power, ToolContext, ToolError};

/// Apps that can be handed a task.
pub trait Apps: Send + Sync {
    fn ids(&self) -> Vec<String>;

    fn call<'a>(
        &'a self,
        id: &'a str,
        input: &'a str,
        patience: Duration,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<AppAnswer, ToolError>>;
}

/// What an app answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppAnswer {
    pub output: String,
    /// How many calls it made
    pub tool_calls: usize,
}

/// The power to hand tasks to apps.
#[derive(Clone)]
pub struct CallApps(Arc<dyn Apps>);

impl CallApps {
    pub fn new(apps: Arc<dyn Apps>) -> Self {
        CallApps(apps)
    }
}

/// No app at all.
impl Default for CallApps {
    fn default() -> Self {
        CallApps(Arc::new(NoApps))
    }
}

struct NoApps;

impl Apps for NoApps {
    fn ids(&self) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        _id: &'a str,
        _input: &'a str,
        _patience: Duration,
        _cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<AppAnswer, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::not_available(
            "no app is configured",
        ))))
    }
}

impl Power for CallApps {
    const CAPABILITIES: &'static [Capability] = &[];
}

impl Deref for CallApps {
    type Target = dyn Apps;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}
