//! `journal.show`: everything that was written down about one call.

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_store::Filter;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::power::{ReadJournal, looks};

/// Show what was written down about a call of this session: its arguments, what policy said, how it
/// ended and where its whole result is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Show {
    /// The id of the call, as `journal.list` and every outcome name it
    #[schemars(extend("x-aliases" = ["call_id", "id"]))]
    call: String,
    /// Look at another session than this one, where isolation lets you
    #[serde(default)]
    session: Option<String>,
}

impl Tool for Show {
    const NAME: &'static str = "journal.show";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ReadJournal;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = spec
            .titled("Show a call")
            .aliases(&["show_call"])
            .tags(&["journal", "history", "call", "audit"])
            .risk(Risk::Low)
            .example(
                "After a call that failed",
                json!({"call": "c-17"}),
                json!({"call_id": "c-17", "state": "failed"}),
            );
        spec.output_is_untrusted = true;
        spec
    }

    fn unavailable(power: &ReadJournal) -> Option<String> {
        power.closed()
    }

    fn effects(&self, _power: &ReadJournal, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(looks())
    }

    async fn run(self, power: &ReadJournal, cx: &ToolContext) -> ToolResult {
        let filter = Filter {
            session: Some(power.session(cx, self.session)?),
            call_id: Some(self.call.clone()),
            ..Filter::default()
        };
        let mut calls = power.calls(filter).await?;
        // The newest: an id may have been used again.
        let Some(line) = calls.pop() else {
            let call: String = self.call.chars().take(80).collect();
            return Err(ToolError::not_available(format!(
                "no such call in this session: `{call}`"
            ))
            .hint("list them with `journal.list`"));
        };
        let value = serde_json::to_value(&line).unwrap_or_default();
        let text = serde_json::to_string_pretty(&value).unwrap_or_default();
        Ok(Output::text(text).and_structured(value))
    }
}
