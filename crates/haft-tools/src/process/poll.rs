//! `process.poll` and `process.status`: how a session stands. One answer; the two differ in what
//! their documents call a session by, and each takes both.

use haft_core::{Effects, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec};
use haft_host::RunProcesses;
use schemars::JsonSchema;
use serde::Deserialize;

use super::told;

/// Say how a background session stands: whether it runs, its exit code or signal, and the last
/// 4,000 characters of its output.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Poll {
    /// Session, or the id of the call that started it
    #[serde(default, rename = "sessionId")]
    #[schemars(extend("x-aliases" = ["session_id", "id"]))]
    session_id: Option<String>,
    /// Process of the session, instead of `sessionId`
    #[serde(default)]
    pid: Option<u32>,
}

impl Tool for Poll {
    const NAME: &'static str = "process.poll";
    const REPEAT: Repeat = Repeat::Read;
    type Power = RunProcesses;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Look at a background session")
            .tags(&["process", "background", "session", "status"])
            .risk(Risk::Low)
    }

    fn effects(&self, _power: &RunProcesses, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none().reads(told::sessions()))
    }

    async fn run(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        let session = told::find(power, cx, self.session_id.as_deref(), self.pid)?;
        Ok(told::polled(&session))
    }
}

/// Get the status of a background process that was started here.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {
    /// Process ID
    #[serde(default)]
    pid: Option<u32>,
    /// Session, instead of `pid`
    #[serde(default, rename = "sessionId")]
    #[schemars(extend("x-aliases" = ["session_id", "id"]))]
    session_id: Option<String>,
}

impl Tool for Status {
    const NAME: &'static str = "process.status";
    const REPEAT: Repeat = Repeat::Read;
    type Power = RunProcesses;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Status of a background process")
            .tags(&["process", "background", "status"])
            .risk(Risk::Low)
    }

    fn effects(&self, _power: &RunProcesses, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none().reads(told::sessions()))
    }

    async fn run(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        let session = told::find(power, cx, self.session_id.as_deref(), self.pid)?;
        Ok(told::polled(&session))
    }
}
