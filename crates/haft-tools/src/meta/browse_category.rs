use haft_core::{
    CallTools, Exposure, Output, Repeat, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::told;

const PAGE: usize = 20;
/// Categories named where one is unknown.
const NAMED: usize = 30;

/// Browse the tools of one category, twenty a page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BrowseCategory {
    /// Category, as `list_categories` names it
    #[schemars(length(min = 1, max = 256))]
    category: String,
    /// Page to read, from 1
    #[serde(default)]
    #[schemars(range(min = 1))]
    page: Option<usize>,
}

impl Tool for BrowseCategory {
    const NAME: &'static str = "browse_category";
    const REPEAT: Repeat = Repeat::Read;
    type Power = CallTools;

    fn describe(spec: ToolSpec) -> ToolSpec {
        super::meta(spec, Exposure::WithoutTools)
            .titled("Browse a category of tools")
            .example(
                "See the tools for files",
                json!({"category": "file"}),
                json!({"category": "file", "page": 1}),
            )
    }

    async fn run(self, tools: &CallTools, cx: &ToolContext) -> ToolResult {
        let cards = tools.of_category(&self.category, cx)?;
        if cards.is_empty() {
            let known = tools.categories(cx)?;
            let names: Vec<&str> = known.iter().take(NAMED).map(|c| c.id.as_str()).collect();
            let shown: String = self.category.chars().take(100).collect();
            return Err(
                ToolError::not_available(format!("no category with tools: `{shown}`"))
                    .hint(format!("categories: {}", names.join(", "))),
            );
        }
        let pages = cards.len().div_ceil(PAGE);
        let page = self.page.unwrap_or(1);
        if page > pages {
            return Err(
                ToolError::input_invalid(format!("`page`: {page} is beyond the last one"))
                    .hint(format!("`{}` has {pages} pages", self.category)),
            );
        }
        let shown: Vec<_> = cards.iter().skip((page - 1) * PAGE).take(PAGE).collect();
        let foreign = shown.iter().any(|card| told::is_foreign(card));
        let said = shown.iter().find_map(|card| card.spec.said.clone());
        let lines: Vec<_> = shown.into_iter().map(told::line).collect();
        let mut answer = json!({
            "category": self.category,
            "tools": lines,
            "page": page,
            "total_pages": pages,
            "total": cards.len(),
        });
        if let Some(said) = said {
            answer["server_instructions"] = (&*said).into();
        }
        Ok(Output::structured(answer).untrusted_if(foreign))
    }
}
