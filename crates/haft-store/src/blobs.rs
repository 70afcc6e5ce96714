//! Bytes by their hash, as files beside the store. A blob stays as long as somebody refers to it;
//! what comes back is compared with its name, so a changed one is never handed out.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Durability, Store, StoreError, paths};

/// A blob that nobody refers to yet may be on its way: it is left alone for this long.
const GRACE: Duration = Duration::from_secs(3_600);

/// The name of a blob: the hash of its bytes, in hex.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(String);

impl BlobId {
    pub fn of(bytes: &[u8]) -> Self {
        BlobId(blake3::hash(bytes).to_hex().to_string())
    }

    pub fn parse(text: &str) -> Option<Self> {
        let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == 64 && text.bytes().all(hex)).then(|| BlobId(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What was removed, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    pub blobs: u64,
    pub bytes: u64,
}

#[derive(Clone)]
pub struct Blobs {
    store: Store,
    dir: PathBuf,
}

impl Blobs {
    pub fn new(store: Store, home: &Path) -> Self {
        Blobs {
            store,
            dir: home.join("blobs"),
        }
    }

    fn path(&self, id: &BlobId) -> PathBuf {
        let (folder, name) = id.0.split_at(2);
        self.dir.join(folder).join(name)
    }

    /// Keep bytes for an owner. The same bytes are kept once, however many owners there are.
    pub fn keep(&self, owner: &str, bytes: &[u8]) -> Result<BlobId, StoreError> {
        let id = BlobId::of(bytes);
        let path = self.path(&id);
        let failed = |error: io::Error| StoreError::io(&path.display().to_string(), &error);
        // The reference comes first: a sweep in between sees it and leaves the bytes alone.
        let (owner, hash, size) = (owner.to_owned(), id.0.clone(), bytes.len() as i64);
        self.store
            .write(Durability::Power, move |tx| {
                let time = crate::journal::now();
                tx.run(
                    "INSERT INTO blobs (hash, size, time) VALUES ($1, $2, $3) \
                     ON CONFLICT (hash) DO UPDATE SET time = excluded.time",
                    &[hash.as_str().into(), size.into(), time.into()],
                )?;
                tx.run(
                    "INSERT INTO blob_refs (owner, hash, time) VALUES ($1, $2, $3) \
                     ON CONFLICT (owner, hash) DO NOTHING",
                    &[owner.as_str().into(), hash.as_str().into(), time.into()],
                )?;
                Ok(())
            })
            .wait()?;
        if self.read(&id).is_ok() {
            return Ok(id);
        }
        if let Some(folder) = path.parent() {
            paths::make_folder(folder).map_err(failed)?;
        }
        paths::put(&path, bytes).map_err(failed)?;
        Ok(id)
    }

    /// The bytes, if they are there and still what they were.
    pub fn read(&self, id: &BlobId) -> Result<Vec<u8>, StoreError> {
        let path = self.path(id);
        let bytes =
            fs::read(&path).map_err(|error| StoreError::io(&path.display().to_string(), &error))?;
        if BlobId::of(&bytes) == *id {
            Ok(bytes)
        } else {
            Err(StoreError::Damaged(format!(
                "a blob is not what it was: `{}`",
                path.display()
            )))
        }
    }

    /// An owner no longer needs anything.
    pub fn release(&self, owner: &str) -> Result<usize, StoreError> {
        let owner = owner.to_owned();
        let released = self.store.write(Durability::Process, move |tx| {
            tx.run(
                "DELETE FROM blob_refs WHERE owner = $1",
                &[owner.as_str().into()],
            )
        });
        released.wait()
    }

    /// Remove what nobody refers to. With `dry_run` only say how much that is.
    pub fn sweep(&self, dry_run: bool) -> Result<Swept, StoreError> {
        let before = crate::journal::now() - GRACE.as_micros() as i64;
        let mut swept = Swept::default();
        let mut unused = Vec::new();
        self.store.read(|tx| {
            tx.each(
                "SELECT hash, size FROM blobs WHERE time < $1 AND NOT EXISTS \
                 (SELECT 1 FROM blob_refs WHERE blob_refs.hash = blobs.hash)",
                &[before.into()],
                &mut |row| {
                    unused.extend(row.cell(0)?.text().and_then(BlobId::parse));
                    swept.blobs += 1;
                    swept.bytes += row.cell(1)?.int().unwrap_or(0) as u64;
                    Ok(true)
                },
            )
        })?;
        if dry_run {
            return Ok(swept);
        }
        for id in unused {
            let hash = id.0.clone();
            // Looked at again inside the transaction: somebody may have taken it up since.
            let gone = self.store.write(Durability::Power, move |tx| {
                tx.run(
                    "DELETE FROM blobs WHERE hash = $1 AND time < $2 AND NOT EXISTS \
                     (SELECT 1 FROM blob_refs WHERE blob_refs.hash = blobs.hash)",
                    &[hash.as_str().into(), before.into()],
                )
            });
            if gone.wait()? > 0 {
                let path = self.path(&id);
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(StoreError::io(&path.display().to_string(), &error));
                    }
                    _ => {}
                }
            }
        }
        Ok(swept)
    }
}
