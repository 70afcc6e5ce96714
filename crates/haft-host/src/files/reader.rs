//! The power to read files: in this process, or in a worker if there are any. What a session has
//! read is remembered here either way.

use std::sync::Arc;

use haft_core::{CancelToken, Capability, Power, ToolContext, ToolError};

use super::read::{INLINE, LineRange, ReadOutcome, Reading, open, read_bytes_now, read_opened};
use super::{Resolved, Workspace};
use crate::blocking::blocking;
use crate::workers::{Bytes, Job, Workers};

/// The power to read files.
#[derive(Debug, Clone)]
pub struct ReadFiles {
    workspace: Arc<Workspace>,
    workers: Option<Workers>,
}

impl Power for ReadFiles {
    const CAPABILITIES: &'static [Capability] = &[Capability::FilesystemRead];
}

impl ReadFiles {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        ReadFiles {
            workspace,
            workers: None,
        }
    }

    /// Read in these workers, if there are any, and not in this process.
    #[must_use]
    pub fn through(mut self, workers: Option<&Workers>) -> Self {
        self.workers = workers.cloned();
        self
    }

    pub fn resolve(&self, path: &str) -> Result<Resolved, ToolError> {
        self.workspace.resolve(path)
    }

    /// Lines of a text file, or an image whole.
    pub async fn read(
        &self,
        place: &Resolved,
        range: LineRange,
        cx: &ToolContext,
    ) -> Result<Reading, ToolError> {
        let outcome = match &self.workers {
            Some(workers) => {
                let place = place.clone();
                let job = Job::Read { place, range };
                workers.ask(&job, &cx.cancel, &mut |_| {}).await?
            }
            None => self.read_here(place, range, &cx.cancel).await?,
        };
        let version = outcome.version();
        let seen = &self.workspace.seen;
        seen.note(&cx.caller.session, place.path(), version);
        Ok(outcome.reading)
    }

    async fn read_here(
        &self,
        place: &Resolved,
        range: LineRange,
        cancel: &CancelToken,
    ) -> Result<ReadOutcome, ToolError> {
        let opened = open(&self.workspace, place)?;
        if opened.size <= INLINE {
            return read_opened(opened, place, range, cancel);
        }
        let (place, cancel) = (place.clone(), cancel.clone());
        blocking(move || read_opened(opened, &place, range, &cancel)).await
    }

    /// A whole file of any kind.
    pub async fn read_bytes(
        &self,
        place: &Resolved,
        cx: &ToolContext,
    ) -> Result<Vec<u8>, ToolError> {
        let (place, cancel) = (place.clone(), cx.cancel.clone());
        if let Some(workers) = &self.workers {
            let job = Job::ReadBytes { place };
            let bytes: Bytes = workers.ask(&job, &cancel, &mut |_| {}).await?;
            return Ok(bytes.0);
        }
        let workspace = self.workspace.clone();
        blocking(move || read_bytes_now(&workspace, &place, &cancel)).await
    }
}
