//! Putting back: the steps are those of any change of many places, all or none, and they are
//! noted like any other call's, so that an undo can be undone. What is to be put back stands in a
//! plan already.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use haft_core::{ErrorCode, KeptChanges, KeptResult, ToolError};
use rustix::fs::{AtFlags, FlockOperation, flock, linkat, unlinkat};

use super::large::{hex, private_folder};
use super::log::Mark;
use super::names::is_still;
use super::pack;
use super::plan::{Back, Content, Trees, UndoPlan, state};
use super::record::Touch;
use super::{Checkpoints, Recorded, remove_folder};
use crate::place::{self, Change, Kind, Source, State, Tree, lay_file, lay_link, open_file};

/// What to do when somebody else was there.
pub(super) const LOOK: &str = "look at the file, and undo by hand what is still wanted";

impl Checkpoints {
    /// Put back what was planned, all of it or nothing. What was there is kept first.
    pub(crate) fn put_back(
        &self,
        plan: &UndoPlan,
        mark: Mark,
        roots: &[(PathBuf, OwnedFd)],
    ) -> Result<Recorded, ToolError> {
        let again = || -> io::Result<Vec<(PathBuf, OwnedFd)>> {
            let copies = roots.iter();
            copies
                .map(|(path, handle)| {
                    let handle = rustix::io::fcntl_dupfd_cloexec(handle, 0)?;
                    Ok((path.clone(), handle))
                })
                .collect()
        };
        let copies = again().map_err(unreadable)?;
        let mut recorder = self.begin(mark, copies, plan.ids.clone());
        for back in &plan.back {
            recorder
                .touch(back.root, &back.change.path, Touch::Here)
                .map_err(unkept)?;
        }
        recorder.sync().map_err(unkept)?;
        let mut done = Ok(());
        for (root, (path, handle)) in roots.iter().enumerate() {
            let mine: Vec<&Back> = plan.back.iter().filter(|one| one.root == root).collect();
            if !mine.is_empty() && done.is_ok() {
                done = self.put_back_in(&mine, path, handle, roots);
            }
        }
        // What could not be noted at the end is found out by the next undo.
        let recorded = recorder.finish().unwrap_or_default();
        done.map(|()| recorded)
    }

    fn put_back_in(
        &self,
        back: &[&Back],
        path: &Path,
        handle: &OwnedFd,
        roots: &[(PathBuf, OwnedFd)],
    ) -> Result<(), ToolError> {
        let workshop = Workshop::open(&self.workshop(), path).map_err(unkept)?;
        let changes: Vec<Change> = back.iter().map(|one| one.change.clone()).collect();
        let mut source = Kept {
            checkpoints: self,
            back,
            laid: HashMap::new(),
            trees: Trees::new(roots).map_err(unreadable)?,
        };
        let tree = folder_again(handle).map(Tree::of).map_err(unreadable)?;
        let done = place::apply(tree, &workshop.dir, &changes, &mut source);
        if !matches!(done, Err(place::Stopped::Stuck(_))) {
            remove_folder(&workshop.dir);
        }
        done.map_err(|stopped| stopped.told("the call", LOOK))
    }

    /// Finish what an undo left whose haft died.
    pub(super) fn recover(&self, roots: &[(PathBuf, OwnedFd)]) -> Result<(), ToolError> {
        for entry in fs::read_dir(self.workshop())
            .into_iter()
            .flatten()
            .flatten()
        {
            let dir = entry.path();
            let Some(lock) = Workshop::abandoned(&dir) else {
                continue;
            };
            let Ok(root) = fs::read(dir.join(Workshop::ROOT)) else {
                continue;
            };
            let mine = roots
                .iter()
                .find(|(path, _)| path.as_os_str().as_bytes() == root);
            if let Some((_, handle)) = mine {
                folder_again(handle)
                    .and_then(|handle| place::recover(Tree::of(handle), &dir))
                    .map_err(|error| place::Stopped::Stuck(error).told("the call", LOOK))?;
                remove_folder(&dir);
            }
            drop(lock);
        }
        Ok(())
    }
}

/// Contents that were kept, or that lie elsewhere in the workspace.
struct Kept<'a> {
    checkpoints: &'a Checkpoints,
    back: &'a [&'a Back],
    /// Files with several names that lie beside already
    laid: HashMap<u64, (State, String)>,
    trees: Trees,
}

impl Source for Kept<'_> {
    fn lay(&mut self, number: usize, change: &Change, to: &OwnedFd, name: &str) -> io::Result<()> {
        let Some(after) = &change.after else {
            return Ok(());
        };
        if after.links < 2 {
            return self.lay_new(number, after, to, name);
        }
        if !self.lay_again(number, after, to, name) {
            self.lay_new(number, after, to, name)?;
        }
        let laid = (after.clone(), name.to_owned());
        self.laid.insert(after.inode(), laid);
        Ok(())
    }
}

impl Kept<'_> {
    /// A file that is still there under another name gets this one again. False where it is not.
    fn lay_again(&mut self, number: usize, after: &State, to: &OwnedFd, name: &str) -> bool {
        let same = |one: &State| (one.digest, one.mode) == (after.digest, after.mode);
        if let Some((_, laid)) = self.laid.get(&after.inode()).filter(|laid| same(&laid.0)) {
            return linkat(to, laid.as_str(), to, name, AtFlags::empty()).is_ok();
        }
        let Some(back) = self.back.get(number) else {
            return false;
        };
        let others = [
            back.shares.as_ref().map(|path| (back.root, path)),
            match &back.content {
                Content::Lies(root, path) => Some((*root, path)),
                _ => None,
            },
        ];
        others.into_iter().flatten().any(|(root, path)| {
            let Ok((folder, other)) = self.trees.0[root].parent(path) else {
                return false;
            };
            if linkat(folder, other, to, name, AtFlags::empty()).is_err() {
                return false;
            }
            // What has the name here nobody else can exchange.
            let found = state(to, OsStr::new(name));
            let still = found.is_some_and(|found| is_still(after, &found));
            if !still {
                let _ = unlinkat(to, name, AtFlags::empty());
            }
            still
        })
    }

    fn lay_new(
        &mut self,
        number: usize,
        after: &State,
        to: &OwnedFd,
        name: &str,
    ) -> io::Result<()> {
        let mut file: Box<dyn KeptResult> = match self.back.get(number).map(|back| &back.content) {
            Some(Content::Large(id, digest)) => {
                let name = hex(digest);
                let mut file = self.checkpoints.open(id, &name, &name)?;
                let mut hasher = blake3::Hasher::new();
                hasher.update_reader(&mut file)?;
                if hasher.finalize() != *digest {
                    return Err(io::Error::other("the kept content is damaged"));
                }
                file.rewind()?;
                file
            }
            Some(Content::Packed(id, whole, packed, digest)) => {
                let mut pack = self.checkpoints.open(id, KeptChanges::PACK, whole)?;
                let bytes = pack::read(&mut pack, *packed, digest)?;
                return match after.kind {
                    Kind::Link => lay_link(&bytes, to, name),
                    _ => lay_file(&mut bytes.as_slice(), after, to, name),
                };
            }
            Some(Content::Lies(root, path)) => {
                let (folder, own_name) = self.trees.0[*root].parent(path)?;
                if after.kind == Kind::Link {
                    let target = rustix::fs::readlinkat(folder, own_name, Vec::new())?;
                    return lay_link(target.as_bytes(), to, name);
                }
                Box::new(File::from(open_file(folder, own_name)?))
            }
            _ => return Err(io::Error::other("its content was not kept")),
        };
        if after.kind == Kind::Link {
            let mut target = Vec::new();
            file.read_to_end(&mut target)?;
            return lay_link(&target, to, name);
        }
        lay_file(&mut file, after, to, name)
    }
}

/// A folder of ours with the steps of one undo. Held while it runs.
struct Workshop {
    dir: PathBuf,
    _lock: File,
}

impl Workshop {
    const ROOT: &'static str = "root";
    const LOCK: &'static str = "lock";

    fn open(place: &Path, root: &Path) -> io::Result<Self> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let dir = place.join(format!("{random:016x}"));
        private_folder(&dir)?;
        let lock = File::create(dir.join(Self::LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        fs::write(dir.join(Self::ROOT), root.as_os_str().as_bytes())?;
        Ok(Workshop { dir, _lock: lock })
    }

    /// The lock of one that nobody works in.
    fn abandoned(dir: &Path) -> Option<File> {
        let lock = OpenOptions::new()
            .write(true)
            .open(dir.join(Self::LOCK))
            .ok()?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(lock)
    }
}

/// The same folder, to be read.
pub(super) fn folder_again(handle: &OwnedFd) -> io::Result<OwnedFd> {
    crate::files::open_dir(handle, Path::new("")).map_err(io::Error::from)
}

pub(super) fn unreadable(error: io::Error) -> ToolError {
    ToolError::failed(format!("what was kept cannot be read: {error}")).caused_by(error)
}

/// The change was not made, because what it would have replaced could not be kept.
pub(crate) fn unkept(error: io::Error) -> ToolError {
    ToolError::new(
        ErrorCode::ExecutionFailed,
        format!("what is there now cannot be kept for an undo, so nothing was changed: {error}"),
    )
    .hint("make room for haft's own folder, or switch checkpoints off with `undo.enabled: false`")
    .caused_by(error)
}
