//! `process.list`: every session of the caller.

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::RunProcesses;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::told;

/// List background sessions, newest first: those that run, and those that ended in the last 30
/// minutes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct List {}

impl Tool for List {
    const NAME: &'static str = "process.list";
    const REPEAT: Repeat = Repeat::Read;
    type Power = RunProcesses;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("List background sessions")
            .tags(&["process", "background", "session", "list"])
            .risk(Risk::Low)
            .example(
                "Before anything was started",
                json!({}),
                json!({"sessions": []}),
            )
    }

    fn effects(&self, _power: &RunProcesses, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none().reads(told::sessions()))
    }

    async fn run(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        Ok(answer(power, cx))
    }
}

pub(super) fn answer(power: &RunProcesses, cx: &ToolContext) -> Output {
    let sessions = power.sessions(&cx.caller.session);
    let lines: Vec<String> = sessions.iter().map(told::line).collect();
    let text = if lines.is_empty() {
        "[no background sessions]".to_owned()
    } else {
        lines.join("\n")
    };
    let objects: Vec<_> = sessions.iter().map(told::summary).collect();
    Output::text(text).and_structured(json!({ "sessions": objects }))
}
