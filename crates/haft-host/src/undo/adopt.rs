//! Checkpoints of an older haft: a folder for each workspace, large contents in a folder for all. They
//! are put where new ones come in, and go the same way from there.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use super::draft::{self, Draft};
use super::large::hex;
use super::{Checkpoints, log, remove_folder};

impl Checkpoints {
    /// Take over what an older haft has kept, if there is any. What is still at work stays, and what
    /// resists: the next one tries again.
    pub(super) fn adopt(&self) {
        let folders = folders(&self.drafts);
        let mut left = false;
        for folder in &folders {
            for old in draft::list(folder).unwrap_or_default() {
                let _ = self.adopt_call(&old);
            }
            left |= fs::remove_dir(folder).is_err();
        }
        if !folders.is_empty() && !left {
            let contents = self.old_contents();
            let _ = fs::remove_file(contents.with_extension("lock"));
            remove_folder(&contents);
        }
    }

    /// Its contents first: without a log nobody would look for them.
    fn adopt_call(&self, old: &Draft) -> io::Result<()> {
        let Some(mut at_work) = old.reopen()? else {
            return Ok(());
        };
        let new = self.draft(old.id.clone());
        // One that cannot be read cannot be put back either.
        let Ok(read) = log::read(BufReader::new(File::open(old.log())?)) else {
            return old.remove();
        };
        let large = read.befores.iter().filter(|one| one.packed.is_none());
        for digest in large.filter_map(|one| one.state.as_ref()?.digest) {
            let name = hex(&digest);
            let from = self.old_contents().join(&name[..2]).join(&name);
            tried(fs::hard_link(from, new.file(&name)))?;
        }
        tried(fs::rename(old.pack(), new.pack()))?;
        fs::rename(old.log(), new.log())?;
        at_work.draft = new;
        match &read.done {
            Some((changes, _)) => at_work.seal(&read.head, changes, None).map(drop),
            None => Ok(()),
        }
    }

    fn old_contents(&self) -> PathBuf {
        self.place.join("blobs")
    }
}

/// The folders in a folder.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

/// It may have been done before, and there may be none.
fn tried(done: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{AlreadyExists, NotFound};
    match done {
        Err(error) if matches!(error.kind(), AlreadyExists | NotFound) => Ok(()),
        other => other,
    }
}
