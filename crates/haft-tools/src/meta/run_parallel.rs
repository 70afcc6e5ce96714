use std::time::{Duration, Instant};

use haft_core::{
    CallTools, Effects, Exposure, Outcome, Output, Risk, Tool, ToolContext, ToolError, ToolResult,
    ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::action::Action;
use super::told;

/// The deadlines of the calls themselves come first.
const DEADLINE: Duration = Duration::from_secs(3_600);

/// Make up to 50 calls at once. Those that touch the same things keep the order given, the others
/// overlap. Each is judged and asked about by itself, and one that fails does not stop the rest.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunParallel {
    /// The calls
    #[schemars(length(min = 1, max = 50), extend("x-aliases" = ["tasks", "calls"]))]
    actions: Vec<Action>,
}

impl RunParallel {
    async fn all(self, tools: &CallTools, cx: &ToolContext) -> ToolResult {
        let started = Instant::now();
        let calls = self.actions.iter().map(Action::call).collect();
        let outcomes = tools.call_all(calls, cx).await?;
        Ok(together(&self.actions, &outcomes, started.elapsed()))
    }
}

impl Tool for RunParallel {
    const NAME: &'static str = "run_parallel";
    const HAS_PREVIEW: bool = true;
    type Power = CallTools;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = super::meta(spec, Exposure::EveryMode)
            .titled("Make many calls at once")
            .risk(Risk::Medium)
            .side_effects(&["those of the tools that are called"])
            .private(&["actions[].params"])
            .example(
                "Read two files",
                json!({"actions": [
                    {"name": "file.read", "params": {"path": "notes.txt"}},
                    {"name": "file.read", "params": {"path": "src/main.rs"}},
                ]}),
                json!({"total": 2, "succeeded": 2, "failed": 0}),
            );
        spec.timeout = Some(DEADLINE);
        spec
    }

    /// It holds its place in the order for the calls it makes, whatever they touch; each of them
    /// says by itself what that is.
    fn effects(&self, _tools: &CallTools, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::anything())
    }

    async fn run(self, tools: &CallTools, cx: &ToolContext) -> ToolResult {
        self.all(tools, cx).await
    }

    async fn preview(self, tools: &CallTools, cx: &ToolContext) -> ToolResult {
        self.all(tools, cx).await
    }
}

fn together(actions: &[Action], outcomes: &[Outcome], took: Duration) -> Output {
    let results: Vec<Value> = outcomes
        .iter()
        .zip(actions)
        .enumerate()
        .map(|(index, (outcome, action))| {
            let mut result = told::outcome(outcome);
            result.insert("index".into(), index.into());
            result.insert("name".into(), json!(outcome.tool));
            result.insert("label".into(), json!(action.label));
            result.insert("detail".into(), json!(action.detail()));
            Value::Object(result)
        })
        .collect();
    let failed = outcomes.iter().filter(|outcome| !outcome.ok).count();
    let hint = (failed > 0).then_some("the others are done: repeat only those that failed");
    let answer = json!({
        "total": outcomes.len(),
        "succeeded": outcomes.len() - failed,
        "failed": failed,
        "elapsed_ms": took.as_millis() as u64,
        "hint": hint,
        "results": results,
    });
    told::answer(answer, outcomes)
}
