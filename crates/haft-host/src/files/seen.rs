//! Remembers what each session has read, so that an edit made from an outdated view is caught.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::open::Stamp;

/// More files than a session reads; past it we forget rather than grow.
const LIMIT: usize = 10_000;

/// A file's state when a session last read or wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// The whole content was seen
    Content(blake3::Hash),
    /// Only a part was seen
    Part(Stamp),
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    versions: Mutex<HashMap<(String, PathBuf), Version>>,
}

impl Seen {
    pub(super) fn note(&self, session: &str, path: &Path, version: Version) {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if versions.len() >= LIMIT {
            versions.clear();
        }
        versions.insert((session.to_owned(), path.to_owned()), version);
    }

    /// Whether the session has read another state of the file than this one.
    pub(super) fn is_stale(
        &self,
        session: &str,
        path: &Path,
        stamp: Stamp,
        content: &[u8],
    ) -> bool {
        let versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        match versions.get(&(session.to_owned(), path.to_owned())) {
            Some(Version::Content(hash)) => *hash != blake3::hash(content),
            Some(Version::Part(seen)) => *seen != stamp,
            None => false,
        }
    }
}
