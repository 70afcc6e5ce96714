//! Why changes were not put in place, and the words for it.

use std::io;
use std::path::{Path, PathBuf};

use haft_core::ToolError;
use rustix::io::Errno;

/// Why the changes were not put in place. Nothing has changed then, unless they are stuck.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// Something is not as it was expected
    Conflict(PathBuf),
    Failed(PathBuf, io::Error),
    /// Not everything could be put back
    Stuck(io::Error),
}

impl Stopped {
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Stopped {
        let path = path.to_owned();
        move |error| match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(
                Errno::NOENT
                | Errno::EXIST
                | Errno::NOTEMPTY
                | Errno::LOOP
                | Errno::NOTDIR
                | Errno::ISDIR,
            ) => Stopped::Conflict(path),
            _ => Stopped::Failed(path, error),
        }
    }

    /// In words, with a hint for the case that somebody else was there.
    pub(crate) fn told(self, since: &str, hint: &str) -> ToolError {
        match self {
            Stopped::Conflict(path) => {
                ToolError::conflict(format!("changed since {since}: `{}`", path.display()))
                    .hint(format!("nothing was changed; {hint}"))
            }
            Stopped::Failed(path, error) => ToolError::failed(format!(
                "cannot be put in place: `{}`: {error}",
                path.display()
            ))
            .hint("nothing was changed")
            .caused_by(error),
            Stopped::Stuck(error) => ToolError::new(
                haft_core::ErrorCode::Uncertain,
                "some of the changes could not be put back",
            )
            .hint("look into the folder `.haft-trial-…` of the workspace")
            .caused_by(error),
        }
    }
}
