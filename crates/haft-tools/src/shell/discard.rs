//! `shell.discard`: drop what a dry run would have changed.

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::RunProcesses;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Drop the changes of a dry run of `shell.exec`. Nothing in the workspace is touched. What
/// nobody decides on is dropped after a day.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Discard {
    /// The `id` that the dry run answered with
    #[schemars(length(min = 1))]
    id: String,
}

impl Tool for Discard {
    const NAME: &'static str = "shell.discard";
    const REPEAT: Repeat = Repeat::Idempotent;
    type Power = RunProcesses;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Drop a dry run")
            .tags(&["shell", "transaction", "dry run"])
            .risk(Risk::Low)
    }

    /// Only haft's own record of the dry run goes.
    fn effects(&self, _power: &RunProcesses, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none())
    }

    async fn run(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        let trial = power.trial(&self.id, &cx.caller.session)?;
        power.discard_trial(trial).await?;
        Ok(Output::text("dropped").and_structured(json!({"id": self.id, "discarded": true})))
    }
}
