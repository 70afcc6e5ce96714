//! The files of a call that is at work, was cut short, or is not listed yet: they lie side by side
//! in one folder, their names begin with the id of the call.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use haft_core::KeptChanges;

/// A call by its files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Draft {
    pub(super) folder: PathBuf,
    pub(super) id: String,
}

impl Draft {
    pub(super) fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(KeptChanges::file_name(&self.id, ending))
    }

    pub(super) fn log(&self) -> PathBuf {
        self.file(KeptChanges::LOG)
    }

    pub(super) fn pack(&self) -> PathBuf {
        self.file(KeptChanges::PACK)
    }

    /// The last words on the call, if it is over.
    pub(super) fn told(&self) -> Option<KeptChanges> {
        serde_json::from_slice(&fs::read(self.file(KeptChanges::DONE)).ok()?).ok()
    }

    /// Everything that lies there of it.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let start = KeptChanges::file_name(&self.id, "");
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if name.is_some_and(|name| name.starts_with(&start)) {
                found.push(path);
            }
        }
        Ok(found)
    }

    pub(super) fn bytes(&self) -> io::Result<u64> {
        let sizes = self.files()?.into_iter().map(fs::metadata);
        Ok(sizes.flatten().map(|found| found.len()).sum())
    }

    /// The log last: without it nobody would find the others.
    pub(super) fn remove(&self) -> io::Result<()> {
        let log = self.log();
        let mut files = self.files()?;
        files.sort_by_key(|file| *file == log);
        for file in files {
            match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Every call that has files there, newest first.
pub(super) fn list(folder: &Path) -> io::Result<Vec<Draft>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut found: Vec<Draft> = entries
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let id = path.file_stem()?.to_str()?.to_owned();
            let ours = path.extension().is_some_and(|end| end == KeptChanges::LOG);
            ours.then(|| Draft {
                folder: folder.to_owned(),
                id,
            })
        })
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    Ok(found)
}

/// The digest of a whole file, in hex.
pub(super) fn digest_of(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}
