//! Commands kept away from the rest of the machine, by the kernel and not by good will.
//!
//! A [`Sandbox`] says what a session's commands may touch; [`Sandbox::command`] gives a command
//! that starts inside. What is missing on a machine refuses the command: nothing is skipped
//! silently. Which commands run at all is decided elsewhere.

mod closed;
mod filter;
mod git_config;
mod guarded;
mod held_signals;
mod homes;
mod init;
mod launch;
mod level;
mod mounts;
mod newborn;
mod placeholder;
mod probe;
mod report;
mod rights;
mod secrets;
mod spec;
mod sys;
mod trail;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use haft_core::ToolError;
use serde::{Deserialize, Serialize};

pub use closed::ClosedPlaces;
pub use launch::launcher_main;
pub use level::{Isolation, Level, Weaker};
pub use probe::{Feature, lacking, probe};
pub use report::Report;
pub use spec::Limits;

pub(crate) use closed::Grounds;
pub(crate) use guarded::PROJECT_CONFIG;
pub(crate) use newborn::{may_be_born as may_become_repository, sanitize as sanitize_repository};
pub(crate) use placeholder::{is_mark as is_placeholder, not_kept};
pub(crate) use report::End;
pub(crate) use spec::OverlayDirs;

use crate::EnvPolicy;
use spec::Spec;

/// Variables that point to places which are not there inside.
const OUTSIDE: [&str; 6] = [
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// What the commands of a session are kept to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sandbox {
    /// Program and arguments that end in [`launcher_main`]
    pub launcher: Vec<OsString>,
    pub isolation: Isolation,
    /// haft's own state, which nobody inside sees
    pub state: PathBuf,
    /// The user's home, which is out of sight but for what programs need
    pub home: Option<PathBuf>,
    /// Besides the workspace, what commands may write
    pub roots: Vec<PathBuf>,
    /// What commands may read in homes besides what programs need
    pub readable: Vec<PathBuf>,
    pub limits: Limits,
}

/// A command that is to be started inside, and what it will say about its start.
#[derive(Debug)]
pub struct Enclosed {
    /// Standard streams, environment and process group are the caller's to set
    pub command: Command,
    pub report: Report,
    pub(crate) leavings: Leavings,
}

/// What a launcher leaves in the workspace when it is killed before it can put it right.
#[derive(Debug)]
pub(crate) struct Leavings(Spec);

impl Leavings {
    /// Take it away, unless another command needs it.
    pub(crate) fn take_away(&self) {
        for place in guarded::guarded(&self.0) {
            if placeholder::stands_at(&place.path)
                && let Ok(Some(held)) = placeholder::hold(&place.path, place.if_missing)
            {
                held.release();
            }
        }
    }
}

/// A command that is to enter a sandbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entering<'a> {
    /// The folder that may be written
    pub(crate) workspace: &'a Path,
    pub(crate) cwd: &'a Path,
    pub(crate) argv: &'a [&'a OsStr],
    pub(crate) input: Input,
    pub(crate) closed: &'a ClosedPlaces,
}

/// How a command meets its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A pipe, a file or nothing
    Plain,
    /// A terminal that it is to control
    Terminal,
}

impl Sandbox {
    pub fn level(&self) -> Level {
        self.isolation.level
    }

    /// What rules can close to the commands of this sandbox.
    pub(crate) fn grounds(&self, workspace: &Path) -> Grounds {
        let mut writable = vec![real(workspace)];
        writable.extend(self.roots.iter().map(|root| real(root)));
        Grounds {
            writable,
            home: self.home.as_deref().map(real),
            readable: self.readable.iter().map(|place| real(place)).collect(),
            state: real(&self.state),
        }
    }

    /// What of an environment makes sense inside.
    pub fn environment(
        &self,
        all: Vec<(OsString, OsString)>,
        policy: &EnvPolicy,
    ) -> Vec<(OsString, OsString)> {
        let stays = |name: &OsStr| {
            let Some(name) = name.to_str() else {
                return false;
            };
            let named = policy.extra.iter().any(|extra| extra == name);
            match self.level() {
                Level::Shared | Level::Scoped => true,
                Level::Sandboxed => named || !OUTSIDE.contains(&name),
                Level::AirGapped => named || ["PATH", "HOME"].contains(&name),
            }
        };
        let mut all: Vec<_> = all.into_iter().filter(|(name, _)| stays(name)).collect();
        if self.level() == Level::AirGapped && !all.iter().any(|(name, _)| name == "TMPDIR") {
            all.push(("TMPDIR".into(), "/tmp".into()));
        }
        all
    }

    /// A program with its arguments, to be started inside. `watcher` wants to know of every
    /// change.
    pub(crate) fn enclose(
        &self,
        entering: &Entering<'_>,
        overlay: Option<OverlayDirs>,
        watcher: Option<&str>,
    ) -> Result<Enclosed, ToolError> {
        let broken =
            |error: io::Error| ToolError::failed("the sandbox cannot be prepared").caused_by(error);
        let [program, arguments @ ..] = self.launcher.as_slice() else {
            return Err(ToolError::not_available("no launcher for the sandbox")
                .hint("haft does not know where its own program is"));
        };
        let (workspace, state) = (real(entering.workspace), real(&self.state));
        check_places(&workspace, &state)?;
        let report = Report::new().map_err(broken)?;
        let spec = Spec {
            level: self.isolation.level,
            parent: std::process::id() as i32,
            report: report.descriptor(),
            cwd: real(entering.cwd),
            roots: self.roots.iter().map(|root| real(root)).collect(),
            readable: self.readable.iter().map(|place| real(place)).collect(),
            workspace,
            state,
            home: self.home.as_deref().map(real),
            overlay,
            watcher: watcher.map(str::to_owned),
            limits: self.limits,
            closed: entering.closed.clone(),
            terminal: entering.input == Input::Terminal,
            landlock: !self.isolation.goes_without(Weaker::NoLandlock),
            process_limit: !self.isolation.goes_without(Weaker::NoProcessLimit),
        };
        let told = serde_json::to_string(&spec).map_err(|error| {
            ToolError::not_available("the sandbox takes only paths that are UTF-8").caused_by(error)
        })?;
        let mut command = Command::new(program);
        command.args(arguments).arg(told).args(entering.argv);
        Ok(Enclosed {
            command,
            report,
            leavings: Leavings(spec),
        })
    }
}

fn check_places(workspace: &Path, state: &Path) -> Result<(), ToolError> {
    if workspace.parent().is_none() {
        return Err(ToolError::not_available(
            "the whole file system cannot be a sandbox's workspace",
        )
        .hint("choose a folder with `--workspace`"));
    }
    if workspace.starts_with(state) {
        return Err(ToolError::not_available(
            "a sandbox's workspace cannot lie in haft's own files",
        )
        .hint("choose a folder with `--workspace`"));
    }
    Ok(())
}

/// Where a path leads, as far as it is there.
fn real(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (there.canonicalize(), path.strip_prefix(there)) {
            return found.join(rest);
        }
    }
    path.to_owned()
}
