//! One wording for what the file system refuses.

use std::io;
use std::path::Path;

use haft_core::{ErrorCode, ToolError};
use rustix::io::Errno;

/// The answer to a failed file operation: `doing` says what was tried ("read", "write to").
pub(crate) fn failure(doing: &str, path: &Path, error: impl Into<io::Error>) -> ToolError {
    let error = error.into();
    let shown = path.display();
    let told = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => ToolError::not_found(format!("no such file or directory: `{shown}`"))
            .hint("see what is there with `file.list`"),
        Some(Errno::ACCESS | Errno::PERM) => {
            ToolError::failed(format!("permission denied, cannot {doing}: `{shown}`"))
        }
        Some(Errno::ISDIR) => is_directory(path),
        Some(Errno::NOTDIR) => {
            ToolError::failed(format!("a part of the path is not a directory: `{shown}`"))
        }
        Some(Errno::LOOP | Errno::XDEV | Errno::AGAIN) => moved(path),
        Some(Errno::NXIO) => not_regular(path, "socket or device"),
        Some(Errno::NOSPC | Errno::DQUOT) => {
            ToolError::failed(format!("disk full, cannot {doing}: `{shown}`"))
                .hint("nothing was changed")
        }
        Some(Errno::ROFS) => {
            ToolError::failed(format!("read-only file system, cannot {doing}: `{shown}`"))
        }
        Some(Errno::NAMETOOLONG) => ToolError::input_invalid(format!(
            "path is too long: `{}`",
            clipped(&shown.to_string())
        )),
        _ => ToolError::failed(format!("cannot {doing}: `{shown}`: {error}")),
    };
    told.caused_by(error)
}

/// The path led elsewhere between the look and the act.
pub(super) fn moved(path: &Path) -> ToolError {
    ToolError::conflict(format!(
        "path changed while it was used: `{}`",
        path.display()
    ))
    .hint("call again: the path is then resolved anew")
}

pub(super) fn is_directory(path: &Path) -> ToolError {
    ToolError::failed(format!("path is a directory: `{}`", path.display()))
        .hint("list it with `file.list`")
}

pub(crate) fn not_regular(path: &Path, kind: &str) -> ToolError {
    ToolError::failed(format!(
        "not a regular file but a {kind}: `{}`",
        path.display()
    ))
}

pub(crate) fn cancelled() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "cancelled")
}

/// The start of a text that may be very long.
pub(super) fn clipped(text: &str) -> String {
    const LIMIT: usize = 80;
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
