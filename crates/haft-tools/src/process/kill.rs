//! `process.kill`: end a session, with all it started.

use std::time::Duration;

use haft_core::{
    CommandLine, Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{RunProcesses, Session};
use schemars::JsonSchema;
use serde::Deserialize;

use super::told;

/// How long an answer waits for the end, so that it can say how it went.
const PATIENCE: Duration = Duration::from_secs(2);

/// Send a signal to a background session and everything it started: SIGTERM unless SIGKILL is
/// asked for. Only sessions started here can be meant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Kill {
    /// Process ID
    #[serde(default)]
    pid: Option<u32>,
    /// Session, instead of `pid`, or the id of the call that started it
    #[serde(default, rename = "sessionId")]
    #[schemars(extend("x-aliases" = ["session_id", "id"]))]
    session_id: Option<String>,
    /// Signal to send: SIGTERM if left out
    #[serde(default)]
    signal: Which,
}

/// The signals that end a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) enum Which {
    #[default]
    #[serde(rename = "SIGTERM")]
    Term,
    #[serde(rename = "SIGKILL")]
    Kill,
}

impl Which {
    fn name(self) -> &'static str {
        match self {
            Which::Term => "SIGTERM",
            Which::Kill => "SIGKILL",
        }
    }
}

impl Tool for Kill {
    const NAME: &'static str = "process.kill";
    const REPEAT: Repeat = Repeat::Idempotent;
    type Power = RunProcesses;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("End a background session")
            .tags(&["process", "background", "session", "kill", "stop"])
            .side_effects(&["ends a program that was started here"])
            .risk(Risk::High)
            .irreversible()
    }

    fn effects(&self, _power: &RunProcesses, cx: &ToolContext) -> Result<Effects, ToolError> {
        let target = match (&self.session_id, self.pid) {
            (Some(id), _) => id.clone(),
            (None, pid) => pid.map(|pid| pid.to_string()).unwrap_or_default(),
        };
        Ok(effects(target, self.signal, cx))
    }

    async fn run(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        let session = told::find(power, cx, self.session_id.as_deref(), self.pid)?;
        Ok(end(&session, self.signal).await)
    }
}

/// As the command that would do the same, so that rules about `kill` hold here too.
pub(super) fn effects(target: String, which: Which, cx: &ToolContext) -> Effects {
    let [kill, option, signal] = ["kill", "-s", which.name()].map(str::to_owned);
    Effects::none()
        .writes(told::sessions())
        .runs(CommandLine::Argv {
            argv: vec![kill, option, signal, target],
            cwd: cx.caller.workspace.as_path().to_owned(),
        })
}

/// Send the signal and wait a moment. One that ended before is none the worse for it.
pub(super) async fn end(session: &Session, which: Which) -> Output {
    let sent = session.end().is_none();
    if sent {
        match which {
            Which::Term => session.terminate(),
            Which::Kill => session.kill(),
        }
        session.ended_within(PATIENCE).await;
    }
    let mut output = told::polled(session);
    if let Some(structured) = &mut output.structured {
        structured["killed"] = sent.into();
        structured["sent"] = sent.then(|| which.name()).into();
    }
    output
}
