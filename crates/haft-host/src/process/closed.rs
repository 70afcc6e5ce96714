use haft_core::{ToolContext, ToolError};

use super::RunProcesses;
use crate::ClosedPlaces;
use crate::blocking::blocking;

impl RunProcesses {
    /// What is closed to the commands of a call, as it lies there now: by rules, and because it
    /// holds secrets and nobody was asked. Only a sandbox can keep a program to that, so without
    /// one there is nothing to look for.
    pub async fn closed(&self, cx: &ToolContext) -> Result<ClosedPlaces, ToolError> {
        let Some(sandbox) = &self.inner.config.sandbox else {
            return Ok(ClosedPlaces::default());
        };
        let nothing = cx.closed.is_none() && !cx.unasked;
        if nothing || !sandbox.level().is_enforced() && !cx.dry_run {
            return Ok(ClosedPlaces::default());
        }
        let grounds = sandbox.grounds(self.inner.workspace.path());
        let (closed, cancel, unasked) = (cx.closed.clone(), cx.cancel.clone(), cx.unasked);
        blocking(move || match &closed {
            Some(closed) if !unasked => ClosedPlaces::find(&**closed, &grounds, &cancel),
            closed => {
                let rules = closed.as_deref().map(|one| one as _);
                ClosedPlaces::find_unasked(rules, &grounds, &cancel)
            }
        })
        .await
    }
}
