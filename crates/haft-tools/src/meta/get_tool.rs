use haft_core::{CallTools, Exposure, Output, Repeat, Tool, ToolContext, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::told;

/// Get everything about one tool: parameters as a JSON Schema, examples, side effects, whether it
/// asks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetTool {
    /// Name of the tool
    #[schemars(length(min = 1, max = 256), extend("x-aliases" = ["tool_name", "tool"]))]
    name: String,
}

impl Tool for GetTool {
    const NAME: &'static str = "get_tool";
    const REPEAT: Repeat = Repeat::Read;
    type Power = CallTools;

    fn describe(spec: ToolSpec) -> ToolSpec {
        super::meta(spec, Exposure::WithoutSchemas)
            .titled("Look at a tool")
            .example(
                "See how to read a file",
                json!({"name": "file.read"}),
                json!({"name": "file.read", "module": "file"}),
            )
    }

    async fn run(self, tools: &CallTools, cx: &ToolContext) -> ToolResult {
        let card = tools.look_up(&self.name, cx)?;
        let foreign = told::is_foreign(&card);
        Ok(Output::structured(told::whole(&card)).untrusted_if(foreign))
    }
}
