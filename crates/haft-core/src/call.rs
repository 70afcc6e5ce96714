//! One request to run a tool.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::CancelToken;

/// A request to run a tool by any name it answers to.
#[derive(Debug, Clone)]
pub struct Call {
    /// The caller's own id for this call; one is made when there is none
    pub id: Option<String>,
    pub name: Arc<str>,
    /// Shared, because the tool, listeners and the record of the call all look at them
    pub args: Arc<Value>,
    /// May shorten the tool's deadline, never lengthen it
    pub timeout: Option<Duration>,
    /// Say what would happen, run nothing
    pub dry_run: bool,
    /// The caller's own name for this piece of work, the same when it is tried again
    pub key: Option<Arc<str>>,
    /// The call it belongs to, if another tool makes it
    pub within: Option<Within>,
}

/// A call's place inside another one.
#[derive(Debug, Clone)]
pub struct Within {
    /// Ends the call with the one around it
    pub cancel: CancelToken,
    /// How many calls are around it
    pub depth: u8,
}

impl Call {
    pub fn new(name: impl Into<Arc<str>>, args: impl Into<Arc<Value>>) -> Self {
        Call {
            id: None,
            name: name.into(),
            args: args.into(),
            timeout: None,
            dry_run: false,
            key: None,
            within: None,
        }
    }

    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// In whose name a call is made. Module constraints bind agents; set-up steps, hooks and
/// channels run with the owner's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Identity {
    #[default]
    Agent,
    Setup,
    Hook,
    Channel,
}
