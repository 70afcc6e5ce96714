//! The place a call is about. It is resolved once: what policy has judged is what is opened,
//! even if a link on the way is changed in between.

use std::sync::OnceLock;

use haft_core::ToolError;
use haft_host::Resolved;

#[derive(Debug, Default)]
pub(crate) struct Target(OnceLock<Resolved>);

impl Target {
    pub(crate) fn get(
        &self,
        resolve: impl FnOnce() -> Result<Resolved, ToolError>,
    ) -> Result<&Resolved, ToolError> {
        if let Some(resolved) = self.0.get() {
            return Ok(resolved);
        }
        let resolved = resolve()?;
        Ok(self.0.get_or_init(|| resolved))
    }
}
