use std::time::Duration;

use haft_core::{
    CallApps, Exposure, Output, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

const TIMEOUT: u64 = 120;
const DEADLINE: Duration = Duration::from_secs(1_800);

/// Hand a task to another app and get its answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallApp {
    /// Which app
    #[schemars(length(min = 1, max = 128))]
    app_id: String,
    /// What it is to do
    #[schemars(length(min = 1))]
    input: String,
    /// Seconds to wait for it, 120 if not given
    #[serde(default)]
    #[schemars(range(min = 1, max = 1800))]
    timeout: Option<u64>,
}

impl Tool for CallApp {
    const NAME: &'static str = "call_app";
    type Power = CallApps;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = super::meta(spec, Exposure::WithoutTools)
            .titled("Call another app")
            .risk(Risk::Medium)
            .side_effects(&["those of the app"])
            .example(
                "Let another app write a summary",
                json!({"app_id": "writer", "input": "sum up notes.txt"}),
                json!({"app_id": "writer"}),
            );
        spec.timeout = Some(DEADLINE);
        spec
    }

    fn unavailable(apps: &CallApps) -> Option<String> {
        apps.ids()
            .is_empty()
            .then(|| "no app is configured".to_owned())
    }

    async fn run(self, apps: &CallApps, cx: &ToolContext) -> ToolResult {
        let known = apps.ids();
        if !known.contains(&self.app_id) {
            let shown: String = self.app_id.chars().take(100).collect();
            return Err(ToolError::not_available(format!("no such app: `{shown}`"))
                .hint(format!("apps: {}", known.join(", "))));
        }
        let patience = Duration::from_secs(self.timeout.unwrap_or(TIMEOUT));
        let done = apps.call(&self.app_id, &self.input, patience, cx).await?;
        let answer = json!({
            "app_id": self.app_id, "output": done.output, "tool_calls": done.tool_calls,
        });
        Ok(Output::structured(answer).untrusted_if(true))
    }
}
