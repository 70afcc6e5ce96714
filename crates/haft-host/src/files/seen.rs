//! Remembers what each session has read, so that a change made from an outdated view is caught,
//! also where one process read and another one writes. What outlives the process is kept by whoever
//! was handed in for that.

use std::collections::HashMap;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::Sightings;

use super::open::Stamp;

/// Sights that are held here; past it we forget rather than grow.
const LIMIT: usize = 10_000;

/// A file's state when a session last read or wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// The whole content was seen
    Content(blake3::Hash),
    /// Only a part was seen
    Part(Stamp),
    /// The session itself wrote it
    Written(blake3::Hash),
    /// The same, and it had read the file before
    Rewritten(blake3::Hash),
}

/// A version as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sight {
    kind: u8,
    what: [u8; Stamp::SIZE],
}

const CONTENT: u8 = 1;
const PART: u8 = 2;
const WRITTEN: u8 = 3;
const REWRITTEN: u8 = 4;

impl From<Version> for Sight {
    fn from(version: Version) -> Self {
        let mut what = [0; Stamp::SIZE];
        let kind = match version {
            Version::Content(hash) | Version::Written(hash) | Version::Rewritten(hash) => {
                what[..blake3::OUT_LEN].copy_from_slice(hash.as_bytes());
                match version {
                    Version::Content(_) => CONTENT,
                    Version::Rewritten(_) => REWRITTEN,
                    _ => WRITTEN,
                }
            }
            Version::Part(stamp) => {
                what = stamp.to_bytes();
                PART
            }
        };
        Sight { kind, what }
    }
}

impl Sight {
    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![self.kind];
        bytes.extend_from_slice(&self.what);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Sight> {
        let (kind, what) = bytes.split_first()?;
        let what = what.try_into().ok()?;
        let known = (CONTENT..=REWRITTEN).contains(kind);
        known.then_some(Sight { kind: *kind, what })
    }

    /// It was read, and not written since.
    fn was_read(&self) -> bool {
        matches!(self.kind, CONTENT | PART)
    }

    /// It was read once, and not merely written.
    fn is_known(&self) -> bool {
        self.kind != WRITTEN
    }

    /// Its content has to be looked at to tell.
    pub(super) fn is_of_content(&self) -> bool {
        self.kind != PART
    }

    /// Whether the file is now another than it was.
    pub(super) fn is_stale(&self, stamp: Stamp, content: &[u8]) -> bool {
        match self.kind {
            PART => self.what != stamp.to_bytes(),
            _ => self.what[..blake3::OUT_LEN] != *blake3::hash(content).as_bytes(),
        }
    }
}

#[derive(Default)]
pub(super) struct Seen {
    /// For where nothing can be kept
    here: Mutex<HashMap<String, Sight>>,
    kept: Option<Arc<dyn Sightings>>,
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seen").finish_non_exhaustive()
    }
}

impl Seen {
    pub(super) fn kept_by(kept: Arc<dyn Sightings>) -> Self {
        Seen {
            here: Mutex::default(),
            kept: Some(kept),
        }
    }

    pub(super) fn note(&self, session: &str, path: &Path, version: Version) {
        let version = match (version, self.last_known(session, path)) {
            (Version::Written(hash), Some(_)) => Version::Rewritten(hash),
            (version, _) => version,
        };
        let (name, sight) = (name_of(session, path), Sight::from(version));
        if let Some(kept) = &self.kept {
            kept.keep(&name, &sight.to_bytes());
        }
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        if here.len() >= LIMIT {
            here.clear();
        }
        here.insert(name, sight);
    }

    /// What the session knows of a file that it has read, by whichever process, its own writes
    /// included. What it only ever wrote it may write again: several of its processes may do so at
    /// once.
    pub(super) fn last_known(&self, session: &str, path: &Path) -> Option<Sight> {
        self.last(session, path).filter(Sight::is_known)
    }

    /// What the session read last, unless it wrote the file afterwards: an edit finds its text in
    /// what is there now, or does not.
    pub(super) fn last_read(&self, session: &str, path: &Path) -> Option<Sight> {
        self.last(session, path).filter(Sight::was_read)
    }

    fn last(&self, session: &str, path: &Path) -> Option<Sight> {
        let name = name_of(session, path);
        let kept = self.kept.as_ref().and_then(|kept| kept.last(&name));
        if let Some(sight) = kept.as_deref().and_then(Sight::from_bytes) {
            return Some(sight);
        }
        let here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.get(&name).copied()
    }
}

/// Of one length, however long the session's name and the path are.
fn name_of(session: &str, path: &Path) -> String {
    let session = blake3::hash(session.as_bytes()).to_hex();
    let path = blake3::hash(path.as_os_str().as_bytes()).to_hex();
    format!("{}/{path}", &session.as_str()[..32])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept, as several processes would share it.
    #[derive(Default)]
    struct Shared(Mutex<HashMap<String, Vec<u8>>>);

    impl Sightings for Shared {
        fn keep(&self, name: &str, what: &[u8]) {
            let mut kept = self.0.lock().unwrap();
            kept.insert(name.to_owned(), what.to_owned());
        }

        fn last(&self, name: &str) -> Option<Vec<u8>> {
            self.0.lock().unwrap().get(name).cloned()
        }
    }

    #[test]
    fn another_process_of_the_session_knows_and_no_other_session() {
        let shared = Arc::new(Shared::default());
        let path = Path::new("/w/a");
        let hash = blake3::hash(b"one");
        let one = Seen::kept_by(shared.clone());
        one.note("s", path, Version::Content(hash));
        let other = Seen::kept_by(shared.clone());
        let sight = other.last("s", path).unwrap();
        assert_eq!(sight, Sight::from(Version::Content(hash)));
        assert_eq!(other.last("t", path), None);
        assert_eq!(other.last("s", Path::new("/w/b")), None);
        let written = Version::Written(blake3::hash(b"two"));
        other.note("s", path, written);
        let known = Version::Rewritten(blake3::hash(b"two"));
        assert_eq!(one.last_known("s", path), Some(known.into()));
        assert_eq!(one.last_read("s", path), None);
        let unread = Path::new("/w/unread");
        other.note("s", unread, written);
        assert_eq!(one.last_known("s", unread), None);
    }

    #[test]
    fn what_is_not_a_sight_is_none() {
        for bytes in [&[][..], &[CONTENT], &[9; 57], &[0; 57], &[CONTENT; 58]] {
            assert_eq!(Sight::from_bytes(bytes), None, "{bytes:?}");
        }
        let sight = Sight::from(Version::Written(blake3::hash(b"one")));
        assert_eq!(Sight::from_bytes(&sight.to_bytes()), Some(sight));
    }

    #[test]
    fn without_a_keeper_it_is_known_here() {
        let seen = Seen::default();
        let version = Version::Content(blake3::hash(b"one"));
        seen.note("s", Path::new("/w/a"), version);
        assert_eq!(seen.last("s", Path::new("/w/a")), Some(version.into()));
    }
}
