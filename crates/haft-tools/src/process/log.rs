//! `process.log`: what a session has written, by lines.

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{RunProcesses, Session};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::told;

/// Lines that a call gets if it does not say.
pub(super) const DEFAULT_LIMIT: u64 = 200;

/// Read the output of a background session by lines. The last 200,000 characters are kept; lines
/// keep their numbers when earlier ones go.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Log {
    /// Session, or the id of the call that started it
    #[serde(default, rename = "sessionId")]
    #[schemars(extend("x-aliases" = ["session_id", "id"]))]
    session_id: Option<String>,
    /// Process of the session, instead of `sessionId`
    #[serde(default)]
    pid: Option<u32>,
    /// First line to read, from 0
    #[serde(default)]
    offset: u64,
    /// Most lines to read, 200 if left out
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

impl Tool for Log {
    const NAME: &'static str = "process.log";
    const REPEAT: Repeat = Repeat::Read;
    type Power = RunProcesses;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Output of a background session")
            .aliases(&["process.output"])
            .tags(&["process", "background", "session", "output", "log"])
            .risk(Risk::Low)
    }

    fn effects(&self, _power: &RunProcesses, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none().reads(told::sessions()))
    }

    async fn run(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        let session = told::find(power, cx, self.session_id.as_deref(), self.pid)?;
        answer(&session, self.offset, self.limit)
    }
}

pub(super) fn answer(session: &Session, offset: u64, limit: Option<u64>) -> ToolResult {
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if limit == 0 {
        return Err(ToolError::input_invalid("`limit`: must be at least 1"));
    }
    let log = session.log(offset, usize::try_from(limit).unwrap_or(usize::MAX));
    let output = log.lines.join("\n");
    let count = log.lines.len() as u64;
    let mut text = output.clone();
    text.push_str(told::line_end(&text));
    text.push_str(&match count {
        0 => format!("[no lines from {}; {} in all]", log.offset, log.total_lines),
        _ => format!(
            "[lines {} to {} of {}]",
            log.offset,
            log.offset + count - 1,
            log.total_lines
        ),
    });
    Ok(Output::text(text).and_structured(json!({
        "sessionId": session.id(),
        "status": told::status(session),
        "running": session.end().is_none(),
        "output": output,
        "offset": log.offset,
        "limit": limit,
        "lines": count,
        "totalLines": log.total_lines,
        "totalChars": log.total_chars,
        "droppedLines": log.dropped_lines,
        "truncated": log.dropped_lines > 0,
    })))
}
