//! Putting changes into a workspace: all of them or none. Where the new contents come from is a
//! [`Source`]'s business: the layer of a trial, or what was kept for an undo.
//!
//! What is new is first laid beside, in a folder of the workspace itself, so that each step is a
//! rename. What is replaced is moved there too, and looked at once nobody else can reach it: if
//! it is not what was expected, everything goes back. The list of steps is on disk before the
//! first one and not before everything lies beside, so a crash in between is undone by whoever comes next.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, RenameFlags, mkdirat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::Change;
use super::lay::{set_attributes, set_mode, set_owner, set_time};
use super::state::{Attribute, Kind, Moved, State, digest, path_bytes};
use super::stopped::Stopped;
use super::tree::{Tree, names, open_file, open_folder};

/// The list of steps, in the folder of whoever makes the changes.
pub(crate) const JOURNAL: &str = "journal.json";
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
    /// Give a new folder to its owner
    SetOwner {
        #[serde(with = "path_bytes")]
        path: PathBuf,
        to: (u32, u32),
    },
    /// Let a folder have been changed at this time
    SetTime {
        #[serde(with = "path_bytes")]
        path: PathBuf,
        from: (i64, i64),
        to: (i64, i64),
    },
    /// Attach to a folder what it had, and nothing else
    SetAttributes {
        #[serde(with = "path_bytes")]
        path: PathBuf,
        from: Vec<Attribute>,
        to: Vec<Attribute>,
    },
}

/// Where new contents come from.
pub(crate) trait Source {
    /// Lay the file or link that this change asks for under a name in a folder, with its mode.
    fn lay(&mut self, number: usize, change: &Change, to: &OwnedFd, name: &str) -> io::Result<()>;
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

/// Put every change in place. `dir` is the caller's own folder, for the list of steps.
pub(crate) fn apply(
    mut tree: Tree,
    dir: &Path,
    changes: &[Change],
    source: &mut dyn Source,
) -> Result<(), Stopped> {
    let failed = |error: io::Error| Stopped::Failed(PathBuf::new(), error);
    recover(tree.again().map_err(failed)?, dir).map_err(Stopped::Stuck)?;
    unchanged(&mut tree, changes)?;
    let steps = steps(changes);
    let aside = aside(dir);
    let journal = serde_json::to_vec(&steps).map_err(|error| failed(error.into()))?;
    let mut work = Work::begin(tree, aside, changes).map_err(failed)?;
    // Invariant: while there is no list of steps, no step was taken. Going back over steps takes
    // what is not beside for placed, so everything must lie there first.
    let staged = work
        .stage(source, &steps)
        .and_then(|()| write_durably(dir, JOURNAL, &journal).map_err(failed));
    if let Err(stopped) = staged {
        let _ = fs::remove_file(dir.join(JOURNAL));
        work.clear().map_err(Stopped::Stuck)?;
        return Err(stopped);
    }
    if let Err(stopped) = steps.iter().try_for_each(|step| work.take(step)) {
        work.undo(&steps).map_err(Stopped::Stuck)?;
        fs::remove_file(dir.join(JOURNAL)).map_err(Stopped::Stuck)?;
        return Err(stopped);
    }
    work.make_durable(&steps).map_err(failed)?;
    write_durably(dir, DONE, b"").map_err(failed)?;
    // Only the old things are left to lose; they go with the next trial if not now.
    let _ = work.clear();
    Ok(())
}

/// Undo what a crash left half done.
pub(crate) fn recover(tree: Tree, dir: &Path) -> io::Result<()> {
    let journal = match fs::read(dir.join(JOURNAL)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        other => Some(other?),
    };
    match (Work::reopen(tree, aside(dir)), &journal) {
        // It never began, or it was cleared already.
        (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {}
        (Err(error), _) => return Err(error),
        (Ok(work), None) => work.clear()?,
        (Ok(work), Some(_)) if dir.join(DONE).exists() => work.clear()?,
        (Ok(mut work), Some(journal)) => {
            work.undo(&serde_json::from_slice::<Vec<Step>>(journal)?)?
        }
    }
    match journal {
        // What comes next begins without steps.
        Some(_) if !dir.join(DONE).exists() => fs::remove_file(dir.join(JOURNAL)),
        _ => Ok(()),
    }
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
                other => return Err(other),
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
    let (mut placed, mut marks, mut modes) = (Vec::new(), Vec::new(), Vec::new());
    let mut times = Vec::new();
    for (number, change) in changes.iter().enumerate() {
        let path = change.path.clone();
        let (was, is) = (is_folder(&change.before), is_folder(&change.after));
        match &change.before {
            Some(before) if was && !is => {
                // So that it has them again if all of this is taken back.
                removed.extend(
                    (!before.attributes.is_empty()).then(|| Step::SetAttributes {
                        path: path.clone(),
                        from: before.attributes.clone(),
                        to: Vec::new(),
                    }),
                );
                removed.push(Step::RemoveFolder(path.clone(), before.mode));
            }
            Some(_) if !was => away.push(Step::TakeAway(path.clone(), number)),
            _ => {}
        }
        match &change.after {
            Some(after) if is => {
                let from = change.before.as_ref().filter(|_| was);
                if from.is_none() {
                    made.push(Step::MakeFolder(path.clone()));
                    times.extend(after.owner.map(|to| Step::SetOwner {
                        path: path.clone(),
                        to,
                    }));
                }
                let attached = from.map_or(Vec::new(), |from| from.attributes.clone());
                // A new one may have got something from the folder it is in.
                if from.is_none() || attached != after.attributes {
                    marks.push(Step::SetAttributes {
                        path: path.clone(),
                        from: attached,
                        to: after.attributes.clone(),
                    });
                }
                times.push(Step::SetTime {
                    path: path.clone(),
                    from: from.map_or(after.modified(), State::modified),
                    to: after.modified(),
                });
                modes.push(Step::SetMode {
                    path,
                    from: from.map_or(NEW_FOLDER, |from| from.mode),
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
    // Times before modes: what is in a folder that is closed cannot be reached.
    times.extend(modes);
    [away, removed, made, placed, marks, times].concat()
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
            | Step::SetMode { path, .. }
            | Step::SetOwner { path, .. }
            | Step::SetTime { path, .. }
            | Step::SetAttributes { path, .. } => path,
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

    /// Lay what is new beside the workspace's files.
    fn stage(&mut self, source: &mut dyn Source, steps: &[Step]) -> Result<(), Stopped> {
        for step in steps {
            if let Step::Place(path, number) = step
                && let Some(change) = self.changes.get(*number)
            {
                source
                    .lay(*number, change, &self.new, &number.to_string())
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
        for name in names(&self.new)? {
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
            // Only root can give a folder away; anyone else owns the new one.
            Step::SetOwner { to, .. } => match set_owner(folder, name, *to) {
                Err(Errno::PERM) => Ok(()),
                done => done,
            },
            // Only its owner can; the folder is what it should be all the same.
            Step::SetTime { to, .. } => match set_time(folder, name, *to) {
                Err(Errno::PERM) => Ok(()),
                done => done,
            },
            Step::SetAttributes { to, .. } => set_attributes(folder, name, to),
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
                // It was not there, and will not be.
                Step::SetOwner { .. } => {}
                Step::SetTime { from, .. } => {
                    let _ = set_time(folder, name, *from);
                }
                Step::SetAttributes { from, .. } => {
                    let _ = set_attributes(folder, name, from);
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
            for entry in names(inside)? {
                unlinkat(inside, entry, AtFlags::empty())?;
            }
            unlinkat(&folder, name, AtFlags::REMOVEDIR)?;
        }
        unlinkat(self.tree.root(), &self.aside, AtFlags::REMOVEDIR).map_err(io::Error::from)
    }
}

#[cfg(test)]
mod tests;
