//! What the runtime lets a tool do with other tools, in its caller's name. A tool that holds this
//! power can do nothing its caller could not do by itself: every call made through it walks the
//! whole way, judged, asked about and budgeted like any other.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::{
    BoxFuture, Call, Capability, Inquiry, Outcome, Power, ToolContext, ToolError, ToolSpec,
};

/// The caller's way to other tools. The runtime implements it.
pub trait Door: Send + Sync {
    /// The tools nearest to a sentence, best first.
    fn search(&self, query: &str, limit: usize, cx: &ToolContext) -> Result<FoundTools, ToolError>;

    /// One tool by any of its names.
    fn look_up(&self, name: &str, cx: &ToolContext) -> Result<ToolCard, ToolError>;

    /// The groups of tools, by name.
    fn categories(&self, cx: &ToolContext) -> Result<Vec<Category>, ToolError>;

    /// The tools of one group, by name.
    fn of_category(&self, category: &str, cx: &ToolContext) -> Result<Vec<ToolCard>, ToolError>;

    /// Make calls that belong to the one of `cx`: they end with it, share its budget, and are
    /// ordered among themselves where their effects conflict.
    fn call_all<'a>(
        &'a self,
        calls: Vec<Call>,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Vec<Outcome>, ToolError>>;

    /// Make a call that outlives the one of `cx`, and ends with the process at the latest.
    fn start(&self, call: Call, cx: &ToolContext) -> Result<Run, ToolError>;

    /// How a started call stands; none if this session has started none of this id.
    fn run(&self, id: &str) -> Option<Run>;

    /// Every started call that is remembered, oldest first.
    fn runs(&self) -> Vec<Run>;

    /// How a started call stands once it has ended or the time is up.
    fn wait<'a>(
        &'a self,
        id: &'a str,
        patience: Duration,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Option<Run>>;

    /// Tell a started call to stop; it says itself when it has.
    fn cancel(&self, id: &str) -> Option<Run>;

    /// Ask the caller's side something, when nobody else is asking; none when nobody answers.
    fn inquire<'a>(
        &'a self,
        inquiry: Inquiry,
        patience: Duration,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Option<Value>>;
}

/// The power of the tools about tools. It gives no capability: whatever a call made through it
/// needs, that call's own tool has to have.
#[derive(Clone)]
pub struct CallTools {
    door: Arc<dyn Door>,
    background: bool,
}

impl CallTools {
    /// `background` where a later call can ask about what an earlier one has started.
    pub fn new(door: Arc<dyn Door>, background: bool) -> Self {
        CallTools { door, background }
    }

    pub fn background(&self) -> bool {
        self.background
    }
}

impl Power for CallTools {
    const CAPABILITIES: &'static [Capability] = &[];
}

impl Deref for CallTools {
    type Target = dyn Door;

    fn deref(&self) -> &Self::Target {
        &*self.door
    }
}

/// A tool as another tool may know it.
#[derive(Debug, Clone)]
pub struct ToolCard {
    pub spec: ToolSpec,
    /// What policy says before arguments are known: `allow` or `ask`
    pub policy: &'static str,
    /// How near it is, where it was searched for
    pub score: Option<f32>,
}

/// The answer to a search.
#[derive(Debug, Clone, Default)]
pub struct FoundTools {
    /// Empty where nothing fits
    pub tools: Vec<ToolCard>,
    pub nothing_fits: bool,
    /// The categories of the nearest tools, nearest first
    pub categories: Vec<String>,
}

/// A group of tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Category {
    pub id: String,
    pub summary: String,
    pub tool_count: usize,
    /// The beginning of what whoever has these tools says of them
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The summary is ours, and not made of names that others chose
    #[serde(skip)]
    pub ours: bool,
}

/// A call that goes on in the background, or went.
#[derive(Debug, Clone)]
pub struct Run {
    pub id: String,
    /// Canonical name of the tool, as far as it is known
    pub tool: Arc<str>,
    pub age: Duration,
    /// It was told to stop
    pub cancelled: bool,
    /// None while it runs
    pub outcome: Option<Arc<Outcome>>,
}
