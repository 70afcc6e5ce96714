//! Damage that was found in the journal, remembered beside it: from then on nothing with effects
//! happens, in any process, until the owner has looked. Outside the database, which may be what is
//! damaged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{StoreError, paths};

const FILE: &str = "journal.fault";

pub(super) struct FaultFile {
    path: PathBuf,
}

impl FaultFile {
    pub(super) fn new(home: &Path) -> Self {
        FaultFile {
            path: home.join(FILE),
        }
    }

    /// Remember what was found; what was found first stays.
    pub(super) fn raise(&self, what: &str) {
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
