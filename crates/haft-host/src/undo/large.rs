//! Large contents of a call, each in a file of its own whose name ends in its digest.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::draft::Draft;

/// The digest of a content, which is its name.
pub(super) type Digest = [u8; 32];

const CHUNK: usize = 256 * 1024;

/// A content that is still being read has this ending.
const UNFINISHED: &str = "new";

/// Why a content was not kept.
#[derive(Debug)]
pub(super) enum Refused {
    TooLarge(u64),
    /// It cannot be read
    Unreadable(io::Error),
    /// It cannot be written here
    Store(io::Error),
}

/// How the name of a content ends.
pub(super) fn hex(digest: &Digest) -> String {
    blake3::Hash::from_bytes(*digest).to_hex().to_string()
}

/// Keep what a file holds. Nothing longer than `most`.
pub(super) fn keep(draft: &Draft, source: &File, most: u64) -> Result<Digest, Refused> {
    let size = source.metadata().map_err(Refused::Unreadable)?.size();
    if size > most {
        return Err(Refused::TooLarge(size));
    }
    let mut unfinished = Unfinished::new(draft).map_err(Refused::Store)?;
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
        let written = unfinished.file.write_all(&buffer[..count]);
        written.map_err(Refused::Store)?;
    }
    let digest = *hasher.finalize().as_bytes();
    fs::rename(&unfinished.path, draft.file(&hex(&digest))).map_err(Refused::Store)?;
    Ok(digest)
}

/// A content on its way in; gone again unless it gets its name.
struct Unfinished {
    path: PathBuf,
    file: File,
}

impl Unfinished {
    fn new(draft: &Draft) -> io::Result<Self> {
        let path = draft.file(UNFINISHED);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        Ok(Unfinished { path, file })
    }
}

impl Drop for Unfinished {
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
        let draft = Draft {
            folder: dir.path().to_owned(),
            id: "c".to_owned(),
        };
        let file = dir.path().join("f");
        fs::write(&file, "same").unwrap();
        let keep = |most| super::keep(&draft, &File::open(&file).unwrap(), most);
        let one = keep(4).unwrap();
        assert_eq!(one, keep(4).unwrap());
        let path = draft.file(&hex(&one));
        assert_eq!(fs::read(&path).unwrap(), b"same");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(keep(3), Err(Refused::TooLarge(4))));
        let left = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 2, "nothing unfinished stays");
    }
}
