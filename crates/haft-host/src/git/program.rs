//! The `git` program itself: found where the workspace cannot put one, run without a shell, with
//! an environment of its own and every setting off that would start something else.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use haft_core::{ErrorCode, ToolContext, ToolError};
use rustix::fs::{Access, access};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use super::GIT_OUTPUT;
use crate::blocking::blocking;
use crate::files::{Resolved, Workspace};

/// Most of what git complains that is kept.
const COMPLAINT: usize = 8 << 10;

/// Settings that would have git start a program, or reach out.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.askPass", ""),
    ("core.sshCommand", "false"),
    ("core.untrackedCache", "keep"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("protocol.allow", "never"),
    // A folder that merely looks like a repository could carry settings of its own.
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
    ("core.quotePath", "false"),
];

/// What git may know of where it runs.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
];

pub(super) struct Program {
    git: PathBuf,
    folder: OwnedFd,
    settings: Vec<(OsString, OsString)>,
}

pub(super) struct Answer {
    pub(super) success: bool,
    pub(super) output: Vec<u8>,
    pub(super) truncated: bool,
    pub(super) complaint: String,
}

impl Answer {
    pub(super) fn expect_success(self) -> Result<Self, ToolError> {
        // What was cut off did not end by itself.
        if self.success || self.truncated {
            Ok(self)
        } else {
            Err(self.failure())
        }
    }

    pub(super) fn failure(&self) -> ToolError {
        let told = self.complaint.lines().find(|line| !line.is_empty());
        let told = told.unwrap_or("no reason given");
        let told = told.strip_prefix("fatal: ").unwrap_or(told);
        ToolError::failed(told.to_owned())
    }
}

impl Program {
    /// The git of this machine, to be run in this folder.
    pub(super) fn find(workspace: &Workspace, folder: &Resolved) -> Result<Self, ToolError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let git = std::env::split_paths(&path)
            // A model can write into the workspace: a program from there is not git.
            .filter(|entry| entry.is_absolute() && !workspace.covers(entry))
            .map(|entry| entry.join("git"))
            .find(|git| git.is_file() && access(git, Access::EXEC_OK).is_ok())
            .ok_or_else(|| {
                ToolError::not_available("there is no `git` on this machine")
                    .hint("install git, outside the workspace and on the `PATH`")
            })?;
        let text = |text: &&str| OsString::from(*text);
        Ok(Program {
            git,
            folder: workspace.open_folder(folder)?,
            settings: SETTINGS.iter().map(|(k, v)| (text(k), text(v))).collect(),
        })
    }

    /// Filters turn a file into what is stored by running a program: none of them may. Takes
    /// the names of settings, each with a NUL behind it.
    pub(super) fn disable_filters(&mut self, names: &[u8]) {
        let names = String::from_utf8_lossy(names);
        for name in names.split('\0') {
            let Some((driver, action)) = name.rsplit_once('.') else {
                continue;
            };
            let off = match action {
                "clean" | "smudge" | "process" => "",
                "required" => "false",
                _ => continue,
            };
            let key = format!("{driver}.{action}");
            self.settings.push((key.into(), off.into()));
        }
    }

    pub(super) async fn ask(
        &self,
        args: &[OsString],
        cx: &ToolContext,
    ) -> Result<Answer, ToolError> {
        let broken = |error: io::Error| ToolError::failed("git cannot be run").caused_by(error);
        let mut running = Running(self.command(args).spawn().map_err(broken)?);
        let output = receiver(running.0.stdout.take()).map_err(broken)?;
        let errors = receiver(running.0.stderr.take()).map_err(broken)?;
        let reading = async { tokio::join!(read(output, GIT_OUTPUT), read(errors, COMPLAINT)) };
        let (output, errors) = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                return Err(ToolError::new(ErrorCode::Cancelled, "cancelled"));
            }
            both = reading => both,
        };
        let (output, truncated) = output.map_err(broken)?;
        let (errors, _) = errors.map_err(broken)?;
        let status = blocking(move || {
            if truncated {
                let _ = running.0.kill();
            }
            running.0.wait().map_err(broken)
        })
        .await?;
        Ok(Answer {
            success: status.success(),
            output,
            truncated,
            complaint: String::from_utf8_lossy(&errors).into_owned(),
        })
    }

    fn command(&self, args: &[OsString]) -> Command {
        let mut command = Command::new(&self.git);
        // The folder by its handle: a link put in its place leads nowhere.
        let folder = format!("/proc/self/fd/{}", self.folder.as_raw_fd());
        command
            .current_dir(folder)
            .args(["--no-pager", "--no-optional-locks"])
            .args(args)
            .env_clear()
            .envs(PASSED_ON.iter().filter_map(|&name| {
                let value = std::env::var_os(name)?;
                Some((OsStr::new(name), value))
            }))
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_PAGER", "cat")
            .env("GIT_CONFIG_COUNT", self.settings.len().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (index, (key, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{index}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        command
    }
}

/// A git that ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

fn receiver(pipe: Option<impl Into<OwnedFd>>) -> io::Result<Receiver> {
    let pipe = pipe.ok_or_else(|| io::Error::other("no pipe"))?;
    Receiver::from_owned_fd(pipe.into())
}

/// What comes through a pipe, up to a limit, and whether there was more.
async fn read(pipe: Receiver, limit: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut data = Vec::new();
    let mut limited = pipe.take(limit as u64 + 1);
    limited.read_to_end(&mut data).await?;
    let truncated = data.len() > limit;
    data.truncate(limit);
    Ok((data, truncated))
}
