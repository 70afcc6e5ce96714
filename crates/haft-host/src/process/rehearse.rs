//! Trying a line out: on a layer over the workspace, without network, without sockets of the
//! machine and without sight of other processes.

use std::path::Path;

use haft_core::ToolError;

use super::login::Variables;
use super::prepare::{Entered, Group};
use super::{Finished, RunProcesses, ShellRequest, Watch, alone, run, start_error, started};
use crate::blocking::blocking;
use crate::sandbox;
use crate::sandbox::{Entering, Isolation, Level, Sandbox};
use crate::trial::{Trial, Trials};
use crate::undo::{Lost, Mark, Touch, unkept};

impl RunProcesses {
    /// Run a line without letting it change anything, and keep what it would have changed.
    pub async fn rehearse(
        &self,
        request: ShellRequest,
        watch: Watch<'_>,
    ) -> Result<(Finished, Trial), ToolError> {
        let environment = self.environment_unless(watch.cancel).await;
        self.rehearse_in(environment, request, watch).await
    }

    /// The same with an environment that is known.
    pub(super) async fn rehearse_in(
        &self,
        environment: Variables,
        request: ShellRequest,
        watch: Watch<'_>,
    ) -> Result<(Finished, Trial), ToolError> {
        let config = &self.inner.config;
        let sandbox = self.stage()?;
        let workspace = self.inner.workspace.path().to_owned();
        let begun = self.trials(&sandbox).begin(&workspace).map_err(no_room)?;
        let argv = [
            self.inner.shell.as_os_str(),
            "-c".as_ref(),
            request.line.as_ref(),
        ];
        let overlay = Some(begun.dirs());
        let (streams, input) = alone(request.terminal)?;
        let entering = Entering {
            workspace: &workspace,
            cwd: &request.cwd,
            argv: &argv,
            input,
            closed: &request.closed,
        };
        let enclosed = sandbox.enclose(&entering, overlay, None)?;
        let sandbox::Enclosed {
            mut command,
            report,
            ..
        } = enclosed;
        command
            .env_clear()
            .envs(sandbox.environment(environment, &config.env));
        let entered = Entered::new(sandbox.level(), Some(report));
        let beginning = started::start(
            command,
            &request.cwd,
            Group::Given,
            streams,
            self.inner.guardian.clone(),
        )
        .map_err(|error| start_error(error, &request, &self.inner.shell))?;
        let timeout = config.clamp_timeout(request.timeout);
        let keep = self.keep(watch.session);
        let session = watch.session.to_owned();
        let finished = run::follow(beginning, timeout, watch, keep, None).await?;
        let finished = entered.confirm(finished)?;
        let trial = blocking(move || {
            begun.conclude(&session, &workspace).map_err(|error| {
                ToolError::failed(format!("cannot tell what the command changed: {error}"))
                    .caused_by(error)
            })
        })
        .await?;
        Ok((finished, trial))
    }

    /// A trial that this session has run on this workspace.
    pub fn trial(&self, id: &str, session: &str) -> Result<Trial, ToolError> {
        let sandbox = self.stage()?;
        self.trials(&sandbox)
            .load(id, session, self.inner.workspace.path())
    }

    /// Put what a trial changed in place: all of it, or nothing and an answer why. With what
    /// cannot be undone.
    pub async fn commit_trial(
        &self,
        trial: Trial,
        mark: impl Into<Option<Mark>>,
    ) -> Result<(Trial, Vec<Lost>), ToolError> {
        let workspace = self.inner.workspace.clone();
        let mark = mark.into();
        blocking(move || {
            let recorder = mark.map(|mark| workspace.recorder(mark)).transpose()?;
            let Some(mut recorder) = recorder.flatten() else {
                return trial.commit().map(|()| (trial, Vec::new()));
            };
            for change in &trial.changes {
                recorder
                    .touch(0, &change.path, Touch::Here)
                    .map_err(unkept)?;
            }
            recorder.sync().map_err(unkept)?;
            let done = trial.commit();
            let recorded = recorder.finish().unwrap_or_default();
            done.map(|()| (trial, recorded.lost))
        })
        .await
    }

    /// Drop a trial.
    pub async fn discard_trial(&self, trial: Trial) -> Result<(), ToolError> {
        blocking(move || trial.discard()).await
    }

    /// The sandbox for a trial: never freer than the one for real runs.
    fn stage(&self) -> Result<Sandbox, ToolError> {
        let Some(sandbox) = &self.inner.config.sandbox else {
            return Err(
                ToolError::not_available("commands cannot be tried out here")
                    .hint("no sandbox is set up"),
            );
        };
        let isolation = sandbox.isolation.stricter(&Isolation::at(Level::Sandboxed));
        if isolation.level > Level::Sandboxed {
            return Err(ToolError::not_available(
                "an air-gapped command has no workspace to change",
            ));
        }
        let workspace = self.inner.workspace.path();
        if sandbox.state.starts_with(workspace) {
            return Err(overlapping(workspace));
        }
        Ok(Sandbox {
            isolation,
            ..sandbox.clone()
        })
    }

    fn trials(&self, sandbox: &Sandbox) -> Trials {
        Trials::in_state(&sandbox.state)
    }
}

fn overlapping(workspace: &Path) -> ToolError {
    ToolError::not_available(format!(
        "haft's own files lie in the workspace, so nothing can be tried out: `{}`",
        workspace.display()
    ))
    .hint("set `HAFT_HOME` to a folder outside of it")
}

fn no_room(error: std::io::Error) -> ToolError {
    ToolError::not_available(format!("no room for a trial: {error}")).caused_by(error)
}
