//! Remembers what each session has read, so that a change made from an outdated view is caught,
//! also where one process read and another one writes.
//!
//! One file a session under haft's home: a table of fixed size in which each path has one place.
//! Two paths that share a place forget each other, which only means that nothing is noticed. A
//! record is written with one call and carries a checksum, so no lock is needed.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::open::Stamp;
use crate::retention::{Retention, by_age, stay};

/// The folder of all of them, under haft's home.
const FOLDER: &str = "seen";
/// Paths that one session remembers, and bytes of each.
const PLACES: u64 = 8_192;
const RECORD: usize = 128;
const CHECKED: usize = RECORD - 16;

/// The same for what is held here; past it we forget rather than grow.
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

impl From<Version> for Sight {
    fn from(version: Version) -> Self {
        let mut what = [0; Stamp::SIZE];
        let kind = match version {
            Version::Content(hash) | Version::Written(hash) => {
                what[..blake3::OUT_LEN].copy_from_slice(hash.as_bytes());
                match version {
                    Version::Content(_) => CONTENT,
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
    /// It was read, and not merely written.
    fn was_read(&self) -> bool {
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

#[derive(Debug)]
pub(super) struct Seen {
    /// For where haft's home cannot be written to
    here: Mutex<HashMap<(String, PathBuf), Sight>>,
    folder: PathBuf,
}

impl Seen {
    pub(super) fn new(home: &Path) -> Self {
        Seen {
            here: Mutex::default(),
            folder: home.join(FOLDER),
        }
    }

    pub(super) fn note(&self, session: &str, path: &Path, version: Version) {
        let sight = Sight::from(version);
        // What cannot be kept is still known to this process.
        let _ = self.keep(session, path, &sight);
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        if here.len() >= LIMIT {
            here.clear();
        }
        here.insert((session.to_owned(), path.to_owned()), sight);
    }

    /// What the session read last, by whichever process, unless it wrote the file afterwards.
    pub(super) fn last_read(&self, session: &str, path: &Path) -> Option<Sight> {
        self.last(session, path).filter(Sight::was_read)
    }

    fn last(&self, session: &str, path: &Path) -> Option<Sight> {
        if let Ok(Some(sight)) = self.kept(session, path) {
            return Some(sight);
        }
        let here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.get(&(session.to_owned(), path.to_owned())).copied()
    }

    fn keep(&self, session: &str, path: &Path, sight: &Sight) -> io::Result<()> {
        let key = blake3::hash(path.as_os_str().as_bytes());
        let mut record = [0; RECORD];
        record[..32].copy_from_slice(key.as_bytes());
        record[32] = sight.kind;
        record[40..40 + Stamp::SIZE].copy_from_slice(&sight.what);
        let check = blake3::hash(&record[..CHECKED]);
        record[CHECKED..].copy_from_slice(&check.as_bytes()[..RECORD - CHECKED]);
        let mut options = OpenOptions::new();
        options.write(true).create(true).mode(0o600);
        let file = match self.open(session, &options) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(&self.folder)?;
                self.open(session, &options)?
            }
            other => other?,
        };
        file.write_all_at(&record, place_of(&key))
    }

    fn kept(&self, session: &str, path: &Path) -> io::Result<Option<Sight>> {
        let key = blake3::hash(path.as_os_str().as_bytes());
        let mut record = [0; RECORD];
        let file = self.open(session, OpenOptions::new().read(true))?;
        file.read_exact_at(&mut record, place_of(&key))?;
        let check = blake3::hash(&record[..CHECKED]);
        let ours = record[..32] == *key.as_bytes()
            && record[CHECKED..] == check.as_bytes()[..RECORD - CHECKED]
            && (CONTENT..=WRITTEN).contains(&record[32]);
        let mut what = [0; Stamp::SIZE];
        what.copy_from_slice(&record[40..40 + Stamp::SIZE]);
        let kind = record[32];
        Ok(ours.then_some(Sight { kind, what }))
    }

    fn open(&self, session: &str, options: &OpenOptions) -> io::Result<File> {
        let hash = blake3::hash(session.as_bytes()).to_hex();
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let path = self.folder.join(&hash.as_str()[..32]);
        options.clone().custom_flags(no_follow).open(path)
    }
}

fn place_of(key: &blake3::Hash) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&key.as_bytes()[..8]);
    u64::from_le_bytes(first) % PLACES * RECORD as u64
}

/// Forget sessions that nobody has used for long.
pub fn tidy(home: &Path, limit: &Retention, now: SystemTime) -> io::Result<()> {
    let entries = match std::fs::read_dir(home.join(FOLDER)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let kept = by_age(entries.flatten().map(|entry| entry.path()));
    let stays = stay(
        kept.iter().map(|(_, time, size)| (*time, *size)),
        limit,
        now,
    );
    for (path, ..) in &kept[stays..] {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn another_process_of_the_session_knows_and_no_other_session() {
        let home = tempfile::tempdir().unwrap();
        let path = Path::new("/w/a");
        let hash = blake3::hash(b"one");
        Seen::new(home.path()).note("s", path, Version::Content(hash));
        let other = Seen::new(home.path());
        let sight = other.last("s", path).unwrap();
        assert_eq!(sight, Sight::from(Version::Content(hash)));
        assert!(sight.was_read());
        assert_eq!(other.last("t", path), None);
        assert_eq!(other.last("s", Path::new("/w/b")), None);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let folder = home.path().join(FOLDER);
        assert_eq!(mode(&folder), 0o700);
        let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
        assert_eq!(mode(&file.path()), 0o600);
        Seen::new(home.path()).note("s", path, Version::Written(hash));
        assert!(!other.last("s", path).unwrap().was_read());
    }

    #[test]
    fn it_does_not_grow_and_a_spoilt_record_is_none() {
        let home = tempfile::tempdir().unwrap();
        let seen = Seen::new(home.path());
        let hash = blake3::hash(b"one");
        for n in 0..9_000 {
            let path = PathBuf::from(format!("/w/{n}"));
            seen.note("s", &path, Version::Content(hash));
        }
        let folder = home.path().join(FOLDER);
        let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
        assert!(file.metadata().unwrap().len() <= PLACES * RECORD as u64);
        let other = Seen::new(home.path());
        let last = Path::new("/w/8999");
        assert!(other.last("s", last).is_some());
        let open = OpenOptions::new().write(true).open(file.path()).unwrap();
        let key = blake3::hash(last.as_os_str().as_bytes());
        open.write_all_at(b"x", place_of(&key) + 50).unwrap();
        assert_eq!(other.last("s", last), None);
    }

    #[test]
    fn without_a_home_it_is_known_here() {
        let home = tempfile::NamedTempFile::new().unwrap();
        let seen = Seen::new(home.path());
        let version = Version::Content(blake3::hash(b"one"));
        seen.note("s", Path::new("/w/a"), version);
        assert_eq!(seen.last("s", Path::new("/w/a")), Some(version.into()));
    }
}
