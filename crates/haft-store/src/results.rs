//! Whole results: they come in as files of their own, and once they are whole they are taken over
//! among the blobs, where they are found by session and handle.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use haft_core::{Nature, session_folder};

use crate::retention::Counted;
use crate::{Blobs, Durability, Store, StoreError, Swept, Tx, blobs};

/// What the names of their owners begin with.
const PREFIX: &str = "result/";

#[derive(Clone)]
pub struct Results {
    store: Store,
    blobs: Blobs,
    /// Where they come in: a folder for each session
    drafts: PathBuf,
}

impl Results {
    pub fn new(store: Store, home: &Path) -> Self {
        Results {
            blobs: Blobs::new(store.clone(), home),
            store,
            drafts: home.join("results"),
        }
    }

    /// Take over a result that has come in. Nobody waits for it: until then it can be read where
    /// it is.
    pub fn take(&self, session: &str, handle: &str) {
        let folder = session_folder(session);
        let file = self.drafts.join(&folder).join(handle);
        let (blobs, owner) = (self.blobs.clone(), owner(&folder, handle));
        // What cannot be taken over now stays where it is for the next one who looks.
        self.store
            .hand_over(move |tx| blobs.take(tx, &owner, &file).map(drop));
    }

    /// Take over every result that has come in and that nobody writes any more. Says how many.
    pub fn take_all(&self) -> Result<u64, StoreError> {
        let mut taken = 0;
        let folders = || fs::read_dir(&self.drafts).into_iter().flatten().flatten();
        for folder in folders() {
            for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let names = (folder.file_name(), file.file_name());
                let (Some(folder), Some(handle)) = (names.0.to_str(), names.1.to_str()) else {
                    continue;
                };
                let (blobs, owner, path) = (self.blobs.clone(), owner(folder, handle), file.path());
                let one = self
                    .store
                    .write(Durability::Process, move |tx| blobs.take(tx, &owner, &path));
                taken += u64::from(one.wait()?);
            }
        }
        self.store.caught_up()?;
        for folder in folders() {
            // One that still holds something stays.
            let _ = fs::remove_dir(folder.path());
        }
        Ok(taken)
    }

    /// Results in which notes stand go with the notes, wherever they are. Those that come in later
    /// were read later.
    pub(crate) fn erase_forgettable(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let end = format!("{PREFIX}\u{10ffff}");
        let sql = "SELECT owner FROM blob_refs WHERE owner >= $1 AND owner < $2";
        let mut owners = Vec::new();
        tx.each(sql, &[PREFIX.into(), end.as_str().into()], &mut |row| {
            let owner = row.cell(0)?.text();
            let handle = owner.and_then(|owner| owner.rsplit('/').next());
            if handle.is_some_and(|handle| Nature::told_by(handle).forgettable) {
                owners.extend(owner.map(str::to_owned));
            }
            Ok(true)
        })?;
        for owner in owners {
            self.blobs.erase(tx, &owner)?;
        }
        let folders = fs::read_dir(&self.drafts).into_iter().flatten().flatten();
        for file in folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten()) {
            let file = file.map_err(|error| StoreError::io("whole results", &error))?;
            if Nature::told_by(&file.file_name().to_string_lossy()).forgettable {
                blobs::removed(&file.path())?;
            }
        }
        Ok(())
    }

    /// A result of this session, if it was taken over.
    pub fn open(&self, session: &str, handle: &str) -> Result<Option<File>, StoreError> {
        self.blobs.open_of(&owner(&session_folder(session), handle))
    }

    /// How much there is, and how much of it is older than a time or beyond so many bytes, oldest
    /// first. Without `dry_run` that is let go, and the next sweep removes it.
    pub fn limit(
        &self,
        since: i64,
        bytes: u64,
        dry_run: bool,
    ) -> Result<(Swept, Swept), StoreError> {
        let mut counted = Counted::new(since, bytes);
        for (owner, size, time) in self.blobs.owned(PREFIX)? {
            counted.add(owner, size, time);
        }
        if !dry_run && !counted.names.is_empty() {
            self.blobs.release(counted.names)?;
        }
        Ok((counted.all, counted.gone))
    }
}

fn owner(folder: &str, handle: &str) -> String {
    format!("{PREFIX}{folder}/{handle}")
}
