//! Copies of the store, and what the journal in them has to prove.

use std::path::{Path, PathBuf};

use super::append;
use super::fault::FaultFile;
use super::key::Key;
use super::verify::proven;
use super::{Journal, JournalConfig};
use crate::{StoreError, backup};

/// What became of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Where what was there is kept
    pub aside: Option<PathBuf>,
    /// The record before which nothing is proven, where the home had no key
    pub unproven: Option<i64>,
}

impl Journal {
    /// Copy the store to a new file, and prove the copy before it is called good. Gives its size.
    pub fn backup(&self, to: &Path) -> Result<u64, StoreError> {
        match self.store.ready() {
            // What can be read can be copied.
            Ok(()) | Err(StoreError::ReadOnly(_)) => {}
            Err(error) => return Err(error),
        }
        self.check()?;
        backup::backup(
            self.store.path(),
            to,
            &|tx| append::sign_copy(tx, &self.inner),
            &|tx| proven(tx, Some(&self.inner.key)),
        )
    }

    /// Put a copy back in the place of the store of this home, once it has proven itself. What was
    /// there is kept, under the name that is answered with. Nobody may have the store open.
    ///
    /// A home without a key cannot tell who signed the copy. It gets a key of its own once the copy
    /// is in place, and what the copy says is taken over as unproven.
    pub fn restore(home: &Path, from: &Path) -> Result<Restored, StoreError> {
        let key = match Key::is_there(home) {
            true => Some(Key::load(home, true)?),
            false => None,
        };
        Journal::put_back(home, from, key.as_ref())
    }

    /// The same for a copy that this home has not signed: what it says is taken over as unproven.
    pub fn restore_unproven(home: &Path, from: &Path) -> Result<Restored, StoreError> {
        Journal::put_back(home, from, None)
    }

    fn put_back(home: &Path, from: &Path, key: Option<&Key>) -> Result<Restored, StoreError> {
        let aside = backup::restore(from, &Journal::file(home), &|tx| match proven(tx, key) {
            // It holds together, and somebody else's key or none has signed it.
            Err(StoreError::Damaged(_)) if proven(tx, None).is_ok() => {
                Err(StoreError::Unsigned(from.display().to_string()))
            }
            proved => proved,
        })?;
        FaultFile::new(home).clear()?;
        let mut restored = Restored {
            aside,
            unproven: None,
        };
        if key.is_none() {
            Key::load(home, false)?;
            let journal = Journal::open(JournalConfig {
                home: home.to_owned(),
                mask: |_| 0,
                boot: None,
            })?;
            let reason = "restored from a copy that the key of this home has not signed";
            restored.unproven = Some(journal.go_on(reason, false)?);
            journal.store.close();
        }
        Ok(restored)
    }
}
