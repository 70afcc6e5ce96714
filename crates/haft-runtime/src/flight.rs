//! One call on its way: what every stage may look at, and what stages leave for the outcome.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::{Meta, ToolContext};
use serde_json::Value;

use crate::scheduler::Ticket;
use crate::{Entry, Runtime, Session, View};

pub(crate) struct Flight<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) session: &'a Session,
    pub(crate) view: Arc<View>,
    /// As given, then as repaired by `validate`
    pub(crate) args: Arc<Value>,
    /// The caller's own, shorter deadline
    pub(crate) timeout: Option<Duration>,
    pub(crate) cx: ToolContext,
    pub(crate) ticket: Ticket<'a>,
    pub(crate) started: Instant,
    /// Position in the view, once the name is resolved
    pub(crate) found: Option<usize>,
    pub(crate) meta: Meta,
}

impl Flight<'_> {
    /// The tool, once its name is resolved.
    pub(crate) fn entry(&self) -> Option<&Arc<Entry>> {
        self.found.map(|index| self.view.entry(index))
    }
}
