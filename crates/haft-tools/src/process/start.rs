//! `process.start`: a program in the background.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use haft_core::{
    CommandLine, Effects, Resource, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{Mark, Program, RunProcesses, SessionRequest};
use schemars::JsonSchema;
use serde::Deserialize;

use super::told;
use crate::milliseconds::Milliseconds;
use crate::session_id;

/// Start a program in the background and answer with its session. With `args`, even an empty
/// list, `command` is one program and no shell is used; without, it is a line for the shell. It
/// does not wait for commands that are still running. The session ends with haft at the latest.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    /// Command to execute
    #[schemars(length(min = 1), extend("x-aliases" = ["cmd"]))]
    command: String,
    /// Command arguments, each as it is
    #[serde(default)]
    args: Option<Vec<String>>,
    /// Directory to run in, relative to the workspace; the workspace itself if left out
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["workdir"]))]
    cwd: Option<String>,
    /// Milliseconds until it is ended; a day if left out
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["timeout_ms", "timeoutMs"]))]
    timeout: Option<Milliseconds>,
    /// Keep the input open for `process.write`: yes if left out
    #[serde(default)]
    stdin: Option<bool>,
    /// Run it at a terminal of its own, for programs that insist on one
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["tty"]))]
    pty: bool,
    /// Columns of that terminal: 80 if left out
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    columns: Option<u16>,
    /// Rows of that terminal: 24 if left out
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    rows: Option<u16>,
    /// Where policy was told it would run
    #[serde(skip)]
    judged: OnceLock<PathBuf>,
}

impl Tool for Start {
    const NAME: &'static str = "process.start";
    type Power = RunProcesses;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Start a background process")
            .tags(&["process", "background", "session", "run", "server"])
            .side_effects(&["runs programs that may change files and use the network"])
            .risk(Risk::High)
            .irreversible()
    }

    fn effects(&self, power: &RunProcesses, cx: &ToolContext) -> Result<Effects, ToolError> {
        if let Some(error) = power.no_background() {
            return Err(error);
        }
        let cwd = self.directory(power)?;
        let workspace = cx.caller.workspace.as_path();
        let mut effects = Effects::none()
            .writes(Resource::Tree(workspace.to_owned()))
            .writes(told::sessions())
            .going_on_if(true)
            .bound_to(power.fingerprint());
        if !cwd.starts_with(workspace) {
            effects = effects.writes(Resource::Tree(cwd.clone()));
        }
        Ok(effects.runs(match self.program() {
            Program::Line(line) => CommandLine::Shell { line, cwd },
            Program::Argv(argv) => CommandLine::Argv { argv, cwd },
        }))
    }

    async fn run(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        let closed = power.closed(cx).await?;
        let hidden = closed.secrets();
        let session = power
            .begin(SessionRequest {
                id: session_id::fresh(),
                program: self.program(),
                cwd: self.directory(power)?,
                timeout: self.timeout.map_or(Duration::ZERO, Milliseconds::time),
                input: self.stdin.unwrap_or(true),
                terminal: told::terminal(self.pty, self.columns, self.rows),
                mark: Mark::of(cx),
                closed,
            })
            .await?;
        session.to_background();
        Ok(told::with_hidden(told::running(&session), hidden))
    }
}

impl Start {
    fn program(&self) -> Program {
        match &self.args {
            None => Program::Line(self.command.clone()),
            Some(args) => {
                let mut argv = vec![self.command.clone()];
                argv.extend(args.iter().cloned());
                Program::Argv(argv)
            }
        }
    }

    /// Where it runs. A link that was moved after policy had looked is noticed.
    fn directory(&self, power: &RunProcesses) -> Result<PathBuf, ToolError> {
        if self.command.trim().is_empty() {
            return Err(ToolError::input_invalid("`command`: must not be empty"));
        }
        let now = power.directory(self.cwd.as_deref())?;
        let judged = self.judged.get_or_init(|| now.clone());
        if *judged == now {
            return Ok(now);
        }
        Err(ToolError::conflict(format!(
            "the working directory now leads elsewhere: `{}`",
            now.display()
        ))
        .hint("call again"))
    }
}
