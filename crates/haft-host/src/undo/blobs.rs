//! Contents under their own digest, each once however many files held it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, flock};

/// The digest of a content, which is its name.
pub(super) type Digest = [u8; 32];

/// A content that nothing refers to is left alone for this long: whoever put it there may not
/// have said so yet.
const FRESH: std::time::Duration = std::time::Duration::from_secs(60 * 60);

const CHUNK: usize = 256 * 1024;

/// A folder of contents.
#[derive(Debug, Clone)]
pub(super) struct Blobs {
    place: PathBuf,
}

/// Why a content was not kept.
#[derive(Debug)]
pub(super) enum Refused {
    TooLarge(u64),
    /// It cannot be read
    Unreadable(io::Error),
    /// It cannot be written here
    Store(io::Error),
}

impl Blobs {
    pub(super) fn new(place: PathBuf) -> Self {
        Blobs { place }
    }

    /// Keep what a file holds. Nothing longer than `most`.
    pub(super) fn put_file(&self, source: &File, most: u64) -> Result<Digest, Refused> {
        let size = source.metadata().map_err(Refused::Unreadable)?.size();
        if size > most {
            return Err(Refused::TooLarge(size));
        }
        let mut draft = self.draft().map_err(Refused::Store)?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; CHUNK.min(size as usize + 1)];
        let mut total = 0u64;
        loop {
            let count = match (&*source).read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Refused::Unreadable(error)),
            };
            total += count as u64;
            // It may be growing under us.
            if total > most {
                return Err(Refused::TooLarge(total));
            }
            hasher.update(&buffer[..count]);
            draft
                .file
                .write_all(&buffer[..count])
                .map_err(Refused::Store)?;
        }
        self.settle(draft, hasher.finalize())
            .map_err(Refused::Store)
    }

    /// A content, open for reading.
    pub(super) fn open(&self, digest: &Digest) -> io::Result<File> {
        File::open(self.path(digest))
    }

    /// Wait until this content has reached the disk.
    pub(super) fn sync(&self, digest: &Digest) -> io::Result<()> {
        self.open(digest)?.sync_all()
    }

    pub(super) fn size(&self, digest: &Digest) -> u64 {
        fs::metadata(self.path(digest)).map_or(0, |found| found.len())
    }

    /// Remove every content that is not among these.
    pub(super) fn retain(&self, needed: impl Fn(&Digest) -> bool) -> io::Result<()> {
        let shelves = match fs::read_dir(&self.place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let _alone = self.lock(FlockOperation::LockExclusive)?;
        let now = SystemTime::now();
        for shelf in shelves.flatten() {
            for entry in fs::read_dir(shelf.path()).into_iter().flatten().flatten() {
                let fresh = entry
                    .metadata()
                    .and_then(|found| found.modified())
                    .is_ok_and(|time| now.duration_since(time).is_ok_and(|age| age < FRESH));
                let name = entry.file_name();
                let digest = name
                    .to_str()
                    .and_then(|name| blake3::Hash::from_hex(name).ok());
                let wanted = digest.is_some_and(|digest| needed(digest.as_bytes()));
                if !fresh && !wanted {
                    fs::remove_file(entry.path())?;
                }
            }
        }
        Ok(())
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        let name = blake3::Hash::from_bytes(*digest).to_hex();
        self.place.join(&name[..2]).join(name.as_str())
    }

    fn draft(&self) -> io::Result<Draft> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let path = self.place.join(format!("draft-{random:016x}"));
        let open = || {
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
        };
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private_folder(&self.place)?;
                open()?
            }
            other => other?,
        };
        Ok(Draft { path, file })
    }

    /// Give a draft its name, unless the same content is there.
    fn settle(&self, draft: Draft, hash: blake3::Hash) -> io::Result<Digest> {
        let digest = *hash.as_bytes();
        let path = self.path(&digest);
        // Between looking and leaving, nobody may take it away.
        let _shared = self.lock(FlockOperation::LockShared)?;
        if let Ok(there) = OpenOptions::new().append(true).open(&path) {
            there.set_modified(SystemTime::now())?;
            return Ok(digest);
        }
        match fs::rename(&draft.path, &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private_folder(path.parent().unwrap_or(&self.place))?;
                fs::rename(&draft.path, &path)?;
            }
            other => other?,
        }
        Ok(digest)
    }

    fn lock(&self, operation: FlockOperation) -> io::Result<File> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.place.with_extension("lock"))?;
        flock(&file, operation)?;
        Ok(file)
    }
}

/// A content on its way in; gone again unless it gets its name.
struct Draft {
    path: PathBuf,
    file: File,
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Under its own name it is here no more.
        let _ = fs::remove_file(&self.path);
    }
}

/// A folder for its owner alone, with those above it.
pub(super) fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_content_is_kept_once_and_for_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path().join("blobs"));
        let file = dir.path().join("f");
        fs::write(&file, "same").unwrap();
        let one = blobs.put_file(&File::open(&file).unwrap(), 4).unwrap();
        let two = blobs.put_file(&File::open(&file).unwrap(), 4).unwrap();
        assert_eq!(one, two);
        let path = blobs.path(&one);
        assert_eq!(fs::read(&path).unwrap(), b"same");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let too_long = blobs.put_file(&File::open(&file).unwrap(), 3);
        assert!(matches!(too_long, Err(Refused::TooLarge(4))));
        let left = fs::read_dir(dir.path().join("blobs")).unwrap().count();
        assert_eq!(left, 1, "no draft stays");
    }

    #[test]
    fn what_nobody_needs_goes_when_it_is_old() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path().join("blobs"));
        let [needed, old, fresh] = ["1", "2", "3"].map(|content| {
            let file = dir.path().join(content);
            fs::write(&file, content).unwrap();
            blobs.put_file(&File::open(file).unwrap(), 1).unwrap()
        });
        for digest in [&needed, &old] {
            let file = OpenOptions::new().append(true).open(blobs.path(digest));
            let long_ago = SystemTime::now() - 2 * FRESH;
            file.unwrap().set_modified(long_ago).unwrap();
        }
        blobs.retain(|digest| *digest == needed).unwrap();
        let there = [&needed, &old, &fresh].map(|digest| blobs.open(digest).is_ok());
        assert_eq!(there, [true, false, true]);
    }
}
