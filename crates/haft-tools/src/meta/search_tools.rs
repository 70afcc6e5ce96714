use haft_core::{CallTools, Exposure, Output, Repeat, Tool, ToolContext, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::told;

const RESULTS: usize = 5;

/// Find tools by what you want to do, in any language. Say it in a sentence: keywords and meaning
/// both count. The answer has each tool's parameters, so that it can be called at once.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchTools {
    /// What you want to do, or a name
    #[schemars(length(min = 1, max = 500))]
    query: String,
    /// How many tools to answer with, 5 if not given
    #[serde(default)]
    #[schemars(range(min = 1, max = 20), extend("x-aliases" = ["limit"]))]
    max_results: Option<usize>,
}

impl Tool for SearchTools {
    const NAME: &'static str = "search_tools";
    const REPEAT: Repeat = Repeat::Read;
    type Power = CallTools;

    fn describe(spec: ToolSpec) -> ToolSpec {
        super::meta(spec, Exposure::WithoutTools)
            .titled("Search for tools")
            .example(
                "Find out how to read a file",
                json!({"query": "read a file", "max_results": 1}),
                json!({"count": 1, "query": "read a file"}),
            )
    }

    async fn run(self, tools: &CallTools, cx: &ToolContext) -> ToolResult {
        let found = tools.search(&self.query, self.max_results.unwrap_or(RESULTS), cx)?;
        let foreign = found.tools.iter().any(told::is_foreign);
        let listed: Vec<_> = found.tools.iter().map(told::found).collect();
        let mut answer = json!({"tools": listed, "count": listed.len(), "query": self.query});
        if found.nothing_fits {
            answer["nothing_fits"] = true.into();
            answer["categories"] = json!(found.categories);
            answer["hint"] = "say it in other words, or look into one of these categories with \
                              browse_category"
                .into();
        }
        Ok(Output::structured(answer).untrusted_if(foreign))
    }
}
