//! What sessions have seen of files, each sight under a name. What an older haft has kept in files,
//! one a session, is taken over.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::values::Value;
use crate::{Durability, Store, StoreError, Values};

const KIND: &str = "seen";
/// Sights that are kept at most; the oldest go first.
const MOST: i64 = 100_000;

/// Where an older haft kept them: a table of records of fixed size in a file for each session.
const FOLDER: &str = "seen";
const RECORD: usize = 128;
const KEY: usize = 32;
const WHAT: usize = 40;
const WHAT_LENGTH: usize = 56;
const CHECKED: usize = RECORD - 16;

#[derive(Clone)]
pub struct Sights {
    store: Store,
    old: PathBuf,
}

impl Sights {
    pub fn new(store: Store, home: &Path) -> Self {
        Sights {
            store,
            old: home.join(FOLDER),
        }
    }

    /// Keep what was seen in the place of what was seen before, with the next commit.
    pub fn keep(&self, name: &str, what: &[u8]) {
        let values = Values::new(self.store.clone());
        values.put_soon(KIND, name, what.to_vec());
    }

    /// What was seen last, by this process or another. Asked in turn with what was handed over, so
    /// that nothing of ours is missed.
    pub fn last(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let name = name.to_owned();
        let found = self
            .store
            .write(Durability::Process, move |tx| Values::at(tx, KIND, &name));
        found.wait()
    }

    /// Take over what an older haft has kept. Says how many sights.
    pub fn take_over(&self) -> Result<usize, StoreError> {
        let mut taken = 0;
        for file in fs::read_dir(&self.old).into_iter().flatten().flatten() {
            let path = file.path();
            // Only what is ours and whole is believed; the rest would never be looked up.
            let is_file = file.file_type().is_ok_and(|kind| kind.is_file());
            let sights = match is_file {
                true => sights_in(&path),
                false => Vec::new(),
            };
            taken += sights.len();
            Values::new(self.store.clone()).add(KIND, sights).wait()?;
            let _ = fs::remove_file(&path);
        }
        // It may not be there, or hold something that is not ours.
        let _ = fs::remove_dir(&self.old);
        Ok(taken)
    }

    /// Forget what was seen before a time, in microseconds since 1970, and what is too much.
    pub fn forget(&self, before: i64) -> Result<(), StoreError> {
        let forgotten = self.store.write(Durability::Process, move |tx| {
            tx.run(
                "DELETE FROM kept WHERE kind = $1 AND time < $2",
                &[KIND.into(), before.into()],
            )?;
            tx.run(
                "DELETE FROM kept WHERE kind = $1 AND time <= (SELECT time FROM kept \
                 WHERE kind = $1 ORDER BY time DESC LIMIT 1 OFFSET $2)",
                &[KIND.into(), MOST.into()],
            )
        });
        forgotten.wait().map(drop)
    }
}

/// The sights in a file of an older haft.
fn sights_in(path: &Path) -> Vec<(Value, i64)> {
    let Ok(bytes) = fs::read(path) else {
        return Vec::new();
    };
    let changed = fs::metadata(path).and_then(|about| about.modified()).ok();
    let since = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let time = since.map_or(0, |since| since.as_micros() as i64);
    let session = path.file_name().unwrap_or_default().to_string_lossy();
    let (records, _) = bytes.as_chunks::<RECORD>();
    let whole = records.iter().filter(|record| {
        let check = blake3::hash(&record[..CHECKED]);
        record[CHECKED..] == check.as_bytes()[..RECORD - CHECKED]
    });
    whole
        .map(|record| {
            let key: String = record[..KEY]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let mut what = vec![record[KEY]];
            what.extend_from_slice(&record[WHAT..WHAT + WHAT_LENGTH]);
            ((format!("{session}/{key}"), what), time)
        })
        .collect()
}
