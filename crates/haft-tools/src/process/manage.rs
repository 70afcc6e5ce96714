//! `process.manage`, known as `Process`: all actions in one tool, as document 004 has them.

use haft_core::{Effects, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec};
use haft_host::{RunProcesses, Session};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::kill::Which;
use super::{kill, list, log, told, write};

/// Manage background sessions: list them, poll one, read its log, write to it, submit a line to
/// it or kill it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Manage {
    /// What to do; `kill` sends SIGKILL
    action: Action,
    /// Session, or the id of the call that started it; needed by all but `list`
    #[serde(default, rename = "sessionId")]
    #[schemars(extend("x-aliases" = ["session_id", "id"]))]
    session_id: Option<String>,
    /// Text for `write` and `submit`
    #[serde(default)]
    data: String,
    /// First line of `log`, from 0
    #[serde(default)]
    offset: u64,
    /// Most lines of `log`, 200 if left out
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Poll,
    Log,
    Write,
    Submit,
    Kill,
}

impl Tool for Manage {
    const NAME: &'static str = "process.manage";
    type Power = RunProcesses;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Manage background sessions")
            .aliases(&["Process"])
            .tags(&["process", "background", "session", "stdin", "kill", "log"])
            .side_effects(&["writes to programs that were started here, and ends them"])
            .risk(Risk::Medium)
            .example(
                "Before anything was started",
                json!({"action": "list"}),
                json!({"sessions": []}),
            )
    }

    fn effects(&self, power: &RunProcesses, cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(match self.action {
            Action::List | Action::Poll | Action::Log => Effects::none().reads(told::sessions()),
            Action::Write | Action::Submit => {
                write::effects(self.session(power, cx).ok().as_ref(), &self.data, cx)
            }
            Action::Kill => {
                kill::effects(self.session_id.clone().unwrap_or_default(), Which::Kill, cx)
            }
        })
    }

    async fn run(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        if self.action == Action::List {
            return Ok(list::answer(power, cx));
        }
        let session = self.session(power, cx)?;
        match self.action {
            Action::List | Action::Poll => Ok(told::polled(&session)),
            Action::Log => log::answer(&session, self.offset, self.limit),
            Action::Write => write::send(&session, self.data, cx).await,
            Action::Submit => write::send(&session, write::submitted(self.data), cx).await,
            Action::Kill => Ok(kill::end(&session, Which::Kill).await),
        }
    }
}

impl Manage {
    fn session(&self, power: &RunProcesses, cx: &ToolContext) -> Result<Session, ToolError> {
        told::find(power, cx, self.session_id.as_deref(), None)
    }
}
