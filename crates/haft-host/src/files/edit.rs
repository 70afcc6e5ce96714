//! Editing: read a whole text, give it back changed, and refuse if it moved in between.

use std::sync::Arc;

use haft_core::{Capability, Power, ToolContext, ToolError};

use super::open::{Stamp, open_regular};
use super::read::{TEXT_LIMIT, Unreadable, read_capped};
use super::write::{Expected, changed, replace};
use super::{Resolved, Workspace};
use crate::blocking::blocking;

/// The power to change files that are there.
#[derive(Debug, Clone)]
pub struct EditFiles(Arc<Workspace>);

impl Power for EditFiles {
    const CAPABILITIES: &'static [Capability] = &[
        Capability::FilesystemEdit,
        Capability::FilesystemRead,
        Capability::FilesystemWrite,
    ];
}

/// A text as it was at one moment.
#[derive(Debug)]
pub struct Snapshot {
    pub text: String,
    stamp: Stamp,
}

impl EditFiles {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        EditFiles(workspace)
    }

    pub fn resolve(&self, path: &str) -> Result<Resolved, ToolError> {
        self.0.resolve_for_writing(path)
    }

    /// The text of a file. A conflict if this session has read another state of it before.
    pub async fn read(&self, place: &Resolved, cx: &ToolContext) -> Result<Snapshot, ToolError> {
        let (workspace, place) = (self.0.clone(), place.clone());
        let (session, cancel) = (cx.caller.session.clone(), cx.cancel.clone());
        blocking(move || {
            let opened = open_regular(workspace.handle(&place), place.relative(), place.path())?;
            let told = |error: Unreadable| error.told(&place, opened.size);
            let content = read_capped(&opened.file, TEXT_LIMIT, &cancel).map_err(told)?;
            if workspace
                .seen
                .is_stale(&session, place.path(), opened.stamp, &content)
            {
                return Err(changed(place.path()));
            }
            let text = String::from_utf8(content).map_err(|error| {
                let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = valid.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
                told(Unreadable::NotUtf8(line))
            })?;
            Ok(Snapshot {
                text,
                stamp: opened.stamp,
            })
        })
        .await
    }

    /// Put a changed text in the place of the one that was read.
    pub async fn replace(
        &self,
        place: &Resolved,
        before: &Snapshot,
        after: String,
        cx: &ToolContext,
    ) -> Result<(), ToolError> {
        let expected = Expected::State(before.stamp);
        replace(&self.0, place, after.into_bytes(), expected, cx).await
    }
}
