//! Why the store could not do what it was asked.

use rusqlite::ErrorCode;
use rusqlite::ffi;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Nothing is written to a store that contradicts itself
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// One note alone: all others can be used
    #[error("note {0} is not as it was written")]
    Note(i64),
    /// The store itself is as it was
    #[error("`{path}` is no good copy: {what}")]
    BadCopy { path: String, what: String },
    #[error("`{0}` is not signed with the key of this home")]
    Unsigned(String),
    #[error("the key that signed the journal is gone: `{0}`")]
    KeyGone(String),
    #[error(
        "the store was written by a newer haft: its version is {found}, this haft knows {known}"
    )]
    Newer { found: i64, known: i64 },
    /// It can be looked at, and nothing is written
    #[error("the store can only be read: `{0}`")]
    ReadOnly(String),
    #[error("there is no room left for the store")]
    Full,
    #[error("the store is in use by another process and did not become free")]
    Busy,
    #[error("the store cannot be used: {0}")]
    Failed(String),
    #[error("nothing is wrong with the journal, so there is nothing to accept")]
    Whole,
    #[error("the store is closed")]
    Closed,
    /// Two callers at once, and the other one was first
    #[error("the same work was begun as call `{0}`")]
    Taken(String),
}

impl StoreError {
    /// The way back, where there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StoreError::Damaged(_) => Some(
                "look with `haft journal verify`; go back with `haft restore FILE`, or go on from what is there with `haft journal accept`",
            ),
            StoreError::Note(_) => Some(
                "forget it with `memory.forget` and its number; where it is in a copy, take another one",
            ),
            StoreError::BadCopy { .. } => Some("take another copy; nothing was changed"),
            StoreError::Unsigned(_) => Some(
                "another home made it, or a haft that signed no copies: what it says is taken over unproven with `haft restore --unproven FILE`",
            ),
            StoreError::KeyGone(_) => Some(
                "put it back, or start from a copy with `haft restore FILE`: without the key what it says is taken over unproven",
            ),
            StoreError::Newer { .. } => Some("use that newer haft, or another `HAFT_HOME`"),
            StoreError::ReadOnly(_) => Some(
                "make it and its folder writable, or set `HAFT_HOME` to another folder, and call again",
            ),
            StoreError::Full => Some("make room on the disk, or run `haft gc`; then call again"),
            StoreError::Busy => Some("try again, or end the process that holds it"),
            StoreError::Taken(_) => Some("wait for its end, then call again with the same key"),
            StoreError::Failed(_) | StoreError::Closed | StoreError::Whole => None,
        }
    }

    pub(crate) fn io(what: &str, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => StoreError::Full,
            std::io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly(what.to_owned()),
            _ => StoreError::Failed(format!("{what}: {error}")),
        }
    }

    /// After such an error nobody knows what the kernel still holds: the connection is given up.
    pub(crate) fn is_fatal_for_the_handle(error: &rusqlite::Error) -> bool {
        match error {
            rusqlite::Error::SqliteFailure(failure, _) => matches!(
                failure.extended_code,
                ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC
            ),
            _ => false,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let code = match &error {
            rusqlite::Error::SqliteFailure(failure, _) => Some(failure.code),
            _ => None,
        };
        match code {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Damaged(error.to_string())
            }
            Some(ErrorCode::DiskFull) => StoreError::Full,
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly(error.to_string()),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy,
            _ => StoreError::Failed(error.to_string()),
        }
    }
}
