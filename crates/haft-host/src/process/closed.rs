use haft_core::{ToolContext, ToolError};

use super::RunProcesses;
use crate::ClosedPlaces;
use crate::blocking::blocking;

impl RunProcesses {
    /// What rules close to the commands of a call, as it lies there now. Only a sandbox can keep a
    /// program to that, so without one there is nothing to look for.
    pub async fn closed(&self, cx: &ToolContext) -> Result<ClosedPlaces, ToolError> {
        let (Some(closed), Some(sandbox)) = (&cx.closed, &self.inner.config.sandbox) else {
            return Ok(ClosedPlaces::default());
        };
        if !sandbox.level().is_enforced() && !cx.dry_run {
            return Ok(ClosedPlaces::default());
        }
        let grounds = sandbox.grounds(self.inner.workspace.path());
        let (closed, cancel) = (closed.clone(), cx.cancel.clone());
        blocking(move || ClosedPlaces::find(&*closed, &grounds, &cancel)).await
    }
}
