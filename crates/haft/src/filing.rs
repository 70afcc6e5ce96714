//! The powers over the files of the workspace, for a caller who may have any.

use std::sync::Arc;

use haft_core::{Backend, Powers};
use haft_host::{
    ChangeFiles, EditFiles, FindFiles, ListFiles, ReadFiles, ReadGit, RunProcesses, SearchText,
    UndoFiles, Workspace, WriteFiles,
};

use crate::config::IsolationLevel;

pub(crate) fn empower(
    powers: &mut Powers,
    level: IsolationLevel,
    workspace: Arc<Workspace>,
    search: SearchText,
    processes: &RunProcesses,
) {
    if level == IsolationLevel::AirGapped {
        // Its commands see none either.
        let why = "an air-gapped caller has no files (`isolation.level`)";
        return powers.withhold(Backend::FsReach, why);
    }
    powers.insert(ReadFiles::new(workspace.clone()).through(processes.workers()));
    powers.insert(ListFiles::new(workspace.clone()));
    powers.insert(FindFiles::new(workspace.clone()));
    powers.insert(search);
    powers.insert(WriteFiles::new(workspace.clone()).through(processes.workers()));
    powers.insert(EditFiles::new(workspace.clone()));
    powers.insert(ChangeFiles::new(workspace.clone()));
    powers.insert(UndoFiles::new(workspace.clone()));
    powers.insert(ReadGit::new(workspace));
}
