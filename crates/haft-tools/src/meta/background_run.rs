//! Calls that go on while the model does something else. Five modes in one tool; which one is
//! meant follows from the arguments, as the documents behind haft have it, or is named.

use std::time::Duration;

use haft_core::{
    CallTools, Effects, Exposure, Output, Risk, Run, Tool, ToolContext, ToolError, ToolResult,
    ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::action::Action;
use super::told;

/// How long a start waits for a call that fails at once.
const FIRST_LOOK: Duration = Duration::from_millis(300);
const WAIT: u64 = 60;
const DEADLINE: Duration = Duration::from_secs(3_700);

/// Run a tool in the background. Start it with `name` and `params` and get a `task_id`; with that,
/// ask how it stands, `wait` for it or `cancel` it; `list_tasks` shows all. What runs ends with
/// this session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BackgroundRun {
    /// What to do, where the other arguments leave it open
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["action"]))]
    mode: Option<Mode>,
    /// Name of the tool to start
    #[serde(default)]
    #[schemars(length(min = 1, max = 256), extend("x-aliases" = ["tool", "tool_name"]))]
    name: Option<String>,
    /// Its parameters
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["arguments", "args", "*"]))]
    params: Map<String, Value>,
    /// The task that is meant
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["id"]))]
    task_id: Option<String>,
    /// Wait until the task has ended
    #[serde(default)]
    wait: bool,
    /// Stop the task
    #[serde(default)]
    cancel: bool,
    /// Show all tasks
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["list"]))]
    list_tasks: bool,
    /// Seconds to wait at most, 60 if not given
    #[serde(default)]
    #[schemars(range(min = 1, max = 3600))]
    timeout: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Start,
    Status,
    Wait,
    Cancel,
    List,
}

impl BackgroundRun {
    fn mode(&self) -> Result<Mode, ToolError> {
        if let (None, Some(key)) = (&self.name, self.params.keys().next()) {
            let message = format!("`{key}` is no parameter without `name`");
            return Err(ToolError::input_invalid(message)
                .hint("parameters are those of the tool that `name` starts"));
        }
        if let Some(mode) = self.mode {
            return Ok(mode);
        }
        match (&self.task_id, &self.name) {
            _ if self.list_tasks => Ok(Mode::List),
            (Some(_), _) if self.cancel => Ok(Mode::Cancel),
            (Some(_), _) if self.wait => Ok(Mode::Wait),
            (Some(_), _) => Ok(Mode::Status),
            (None, Some(_)) => Ok(Mode::Start),
            (None, None) => Err(ToolError::input_invalid(
                "neither `name` nor `task_id` nor `list_tasks`",
            )
            .hint("give `name` to start a tool, `task_id` to follow it, or `list_tasks`")),
        }
    }

    fn id(&self) -> Result<&str, ToolError> {
        let id = self.task_id.as_deref();
        id.ok_or_else(|| {
            ToolError::input_invalid("missing key: `task_id`")
                .hint("it came with the answer to the start; `list_tasks` shows all")
        })
    }

    async fn start(self, tools: &CallTools, cx: &ToolContext) -> ToolResult {
        let Some(name) = self.name else {
            return Err(ToolError::input_invalid("missing key: `name`")
                .hint("`name` (string): name of the tool to start"));
        };
        let action = Action {
            name,
            params: self.params,
            label: None,
        };
        let run = tools.start(action.call(), cx)?;
        // Some fail at once: better told now than on the first question.
        let run = tools.wait(&run.id, FIRST_LOOK, cx).await.unwrap_or(run);
        Ok(told(&run))
    }
}

impl Tool for BackgroundRun {
    const NAME: &'static str = "background_run";
    type Power = CallTools;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = super::meta(spec, Exposure::EveryMode)
            .titled("Run a tool in the background")
            .risk(Risk::Medium)
            .side_effects(&["those of the tool that is started"])
            .private(&["params"])
            .example("See what runs", json!({"list_tasks": true}), json!({}));
        spec.timeout = Some(DEADLINE);
        spec
    }

    fn unavailable(tools: &CallTools) -> Option<String> {
        (!tools.background()).then(|| {
            "runs end with the process that started them, and this one makes a single call"
                .to_owned()
        })
    }

    /// What is started has effects of its own.
    fn effects(&self, _tools: &CallTools, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none())
    }

    async fn run(self, tools: &CallTools, cx: &ToolContext) -> ToolResult {
        match self.mode()? {
            Mode::Start => self.start(tools, cx).await,
            Mode::List => Ok(list(&tools.runs())),
            Mode::Status => known(tools.run(self.id()?), self.id()?),
            Mode::Cancel => known(tools.cancel(self.id()?), self.id()?),
            Mode::Wait => {
                let patience = Duration::from_secs(self.timeout.unwrap_or(WAIT));
                known(tools.wait(self.id()?, patience, cx).await, self.id()?)
            }
        }
    }
}

fn known(run: Option<Run>, id: &str) -> ToolResult {
    run.map(|run| told(&run)).ok_or_else(|| {
        let shown: String = id.chars().take(40).collect();
        ToolError::not_available(format!("no such task: `{shown}`"))
            .hint("`list_tasks` shows those of this session")
    })
}

fn told(run: &Run) -> Output {
    let mut answer = line(run);
    if let (Some(outcome), Some(map)) = (&run.outcome, answer.as_object_mut()) {
        map.extend(told::outcome(outcome));
    }
    told::answer(answer, run.outcome.as_deref())
}

fn list(runs: &[Run]) -> Output {
    let tasks: Vec<Value> = runs.iter().map(line).collect();
    Output::structured(json!({"tasks": tasks, "count": tasks.len()}))
}

fn line(run: &Run) -> Value {
    json!({
        "task_id": run.id,
        "name": run.tool,
        "status": status(run),
        "age_ms": run.age.as_millis() as u64,
    })
}

fn status(run: &Run) -> &'static str {
    match &run.outcome {
        None if run.cancelled => "cancelling",
        None => "running",
        Some(_) if run.cancelled => "cancelled",
        Some(outcome) if outcome.ok => "completed",
        Some(_) => "failed",
    }
}
