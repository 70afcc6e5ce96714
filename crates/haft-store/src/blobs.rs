//! Bytes by their hash, as files beside the store. A blob stays as long as somebody refers to it;
//! what comes back is compared with its name, so a changed one is never handed out.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::Serialize;

use crate::{Durability, Store, StoreError, Tx, paths};

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    pub blobs: u64,
    pub bytes: u64,
}

impl Swept {
    /// One more, of this size.
    pub(crate) fn add(&mut self, size: u64) {
        self.blobs += 1;
        self.bytes = self.bytes.saturating_add(size);
    }
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
        let (owner, kept, size) = (owner.to_owned(), id.clone(), bytes.len() as i64);
        self.store
            .write(Durability::Power, move |tx| refer(tx, &owner, &kept, size))
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
            Err(changed(&path))
        }
    }

    /// These owners no longer need anything.
    pub fn release(&self, owners: Vec<String>) -> Result<usize, StoreError> {
        let released = self.store.write(Durability::Process, move |tx| {
            let mut count = 0;
            for owner in &owners {
                let sql = "DELETE FROM blob_refs WHERE owner = $1";
                count += tx.run(sql, &[owner.as_str().into()])?;
            }
            Ok(count)
        });
        released.wait()
    }

    /// What an owner has goes now, unless somebody else needs the same bytes.
    pub(crate) fn erase(&self, tx: &mut dyn Tx, owner: &str) -> Result<(), StoreError> {
        let sql = "SELECT hash FROM blob_refs WHERE owner = $1";
        let hash = tx.first_text(sql, &[owner.into()])?;
        let gone = "DELETE FROM blob_refs WHERE owner = $1";
        tx.run(gone, &[owner.into()])?;
        let Some(id) = hash.as_deref().and_then(BlobId::parse) else {
            return Ok(());
        };
        let unused = "DELETE FROM blobs WHERE hash = $1 AND NOT EXISTS \
                      (SELECT 1 FROM blob_refs WHERE blob_refs.hash = blobs.hash)";
        match tx.run(unused, &[id.as_str().into()])? {
            0 => Ok(()),
            _ => removed(&self.path(&id)),
        }
    }

    /// Take a file of ours over as a blob of an owner, inside a transaction: its own name goes once
    /// that stands. False for a file that somebody still writes, or that cannot be had.
    pub(crate) fn take(
        &self,
        tx: &mut dyn Tx,
        owner: &str,
        file: &Path,
    ) -> Result<bool, StoreError> {
        let Ok(Some((id, size))) = self.link(file) else {
            return Ok(false);
        };
        refer(tx, owner, &id, size as i64)?;
        let file = file.to_owned();
        let gone = move |_| drop(fs::remove_file(&file));
        tx.after_commit("", Box::new(gone));
        Ok(true)
    }

    /// Give a file that nobody writes a second name, by its hash.
    fn link(&self, file: &Path) -> io::Result<Option<(BlobId, u64)>> {
        let mut draft = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(file)?;
        if flock(&draft, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        let id = hash_of(&mut draft)?;
        let size = self.link_as(file, &id)?;
        Ok(Some((id, size)))
    }

    /// Give a file a second name, by a hash that is known. Says how large it is.
    pub(crate) fn link_as(&self, file: &Path, id: &BlobId) -> io::Result<u64> {
        let path = self.path(id);
        if let Some(folder) = path.parent() {
            paths::make_folder(folder)?;
        }
        // Put over what is there: that may have been damaged.
        let fresh = paths::beside(&path, "new");
        fs::hard_link(file, &fresh)?;
        fs::rename(&fresh, &path)?;
        // Of two names for one file a rename leaves both.
        let _ = fs::remove_file(&fresh);
        Ok(fs::symlink_metadata(&path)?.len())
    }

    /// See to it that the names of blobs are on the disk.
    pub(crate) fn sync_names(&self, ids: &[BlobId]) -> io::Result<()> {
        let paths = ids.iter().map(|id| self.path(id));
        let mut folders: Vec<PathBuf> = paths
            .filter_map(|path| Some(path.parent()?.to_owned()))
            .collect();
        folders.sort();
        folders.dedup();
        // These may be new themselves.
        folders.push(self.dir.clone());
        folders.extend(self.dir.parent().map(Path::to_owned));
        folders
            .iter()
            .try_for_each(|folder| File::open(folder)?.sync_all())
    }

    /// A blob, open for reading. Whoever reads it compares it with its name.
    pub fn open(&self, id: &BlobId) -> io::Result<File> {
        File::open(self.path(id))
    }

    /// The one blob of an owner, open for reading, if it is there and still what it was.
    pub fn open_of(&self, owner: &str) -> Result<Option<File>, StoreError> {
        let hash = self.store.read(|tx| {
            let sql = "SELECT hash FROM blob_refs WHERE owner = $1";
            tx.first_text(sql, &[owner.into()])
        })?;
        let Some(id) = hash.as_deref().and_then(BlobId::parse) else {
            return Ok(None);
        };
        let path = self.path(&id);
        let failed = |error: io::Error| StoreError::io(&path.display().to_string(), &error);
        let mut file = File::open(&path).map_err(failed)?;
        if hash_of(&mut file).map_err(failed)? != id {
            return Err(changed(&path));
        }
        file.rewind().map_err(failed)?;
        Ok(Some(file))
    }

    /// What owners whose names begin like this have, newest first: name, bytes, and when.
    pub fn owned(&self, prefix: &str) -> Result<Vec<(String, u64, i64)>, StoreError> {
        // The character after the last one: everything with the prefix sorts between.
        let end = format!("{prefix}\u{10ffff}");
        let mut found = Vec::new();
        self.store.read(|tx| {
            tx.each(
                "SELECT blob_refs.owner, blobs.size, blob_refs.time FROM blob_refs \
                 JOIN blobs ON blobs.hash = blob_refs.hash \
                 WHERE blob_refs.owner >= $1 AND blob_refs.owner < $2 \
                 ORDER BY blob_refs.time DESC",
                &[prefix.into(), end.as_str().into()],
                &mut |row| {
                    let owner = row.cell(0)?.text().unwrap_or_default().to_owned();
                    let size = row.cell(1)?.int().unwrap_or(0) as u64;
                    found.push((owner, size, row.cell(2)?.int().unwrap_or(0)));
                    Ok(true)
                },
            )
        })?;
        Ok(found)
    }

    /// Remove what nobody refers to. With `dry_run` only say how much that is.
    pub fn sweep(&self, dry_run: bool) -> Result<Swept, StoreError> {
        let before = crate::journal::now() - GRACE.as_micros() as i64;
        let mut unused = Vec::new();
        self.store.read(|tx| {
            tx.each(
                &format!("SELECT hash, size FROM blobs WHERE {UNUSED}"),
                &[before.into()],
                &mut |row| {
                    let id = row.cell(0)?.text().and_then(BlobId::parse);
                    unused.extend(id.zip(row.cell(1)?.int()));
                    Ok(true)
                },
            )
        })?;
        let mut swept = Swept::default();
        for (id, size) in unused {
            if !dry_run {
                let (hash, path) = (id.0.clone(), self.path(&id));
                // Looked at again inside the transaction: somebody may have taken it up since. The
                // file goes before that ends, so that nobody can take it up in between.
                let gone = self.store.write(Durability::Power, move |tx| {
                    let sql = format!("DELETE FROM blobs WHERE {UNUSED} AND hash = $2");
                    let gone = tx.run(&sql, &[before.into(), hash.as_str().into()])?;
                    if gone > 0 {
                        removed(&path)?;
                    }
                    Ok(gone)
                });
                if gone.wait()? == 0 {
                    continue;
                }
            }
            swept.add(size as u64);
        }
        self.sweep_unknown(dry_run, &mut swept)?;
        Ok(swept)
    }

    /// Files that a crash left before anybody knew of them.
    fn sweep_unknown(&self, dry_run: bool, swept: &mut Swept) -> Result<(), StoreError> {
        for (path, size) in old_files(&self.dir) {
            let name = self.id_of(&path);
            let known = move |tx: &mut dyn Tx| -> Result<bool, StoreError> {
                let sql = "SELECT count(*) FROM blobs WHERE hash = $1";
                let Some(name) = &name else { return Ok(false) };
                Ok(tx.first_int(sql, &[name.0.as_str().into()])? != Some(0))
            };
            if self.store.read(&known)? {
                continue;
            }
            if !dry_run {
                let gone = self.store.write(Durability::Power, move |tx| {
                    let stays = known(tx)?;
                    if !stays {
                        removed(&path)?;
                    }
                    Ok(!stays)
                });
                if !gone.wait()? {
                    continue;
                }
            }
            swept.add(size);
        }
        Ok(())
    }

    fn id_of(&self, path: &Path) -> Option<BlobId> {
        let inside = path.strip_prefix(&self.dir).ok()?;
        BlobId::parse(&inside.to_str()?.replace('/', ""))
    }
}

/// Nobody refers to it, and it was not put there just now.
const UNUSED: &str = "time < $1 AND NOT EXISTS \
     (SELECT 1 FROM blob_refs WHERE blob_refs.hash = blobs.hash)";

/// Write down that an owner needs a blob.
pub(crate) fn refer(
    tx: &mut dyn Tx,
    owner: &str,
    id: &BlobId,
    size: i64,
) -> Result<(), StoreError> {
    let time = crate::journal::now();
    tx.run(
        "INSERT INTO blobs (hash, size, time) VALUES ($1, $2, $3) \
         ON CONFLICT (hash) DO UPDATE SET time = excluded.time",
        &[id.as_str().into(), size.into(), time.into()],
    )?;
    tx.run(
        "INSERT INTO blob_refs (owner, hash, time) VALUES ($1, $2, $3) \
         ON CONFLICT (owner, hash) DO NOTHING",
        &[owner.into(), id.as_str().into(), time.into()],
    )?;
    Ok(())
}

fn hash_of(file: &mut File) -> io::Result<BlobId> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(BlobId(hasher.finalize().to_hex().to_string()))
}

fn changed(path: &Path) -> StoreError {
    StoreError::Damaged(format!("a blob is not what it was: `{}`", path.display()))
}

pub(crate) fn removed(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io(&path.display().to_string(), &error))
        }
        _ => Ok(()),
    }
}

/// Files in the folders of a folder that nobody has touched for a while, with their sizes.
fn old_files(dir: &Path) -> Vec<(PathBuf, u64)> {
    let now = SystemTime::now();
    let entries = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten();
    entries(dir)
        .flat_map(|folder| entries(&folder.path()))
        .filter_map(|entry| {
            let about = entry.metadata().ok()?;
            let age = now.duration_since(about.modified().ok()?).ok()?;
            (about.is_file() && age > GRACE).then(|| (entry.path(), about.len()))
        })
        .collect()
}
