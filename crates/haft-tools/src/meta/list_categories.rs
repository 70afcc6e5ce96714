use haft_core::{
    CallTools, Category, Exposure, Output, Repeat, Tool, ToolContext, ToolResult, ToolSpec,
};
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
        let all = tools.categories(cx)?;
        let total: usize = all.iter().map(|category| category.tool_count).sum();
        let answer = |categories: &[&Category]| {
            json!({
                "categories": categories,
                "total_categories": all.len(),
                "total_tools": total,
            })
        };
        let whole = answer(&all.iter().collect::<Vec<_>>());
        let (ours, theirs): (Vec<_>, Vec<_>) = all.iter().partition(|category| category.ours);
        if theirs.is_empty() {
            return Ok(Output::structured(whole));
        }
        // Names that others chose make up the summaries of their categories.
        let told = Output::text(answer(&ours).to_string())
            .and_text(json!({"categories": theirs}).to_string());
        Ok(told.and_structured(whole).untrusted_after(1))
    }
}
