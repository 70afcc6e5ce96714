//! A line that clones a repository into the workspace itself. git wants that folder to be empty,
//! and in a sandbox it is not: the place in which a new `.git` is made out of everybody's sight
//! needs a name there. So such a line runs on a layer over the workspace, as a dry run does, and
//! what it made is put in place when it has ended, without what a new repository would run.
//!
//! Which way a line runs is a guess from its words; both ways are equally closed, so a wrong
//! guess costs nothing but git's refusal.

use std::fs;
use std::path::Path;

use haft_core::{ErrorCode, ToolError};

use super::login::Variables;
use super::record::TAIL_CHARS;
use super::text::last_chars;
use super::{Finished, RunProcesses, ShellRequest, Watch};
use crate::Level;
use crate::sandbox::not_kept;
use crate::undo::Mark;

impl RunProcesses {
    /// Run a line that clones into the workspace. None when this is none, or when this machine
    /// has no layers: then it is run like any other.
    pub(super) async fn run_clone(
        &self,
        request: &ShellRequest,
        environment: &Variables,
        watch: &mut Watch<'_>,
        mark: Option<&Mark>,
    ) -> Result<Option<Finished>, ToolError> {
        let workspace = self.inner.workspace.path();
        let level = self.inner.config.sandbox.as_ref().map(|one| one.level());
        // What is put in place afterwards no mount has kept to the rules.
        if level != Some(Level::Sandboxed)
            || request.closed.closes_writes()
            || !clones_into(workspace, request)
            || !is_empty(workspace)
        {
            return Ok(None);
        }
        let once = Watch {
            live: &mut *watch.live,
            cancel: watch.cancel,
            session: watch.session,
        };
        let tried = self.rehearse_in(environment.clone(), request.clone(), once);
        let (mut finished, trial) = match tried.await {
            Err(error) if error.code == ErrorCode::NotAvailable => return Ok(None),
            tried => tried?,
        };
        let (trial, lost) = self.commit_trial(trial, mark.cloned()).await?;
        finished.lost = lost;
        for name in &trial.left_out {
            let told = format!("haft: {}\n", not_kept(&name.to_string_lossy()));
            (watch.live)(&told);
            finished.remark(&told);
        }
        Ok(Some(finished))
    }
}

/// Whether a line may clone a repository into this very folder.
fn clones_into(workspace: &Path, request: &ShellRequest) -> bool {
    let between = |sign: char| sign.is_whitespace() || ";&|(){}`'\"$<>".contains(sign);
    let words = || request.line.split(between).filter(|word| !word.is_empty());
    let leads_here = |word| {
        request
            .cwd
            .join(word)
            .components()
            .eq(workspace.components())
    };
    words().any(|word| word == "clone") && words().any(leads_here)
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

impl Finished {
    /// Add a line of haft's own to what the command wrote.
    fn remark(&mut self, line: &str) {
        if !self.output.is_empty() && !self.output.ends_with('\n') {
            self.output.push('\n');
        }
        self.output.push_str(line);
        self.tail = last_chars(&self.output, TAIL_CHARS).to_owned();
        self.total_bytes += line.len() as u64;
        self.total_chars += line.chars().count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn which_lines_clone_into_the_workspace() {
        let check = |cwd: &str, line: &str, expected: bool| {
            let request = ShellRequest {
                line: line.to_owned(),
                cwd: cwd.into(),
                timeout: Duration::ZERO,
                terminal: None,
                closed: crate::ClosedPlaces::default(),
            };
            let found = clones_into(Path::new("/w/space"), &request);
            assert_eq!(found, expected, "{cwd}: {line}");
        };
        check("/w/space", "git clone /srv/repo .", true);
        check("/w/space", "git clone -q '/srv/repo' './' && ls", true);
        check("/w/space", "gh repo clone a/b /w/space", true);
        check("/w/space", "git clone /srv/repo", false);
        check("/w/space", "git clone /srv/repo sub", false);
        check("/w/space/sub", "git clone /srv/repo .", false);
        check("/w/space", "git init .", false);
    }
}
