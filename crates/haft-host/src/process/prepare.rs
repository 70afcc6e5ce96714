//! A command with its environment, before it starts: plain, or inside a sandbox.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use haft_core::ToolError;

use super::{Finished, ProcessConfig};
use crate::sandbox::{Input, Report};
use crate::{Level, filter_env};

/// A command ready to start.
pub(super) struct Prepared {
    pub(super) command: Command,
    pub(super) entered: Entered,
}

/// What is known about the sandbox of a command, to be confirmed once it has ended.
pub(super) struct Entered {
    level: Level,
    report: Option<Report>,
}

/// A program and its arguments, with the environment it may see.
pub(super) fn prepare(
    config: &ProcessConfig,
    workspace: &Path,
    cwd: &Path,
    argv: &[&OsStr],
) -> Result<Prepared, ToolError> {
    let environment = filter_env(std::env::vars_os(), &config.env);
    let sandbox = config.sandbox.as_ref();
    let level = sandbox.map_or(Level::Shared, |sandbox| sandbox.level());
    let Some(sandbox) = sandbox.filter(|_| level.is_enforced()) else {
        let [program, arguments @ ..] = argv else {
            return Err(ToolError::input_invalid("no program to run"));
        };
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(environment);
        let entered = Entered::new(level, None);
        return Ok(Prepared { command, entered });
    };
    let enclosed = sandbox.command(workspace, cwd, argv, Input::Plain)?;
    let mut command = enclosed.command;
    command
        .env_clear()
        .envs(sandbox.environment(environment, &config.env));
    let entered = Entered::new(level, Some(enclosed.report));
    Ok(Prepared { command, entered })
}

impl Entered {
    pub(super) fn new(level: Level, report: Option<Report>) -> Self {
        Entered { level, report }
    }

    /// What really happened: a command that the sandbox refused has not run.
    pub(super) fn confirm(self, mut finished: Finished) -> Result<Finished, ToolError> {
        let stopped = finished.timed_out || finished.cancelled;
        match self.report.map(Report::check) {
            Some(Err(error)) if !stopped => return Err(error),
            _ => finished.level = self.level,
        }
        Ok(finished)
    }
}
