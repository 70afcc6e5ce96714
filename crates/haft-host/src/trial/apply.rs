//! Putting the changes of a trial into the workspace: all of them or none.
//!
//! What is new is first laid beside, in a folder of the workspace itself, so that each step is a
//! rename. What is replaced is moved there too, and looked at once nobody else can reach it: if
//! it is not what the trial saw, everything goes back. The list of steps is on disk before the
//! first one, so a crash in between is undone by whoever comes next.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use haft_core::ToolError;
use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, Timespec, Timestamps, chmodat, fchmod, futimens, mkdirat,
    openat, readlinkat, renameat, renameat_with, symlinkat, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::changes::Change;
use super::state::{Kind, Moved, State, digest, path_bytes};
use super::tree::{Tree, open_file, open_folder};

/// The list of steps, beside the trial.
pub(super) const JOURNAL: &str = "journal.json";
/// Its presence says that every step was taken.
const DONE: &str = "done";

/// Up to this many steps each file is waited for by itself.
const FEW: usize = 64;

/// One step, each with a way back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Step {
    /// Move what is there to the old things, under this number
    TakeAway(#[serde(with = "path_bytes")] PathBuf, usize),
    /// Remove a folder that is empty by now
    RemoveFolder(#[serde(with = "path_bytes")] PathBuf, u32),
    MakeFolder(#[serde(with = "path_bytes")] PathBuf),
    /// Move the new thing with this number to its place
    Place(#[serde(with = "path_bytes")] PathBuf, usize),
    /// Give a folder another mode
    SetMode {
        #[serde(with = "path_bytes")]
        path: PathBuf,
        from: u32,
        to: u32,
    },
}

/// Why the changes were not put in place.
enum Stopped {
    /// Something is not as the trial saw it
    Conflict(PathBuf),
    Failed(PathBuf, io::Error),
}

impl Stopped {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Stopped {
        let path = path.to_owned();
        move |error| match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(
                Errno::NOENT
                | Errno::EXIST
                | Errno::NOTEMPTY
                | Errno::LOOP
                | Errno::NOTDIR
                | Errno::ISDIR,
            ) => Stopped::Conflict(path),
            _ => Stopped::Failed(path, error),
        }
    }

    fn told(self) -> ToolError {
        match self {
            Stopped::Conflict(path) => {
                ToolError::conflict(format!("changed since the trial: `{}`", path.display()))
                    .hint("nothing was changed; run the command again to see what it does now")
            }
            Stopped::Failed(path, error) => ToolError::failed(format!(
                "cannot be put in place: `{}`: {error}",
                path.display()
            ))
            .hint("nothing was changed")
            .caused_by(error),
        }
    }
}

/// The work on one workspace.
struct Work<'a> {
    tree: Tree,
    /// In the workspace, for old and new things
    aside: OsString,
    old: OwnedFd,
    new: OwnedFd,
    changes: &'a [Change],
}

/// Put every change in place. `dir` is the trial's own folder.
pub(super) fn apply(workspace: &Path, dir: &Path, changes: &[Change]) -> Result<(), ToolError> {
    recover(workspace, dir).map_err(stuck)?;
    let told = |error: io::Error| Stopped::Failed(workspace.to_owned(), error).told();
    let mut tree = Tree::open(workspace).map_err(told)?;
    unchanged(&mut tree, changes).map_err(Stopped::told)?;
    let steps = steps(changes);
    let aside = aside(dir);
    write_durably(
        dir,
        JOURNAL,
        &serde_json::to_vec(&steps).map_err(|e| told(e.into()))?,
    )
    .map_err(told)?;
    let mut work = Work::begin(tree, aside, changes).map_err(told)?;
    let mut upper = Tree::open(&dir.join("upper")).map_err(told)?;
    let done = work
        .stage(&mut upper, &steps)
        .and_then(|()| steps.iter().try_for_each(|step| work.take(step)));
    if let Err(stopped) = done {
        work.undo(&steps).map_err(stuck)?;
        return Err(stopped.told());
    }
    work.make_durable(&steps).map_err(told)?;
    write_durably(dir, DONE, b"").map_err(told)?;
    // Only the old things are left to lose; they go with the next trial if not now.
    let _ = work.clear();
    Ok(())
}

/// Undo what a crash left half done.
pub(super) fn recover(workspace: &Path, dir: &Path) -> io::Result<()> {
    let Ok(journal) = fs::read(dir.join(JOURNAL)) else {
        return Ok(());
    };
    let steps: Vec<Step> = serde_json::from_slice(&journal)?;
    let tree = Tree::open(workspace)?;
    let mut work = match Work::reopen(tree, aside(dir)) {
        Ok(work) => work,
        // It never began, or it was cleared already.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if dir.join(DONE).exists() {
        return work.clear();
    }
    work.undo(&steps)
}

fn stuck(error: io::Error) -> ToolError {
    ToolError::new(
        haft_core::ErrorCode::Uncertain,
        "some of the changes could not be put back",
    )
    .hint("look into the folder `.haft-trial-…` of the workspace")
    .caused_by(error)
}

fn aside(dir: &Path) -> OsString {
    let mut name = OsString::from(".haft-trial-");
    name.push(dir.file_name().unwrap_or_default());
    name
}

fn write_durably(dir: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(dir.join(name))?;
    file.write_all(content)?;
    file.sync_all()?;
    File::open(dir)?.sync_all()
}

/// Whether everything still is as the trial saw it.
fn unchanged(tree: &mut Tree, changes: &[Change]) -> Result<(), Stopped> {
    for change in changes {
        let conflict = || Stopped::Conflict(change.path.clone());
        let now = match tree.parent(&change.path) {
            Ok((folder, name)) => State::at(folder, name)
                .map_err(|error| Stopped::at(&change.path)(error.into()))?
                .map(|now| (folder, name, now)),
            // No folder there yet, or still a file or a link: a step before will see to that.
            Err(error) => match Stopped::at(&change.path)(error) {
                Stopped::Conflict(_) => None,
                failed => return Err(failed),
            },
        };
        match (&change.before, now) {
            (None, None) => {}
            (Some(before), Some((folder, name, now))) => {
                if !is_same(before, &now, folder, name, Moved::No) {
                    return Err(conflict());
                }
            }
            _ => return Err(conflict()),
        }
    }
    Ok(())
}

/// By its stamps, or by its content where that is known: who rewrote a file with what it held
/// has changed nothing.
fn is_same(before: &State, now: &State, folder: &OwnedFd, name: &OsStr, moved: Moved) -> bool {
    before.same_stamps(now, moved)
        || (before.kind == now.kind
            && before.mode == now.mode
            && before.kind != Kind::Folder
            && before.digest.is_some()
            && digest(folder, name, now.kind).ok() == before.digest)
}

fn steps(changes: &[Change]) -> Vec<Step> {
    let is_folder = |state: &Option<State>| state.as_ref().is_some_and(|s| s.kind == Kind::Folder);
    let (mut away, mut removed, mut made) = (Vec::new(), Vec::new(), Vec::new());
    let (mut placed, mut modes) = (Vec::new(), Vec::new());
    for (number, change) in changes.iter().enumerate() {
        let path = change.path.clone();
        let (was, is) = (is_folder(&change.before), is_folder(&change.after));
        match &change.before {
            Some(before) if was && !is => {
                removed.push(Step::RemoveFolder(path.clone(), before.mode))
            }
            Some(_) if !was => away.push(Step::TakeAway(path.clone(), number)),
            _ => {}
        }
        match &change.after {
            Some(after) if is => {
                let from = change.before.as_ref().filter(|_| was).map(|s| s.mode);
                if from.is_none() {
                    made.push(Step::MakeFolder(path.clone()));
                }
                modes.push(Step::SetMode {
                    path,
                    from: from.unwrap_or(NEW_FOLDER),
                    to: after.mode,
                });
            }
            Some(_) => placed.push(Step::Place(path, number)),
            None => {}
        }
    }
    // Deep before shallow, where things go; the other way round, where they come.
    removed.sort_by_key(|step| std::cmp::Reverse(step.depth()));
    modes.sort_by_key(|step| std::cmp::Reverse(step.depth()));
    made.sort_by_key(Step::depth);
    [away, removed, made, placed, modes].concat()
}

/// Until everything is in it.
const NEW_FOLDER: u32 = 0o700;

impl Step {
    fn path(&self) -> &Path {
        match self {
            Step::TakeAway(path, _)
            | Step::RemoveFolder(path, _)
            | Step::MakeFolder(path)
            | Step::Place(path, _)
            | Step::SetMode { path, .. } => path,
        }
    }

    fn depth(&self) -> usize {
        self.path().components().count()
    }
}

impl<'a> Work<'a> {
    fn begin(tree: Tree, aside: OsString, changes: &'a [Change]) -> io::Result<Self> {
        let private = Mode::from_raw_mode(0o700);
        mkdirat(tree.root(), &aside, private)?;
        let folder = open_folder(tree.root(), &aside)?;
        mkdirat(&folder, "old", private)?;
        mkdirat(&folder, "new", private)?;
        Work::with(tree, aside, changes)
    }

    fn reopen(tree: Tree, aside: OsString) -> io::Result<Self> {
        let folder = open_folder(tree.root(), &aside)?;
        for name in ["old", "new"] {
            // A crash may have come before they were made.
            match mkdirat(&folder, name, Mode::from_raw_mode(0o700)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Work::with(tree, aside, &[])
    }

    fn with(tree: Tree, aside: OsString, changes: &'a [Change]) -> io::Result<Self> {
        let folder = open_folder(tree.root(), &aside)?;
        Ok(Work {
            old: open_folder(&folder, OsStr::new("old"))?,
            new: open_folder(&folder, OsStr::new("new"))?,
            tree,
            aside,
            changes,
        })
    }

    /// Copy what is new beside the workspace's files.
    fn stage(&mut self, upper: &mut Tree, steps: &[Step]) -> Result<(), Stopped> {
        for step in steps {
            if let Step::Place(path, number) = step
                && let Some(after) = self.changes.get(*number).and_then(|c| c.after.as_ref())
            {
                copy(upper, path, after, &self.new, &number.to_string())
                    .map_err(Stopped::at(path))?;
            }
        }
        self.make_durable(steps).map_err(Stopped::at(Path::new("")))
    }

    /// Wait for the disk. One file at a time where they are few: the whole file system may hold
    /// much that others have written.
    fn make_durable(&mut self, steps: &[Step]) -> io::Result<()> {
        if steps.len() > FEW {
            return rustix::fs::syncfs(self.tree.root()).map_err(io::Error::from);
        }
        for name in super::tree::names(&self.new)? {
            if let Ok(file) = open_file(&self.new, &name) {
                rustix::fs::fsync(&file)?;
            }
        }
        let mut folders: Vec<&Path> = steps
            .iter()
            .filter_map(|step| step.path().parent())
            .collect();
        folders.dedup();
        for folder in folders {
            // One that is not there, not yet or no more, has nothing to be written.
            if let Ok((handle, _)) = self.tree.parent(&folder.join("any")) {
                rustix::fs::fsync(handle)?;
            }
        }
        rustix::fs::fsync(&self.old)?;
        rustix::fs::fsync(&self.new).map_err(io::Error::from)
    }

    fn take(&mut self, step: &Step) -> Result<(), Stopped> {
        let path = step.path();
        let failed = || Stopped::at(path);
        let (folder, name) = self.tree.parent(path).map_err(failed())?;
        let done = match step {
            Step::TakeAway(_, number) => {
                let kept = OsString::from(number.to_string());
                renameat(folder, name, &self.old, &kept).map_err(|e| failed()(e.into()))?;
                // Nobody else can reach it here: what it is now it stays.
                let before = self.changes.get(*number).and_then(|c| c.before.as_ref());
                let now = State::at(&self.old, &kept).map_err(|e| failed()(e.into()))?;
                let same = before
                    .zip(now.as_ref())
                    .is_some_and(|(old, now)| is_same(old, now, &self.old, &kept, Moved::Yes));
                if !same {
                    return Err(Stopped::Conflict(path.to_owned()));
                }
                Ok(())
            }
            Step::RemoveFolder(..) => {
                let done = unlinkat(folder, name, AtFlags::REMOVEDIR);
                self.tree.forget();
                done
            }
            Step::MakeFolder(_) => mkdirat(folder, name, Mode::from_raw_mode(NEW_FOLDER)),
            Step::Place(_, number) => {
                let from = number.to_string();
                renameat_with(&self.new, from, folder, name, RenameFlags::NOREPLACE)
            }
            Step::SetMode { to, .. } => set_mode(folder, name, *to),
        };
        done.map_err(|error| failed()(error.into()))
    }

    /// Go back over every step, whether it was taken or not, and remove what was laid aside.
    fn undo(&mut self, steps: &[Step]) -> io::Result<()> {
        self.tree.forget();
        for step in steps.iter().rev() {
            let Ok((folder, name)) = self.tree.parent(step.path()) else {
                continue;
            };
            match step {
                Step::TakeAway(_, number) => {
                    let kept = number.to_string();
                    if State::at(&self.old, OsStr::new(&kept))?.is_some() {
                        renameat_with(&self.old, kept, folder, name, RenameFlags::NOREPLACE)?;
                    }
                }
                Step::RemoveFolder(_, mode) => {
                    if State::at(folder, name)?.is_none() {
                        mkdirat(folder, name, Mode::from_raw_mode(NEW_FOLDER))?;
                        set_mode(folder, name, *mode)?;
                    }
                }
                Step::MakeFolder(_) => {
                    // Not ours if it was there before, and then it is not empty or no folder.
                    let _ = unlinkat(folder, name, AtFlags::REMOVEDIR);
                    self.tree.forget();
                }
                Step::Place(_, number) => {
                    let from = number.to_string();
                    let placed = State::at(&self.new, OsStr::new(&from))?.is_none();
                    if placed && State::at(folder, name)?.is_some() {
                        renameat(folder, name, &self.new, from)?;
                    }
                }
                Step::SetMode { from, .. } => {
                    let _ = set_mode(folder, name, *from);
                }
            }
        }
        self.tree.forget();
        self.make_durable(steps)?;
        self.clear()
    }

    /// Remove what was laid aside.
    fn clear(&self) -> io::Result<()> {
        let folder = open_folder(self.tree.root(), &self.aside)?;
        for (name, inside) in [("old", &self.old), ("new", &self.new)] {
            for entry in super::tree::names(inside)? {
                unlinkat(inside, entry, AtFlags::empty())?;
            }
            unlinkat(&folder, name, AtFlags::REMOVEDIR)?;
        }
        unlinkat(self.tree.root(), &self.aside, AtFlags::REMOVEDIR).map_err(io::Error::from)
    }
}

/// A folder's mode, without following a link that took its name.
fn set_mode(folder: &OwnedFd, name: &OsStr, mode: u32) -> rustix::io::Result<()> {
    if State::at(folder, name)?.is_none_or(|found| found.kind != Kind::Folder) {
        return Err(Errno::NOTDIR);
    }
    match open_folder(folder, name) {
        Ok(handle) => fchmod(&handle, Mode::from_raw_mode(mode)),
        // A folder that we may not read can still be given a mode.
        Err(Errno::ACCESS) => chmodat(folder, name, Mode::from_raw_mode(mode), AtFlags::empty()),
        Err(error) => Err(error),
    }
}

fn copy(upper: &mut Tree, path: &Path, after: &State, to: &OwnedFd, name: &str) -> io::Result<()> {
    let (folder, own_name) = upper.parent(path)?;
    if after.kind == Kind::Link {
        let target = readlinkat(folder, own_name, Vec::new())?;
        return symlinkat(target.as_c_str(), to, name).map_err(io::Error::from);
    }
    let mut source = File::from(open_file(folder, own_name)?);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut target = File::from(openat(to, name, flags, Mode::from_raw_mode(0o600))?);
    io::copy(&mut source, &mut target)?;
    fchmod(&target, Mode::from_raw_mode(after.mode & 0o777))?;
    let (seconds, nanoseconds) = after.modified();
    let time = Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    futimens(&target, &times).map_err(io::Error::from)
}

#[cfg(test)]
mod tests;
