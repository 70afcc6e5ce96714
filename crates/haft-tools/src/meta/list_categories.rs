use haft_core::{CallTools, Exposure, Output, Repeat, Tool, ToolContext, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// List the categories that tools come in, with a line about each and how many tools it has.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListCategories {}

impl Tool for ListCategories {
    const NAME: &'static str = "list_categories";
    const REPEAT: Repeat = Repeat::Read;
    type Power = CallTools;

    fn describe(spec: ToolSpec) -> ToolSpec {
        super::meta(spec, Exposure::WithoutTools)
            .titled("List categories of tools")
            .example("See what there is", json!({}), json!({}))
    }

    async fn run(self, tools: &CallTools, cx: &ToolContext) -> ToolResult {
        let categories = tools.categories(cx)?;
        let total: usize = categories.iter().map(|category| category.tool_count).sum();
        let foreign = categories.iter().any(|category| !category.ours);
        let answer = json!({
            "categories": categories,
            "total_categories": categories.len(),
            "total_tools": total,
        });
        Ok(Output::structured(answer).untrusted_if(foreign))
    }
}
