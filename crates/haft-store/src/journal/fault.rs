//! Damage that was found in the journal, remembered beside it: from then on nothing with effects
//! happens, in any process, until the owner has looked. Outside the database, which may be what is
//! damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::store::lock;
use crate::{StoreError, paths};

const FILE: &str = "journal.fault";
/// Records that come within this time may go into one commit.
const AT_ONCE: Duration = Duration::from_millis(5);

pub(super) struct FaultFile {
    path: PathBuf,
    /// When nothing was found, unless a record was begun since then
    looked: Mutex<Option<Instant>>,
}

impl FaultFile {
    pub(super) fn new(home: &Path) -> Self {
        FaultFile {
            path: home.join(FILE),
            looked: Mutex::default(),
        }
    }

    /// The same as [`FaultFile::check`] for a record that is about to be written. Those that go into
    /// one commit come at once: one look is enough for them.
    pub(super) fn check_before_writing(&self) -> Result<(), StoreError> {
        let mut looked = lock(&self.looked);
        if looked.is_none_or(|looked| looked.elapsed() >= AT_ONCE) {
            self.check()?;
            *looked = Some(Instant::now());
        }
        Ok(())
    }

    /// A record is written: whoever comes now is in no commit with it.
    pub(super) fn look_again(&self) {
        *lock(&self.looked) = None;
    }

    /// Remember what was found; what was found first stays.
    pub(super) fn raise(&self, what: &str) {
        self.look_again();
        if !self.path.exists() {
            // Best effort: whoever looked is told all the same.
            let _ = paths::put(&self.path, what.as_bytes());
        }
    }

    /// An error while damage is known of.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match fs::read(&self.path) {
            Ok(what) => Err(StoreError::Damaged(
                String::from_utf8_lossy(&what).into_owned(),
            )),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(StoreError::io(&self.path.display().to_string(), &error)),
        }
    }

    /// All is well again, or the owner goes on from what is there.
    pub(super) fn clear(&self) -> Result<(), StoreError> {
        // Where nothing can be written, nothing can be removed either, though it be not there.
        if !self.path.exists() {
            return Ok(());
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::io(&self.path.display().to_string(), &error))
            }
            _ => Ok(()),
        }
    }
}
