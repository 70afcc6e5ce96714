//! A command with its environment, before it starts: plain, or inside a sandbox.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::Command;

use haft_core::ToolError;

use super::login::Variables;
use super::{Finished, ProcessConfig};
use crate::Level;
use crate::sandbox::{End, Entering, Input, Leavings, Report};

/// A command ready to start.
pub(super) struct Ready {
    pub(super) command: Command,
    pub(super) entered: Entered,
    pub(super) group: Group,
    /// For whoever ends it by force
    pub(super) leavings: Option<Leavings>,
}

/// What is known about the sandbox of a command, to be confirmed once it has ended.
pub(super) struct Entered {
    level: Level,
    report: Option<Report>,
}

/// A program and its arguments, with the environment it may see.
pub(super) fn prepare(
    config: &ProcessConfig,
    entering: &Entering<'_>,
    environment: Variables,
    watcher: Option<&str>,
) -> Result<Ready, ToolError> {
    let sandbox = config.sandbox.as_ref();
    let level = sandbox.map_or(Level::Shared, |sandbox| sandbox.level());
    let Some(sandbox) = sandbox.filter(|_| level.is_enforced()) else {
        let (mut command, group) = plain(config, entering.argv, entering.input)?;
        if let (Some(watcher), Some(wrapper)) = (watcher, &config.watched) {
            command = watched(wrapper, watcher, &command);
        }
        command.env_clear().envs(environment);
        let entered = Entered::new(level, None);
        return Ok(Ready {
            command,
            entered,
            group,
            leavings: None,
        });
    };
    let enclosed = sandbox.enclose(entering, None, watcher)?;
    let mut command = enclosed.command;
    command
        .env_clear()
        .envs(sandbox.environment(environment, &config.env));
    let entered = Entered::new(level, Some(enclosed.report));
    Ok(Ready {
        command,
        entered,
        group: Group::Given,
        leavings: Some(enclosed.leavings),
    })
}

/// A program with the rights of this process, away from its terminal.
pub(super) fn plain(
    config: &ProcessConfig,
    argv: &[&OsStr],
    input: Input,
) -> Result<(Command, Group), ToolError> {
    let [program, arguments @ ..] = argv else {
        return Err(ToolError::input_invalid("no program to run"));
    };
    let (mut command, group) = match &config.session {
        Some(session) if input == Input::Terminal || has_terminal() => {
            let mut command = Command::new(&session[0]);
            let how = match input {
                Input::Plain => NO_TERMINAL,
                Input::Terminal => OWN_TERMINAL,
            };
            command.args(&session[1..]).arg(how).arg(program);
            (command, Group::Own)
        }
        None if input == Input::Terminal => {
            return Err(ToolError::not_available(
                "no way to give a command a terminal of its own",
            ));
        }
        _ => (Command::new(program), Group::Given),
    };
    command.args(arguments);
    Ok((command, group))
}

/// A command with somebody who is told of every change.
fn watched(wrapper: &[OsString], watcher: &str, inner: &Command) -> Command {
    let mut command = Command::new(wrapper.first().map_or(OsStr::new(""), |one| one));
    command
        .args(wrapper.iter().skip(1))
        .arg(watcher)
        .arg(inner.get_program())
        .args(inner.get_args());
    command
}

/// Who makes the command a group of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// We do, at its start
    Given,
    /// It does, with a session of its own
    Own,
}

/// Whether haft has a terminal. A command in the same session could read what a person types
/// there, or type itself.
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// What [`session_main`] is told about the terminal of a command.
const NO_TERMINAL: &str = "none";
const OWN_TERMINAL: &str = "stdin";

/// Leave the session and its terminal behind, take over the one that is standard input if there
/// is to be one, then become the command.
pub fn session_main(mut arguments: impl Iterator<Item = OsString>) -> std::io::Error {
    let own = arguments.next().is_some_and(|how| how == OWN_TERMINAL);
    let left = rustix::process::setsid().map(drop);
    let taken = left.and_then(|()| match own {
        true => rustix::process::ioctl_tiocsctty(std::io::stdin()),
        false => Ok(()),
    });
    if let Err(error) = taken {
        return error.into();
    }
    match arguments.next() {
        Some(program) => Command::new(program).args(arguments).exec(),
        None => std::io::ErrorKind::InvalidInput.into(),
    }
}

impl Entered {
    pub(super) fn new(level: Level, report: Option<Report>) -> Self {
        Entered { level, report }
    }

    /// What it is meant to be kept to.
    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// What really happened: a command that the sandbox refused has not run.
    pub(super) fn confirm(self, mut finished: Finished) -> Result<Finished, ToolError> {
        let stopped = finished.timed_out || finished.cancelled;
        match self.report.map(Report::check) {
            Some(Err(error)) if !stopped => return Err(error),
            // The limit came while the sandbox was being taken down.
            Some(Ok(End::ByItself)) if finished.exit_code.is_some() => {
                finished.timed_out = false;
                finished.cancelled = false;
            }
            _ => {}
        }
        finished.level = self.level;
        Ok(finished)
    }
}
