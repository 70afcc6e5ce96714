//! `journal.list`: which calls were made.

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_store::{Filter, Line};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::power::{ReadJournal, looks};

const LIMIT: u64 = 20;
/// Characters of the arguments that a list shows.
const SHOWN: usize = 120;

/// List the calls made in this session, newest last: which tool, with what, and how it ended.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    /// Calls of this tool only; `*` stands for anything, as in `file.*`
    #[serde(default)]
    tool: Option<String>,
    /// Look at another session than this one, where isolation lets you
    #[serde(default)]
    session: Option<String>,
    /// The newest so many, 20 if not given
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u64>,
}

impl Tool for List {
    const NAME: &'static str = "journal.list";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ReadJournal;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = spec
            .titled("List calls")
            .aliases(&["journal", "call_history", "list_calls"])
            .tags(&["journal", "history", "calls", "audit"])
            .risk(Risk::Low)
            .example(
                "What was written in this session",
                json!({"tool": "file.write", "limit": 5}),
                json!({"calls": []}),
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
            tool: self.tool,
            session: Some(power.session(cx, self.session)?),
            limit: Some(self.limit.unwrap_or(LIMIT) as usize),
            ..Filter::default()
        };
        let calls = power.calls(filter).await?;
        let lines: Vec<String> = calls.iter().map(line).collect();
        let text = match lines.is_empty() {
            true => "[no calls]".to_owned(),
            false => lines.join("\n"),
        };
        let objects: Vec<Value> = calls.iter().map(object).collect();
        Ok(Output::text(text).and_structured(json!({ "calls": objects })))
    }
}

fn line(line: &Line) -> String {
    let time: String = line.time.chars().take(19).collect();
    let state = line.state.as_str();
    let (call, tool) = (&line.call_id, &line.tool);
    format!("{time}\t{call}\t{tool}\t{state}\t{}", shown(line))
}

fn object(line: &Line) -> Value {
    json!({
        "seq": line.seq,
        "time": line.time,
        "call_id": line.call_id,
        "tool": line.tool,
        "state": line.state,
        "verdict": line.verdict,
        "duration_ms": line.duration_ms,
        "args": shown(line),
    })
}

/// The beginning of what it was called with, or of why it failed.
fn shown(line: &Line) -> String {
    let text = match (&line.body.message, &line.body.args) {
        (Some(message), _) => message.clone(),
        (None, Some(args)) => args.to_string(),
        (None, None) => String::new(),
    };
    let line: String = text.chars().take(SHOWN).collect();
    line.replace(['\n', '\r', '\t'], " ")
}
