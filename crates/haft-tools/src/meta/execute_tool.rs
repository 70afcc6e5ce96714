use haft_core::{
    Call, CallTools, Exposure, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Call a tool by its name, with the parameters that its schema asks for. It answers as the tool
/// itself would; the structured answer tells `success`, the tool's own answer as `data`, the `error`
/// if there was one, and `metadata`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExecuteTool {
    /// Name of the tool
    #[schemars(length(min = 1, max = 256), extend("x-aliases" = ["tool_name", "tool"]))]
    name: String,
    /// Parameters of the tool
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["arguments", "args", "*"]))]
    params: Map<String, Value>,
}

impl Tool for ExecuteTool {
    const NAME: &'static str = "execute_tool";
    type Power = CallTools;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = super::meta(spec, Exposure::WithoutSchemas)
            .titled("Call a tool")
            .risk(Risk::Medium)
            .side_effects(&["those of the tool that is called"])
            .private(&["params"])
            .example(
                "Read a file",
                json!({"name": "file.read", "params": {"path": "notes.txt"}}),
                json!({"success": true, "error": null}),
            );
        spec.gives_account = true;
        spec.output_schema = Some(output_schema());
        spec
    }

    fn stands_for(&self) -> Option<Result<Call, ToolError>> {
        let args = Value::Object(self.params.clone());
        Some(Ok(Call::new(self.name.as_str(), args)))
    }

    /// Never reached: the call that it stands for goes on in its place.
    async fn run(self, _tools: &CallTools, _cx: &ToolContext) -> ToolResult {
        Err(ToolError::failed("the call did not give way to its tool"))
    }
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "success": {"type": "boolean"},
            "data": {"description": "What the tool answered"},
            "error": {
                "type": ["object", "null"],
                "properties": {
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "hint": {"type": "string"},
                },
                "required": ["code", "message"],
            },
            "metadata": {
                "type": "object",
                "properties": {
                    "tool": {"type": "string"},
                    "duration_ms": {"type": "number"},
                    "truncated": {"type": "boolean"},
                    "handle": {"type": "string"},
                },
                "required": ["tool", "duration_ms"],
            },
        },
        "required": ["success", "data", "error", "metadata"],
    })
}
