//! `file.undo`: put back what an earlier call changed, whichever tool made it.

use std::sync::{Arc, OnceLock};

use haft_core::{Effects, Output, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec};
use haft_host::{Change, Summary, UndoFiles, UndoPlan, Verb, Which};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kept;

/// Places that are shown in text.
const SHOWN: usize = 100;

/// Calls in a list.
const LISTED: usize = 50;

/// Put back the files that an earlier call changed: written, edited, moved, deleted, or touched by
/// a shell command. Without `call` the last call that changed files in this workspace is undone;
/// that can be an undo itself. All or nothing: if a file has changed since, the answer is
/// `conflict`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Undo {
    /// Id of the call to undo; the last one that changed files if left out
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["call_id", "callId", "id"]))]
    call: Option<String>,
    /// Undo everything that this session has changed
    #[serde(default, rename = "wholeSession")]
    #[schemars(extend("x-aliases" = ["whole_session"]))]
    whole_session: bool,
    /// Change nothing, list the last calls that can be undone
    #[serde(default)]
    list: bool,
    #[serde(skip)]
    plan: OnceLock<Arc<UndoPlan>>,
}

impl Tool for Undo {
    const NAME: &'static str = "file.undo";
    const HAS_PREVIEW: bool = true;
    type Power = UndoFiles;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Undo a call's changes to files")
            .aliases(&["undo", "Undo", "undo_changes"])
            .tags(&["file", "undo", "restore", "revert", "checkpoint"])
            .side_effects(&["puts files back as they were before another call"])
            .risk(Risk::High)
            .example(
                "What could be undone",
                json!({"list": true}),
                json!({"calls": []}),
            )
    }

    fn unavailable(power: &UndoFiles) -> Option<String> {
        power.unavailable()
    }

    fn effects(&self, power: &UndoFiles, cx: &ToolContext) -> Result<Effects, ToolError> {
        if self.list {
            return Ok(Effects::looking());
        }
        Ok(power.effects(self.plan(power, cx)?))
    }

    async fn run(self, power: &UndoFiles, cx: &ToolContext) -> ToolResult {
        if self.list {
            return Ok(list(&power.list(LISTED).await?));
        }
        let plan = self.plan(power, cx)?.clone();
        if plan.back.is_empty() && plan.lost.is_empty() {
            return Ok(answer(&plan, power, "nothing to put back:"));
        }
        power.put_back(plan.clone(), cx).await?;
        Ok(answer(&plan, power, "put back"))
    }

    async fn preview(self, power: &UndoFiles, cx: &ToolContext) -> ToolResult {
        if self.list {
            return Ok(list(&power.list(LISTED).await?));
        }
        let plan = self.plan(power, cx)?.clone();
        Ok(answer(&plan, power, "would put back"))
    }
}

impl Undo {
    /// What is meant, looked over once: policy judges exactly what is done afterwards.
    fn plan(&self, power: &UndoFiles, cx: &ToolContext) -> Result<&Arc<UndoPlan>, ToolError> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan);
        }
        let which = match (&self.call, self.whole_session) {
            (Some(_), true) => {
                return Err(ToolError::input_invalid(
                    "`call` and `wholeSession` cannot both be given",
                )
                .hint("leave one of them out"));
            }
            (Some(call), false) => Which::Call(call.clone()),
            (None, true) => Which::Session(cx.caller.session.to_string()),
            (None, false) => Which::Last,
        };
        let plan = Arc::new(power.plan_now(&which)?);
        Ok(self.plan.get_or_init(|| plan))
    }
}

fn answer(plan: &UndoPlan, power: &UndoFiles, what: &str) -> Output {
    let places = power.places(plan);
    let calls: Vec<String> = plan
        .calls
        .iter()
        .map(|one| format!("{} of call {}", one.tool, one.call))
        .collect();
    let mut text = format!("{what} {} changes by {}", places.len(), calls.join(", "));
    let mut restored = Vec::new();
    for (back, place) in plan.back.iter().zip(&places) {
        let path = place.path().to_string_lossy();
        let verb = verb(back.change());
        if restored.len() < SHOWN {
            text.push_str(&format!("\n  {verb} {path}"));
        }
        restored.push(json!({"path": path, "action": verb}));
    }
    if restored.len() > SHOWN {
        text.push_str(&format!("\n  [and {} more]", restored.len() - SHOWN));
    }
    if plan.interrupted {
        text.push_str(
            "\n[the call was cut short: what was there just now was taken for what it had done]",
        );
    }
    if !plan.lost.is_empty() {
        text.push('\n');
        text.push_str(&kept::told("not put back", &plan.lost));
    }
    Output::text(text).and_structured(json!({
        "calls": plan.calls.iter().map(summary).collect::<Vec<Value>>(),
        "restored": restored,
        "notRestored": kept::listed(&plan.lost),
        "interrupted": plan.interrupted,
    }))
}

/// What an undo does to a place.
fn verb(change: &Change) -> &'static str {
    match change.verb() {
        Verb::Added => "restored",
        Verb::Changed => "reverted",
        Verb::Deleted => "removed",
    }
}

fn summary(call: &Summary) -> Value {
    json!({
        "call": call.call,
        "tool": call.tool,
        "session": call.session,
        "at": call.at_ms,
        "changes": call.changes,
        "undone": call.undone,
    })
}

fn list(calls: &[Summary]) -> Output {
    let line = |call: &Summary| {
        let undone = if call.undone { "  undone" } else { "" };
        format!(
            "{}  {}  {} changes{undone}",
            call.call, call.tool, call.changes
        )
    };
    let lines: Vec<String> = calls.iter().map(line).collect();
    let text = match lines.is_empty() {
        true => "no call has changed files in this workspace".to_owned(),
        false => lines.join("\n"),
    };
    let calls: Vec<Value> = calls.iter().map(summary).collect();
    Output::text(text).and_structured(json!({ "calls": calls }))
}
