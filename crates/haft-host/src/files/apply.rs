//! Carries out many changes, all or none. First everything is looked at and every new content
//! lies on the disk under a name of its own; what can go wrong mostly goes wrong there. Then
//! only names change hands, each step can be taken back, and what was replaced or removed is
//! still there until the last step is done.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use haft_core::{CancelToken, ErrorCode, ToolError};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::change::{Before, FileChange, Like, NewMode, SnapshotStamp};
use super::error::{cancelled, failure};
use super::open::{Stamp, open_dir};
use super::remove::{expect_removable, remove};
use super::seen::Version;
use super::steps::{Spot, Steps, unsupported};
use super::write::{Draft, NewFolders, changed, open_or_make, present_state};
use super::{Resolved, Workspace};
use crate::place::{Attribute, attributes, attributes_of};
use crate::undo::Lost;

/// From this many new contents on, the disk is told once instead of for each.
const MANY: usize = 16;

/// The answer is what new files have no more of those they replaced.
pub(super) fn apply(
    workspace: &Workspace,
    changes: &[FileChange],
    session: &str,
    cancel: &CancelToken,
) -> Result<Vec<Lost>, ToolError> {
    let mut work = Work::new(workspace, changes, cancel);
    let done = work.look_over(changes).and_then(|ready| {
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        work.carry_out(&ready)
    });
    match done {
        Ok(()) => {
            for change in changes {
                if let FileChange::Put { place, content, .. } = change {
                    let version = Version::Written(blake3::hash(content));
                    workspace.seen.note(session, place.path(), version);
                }
            }
            let unkept = std::mem::take(&mut work.unkept);
            work.finish().map(|()| unkept)
        }
        Err(error) => Err(work.take_back(error)),
    }
}

/// A change that has been looked at.
enum Ready<'w> {
    Put {
        spot: Spot<'w>,
        draft: Spot<'w>,
        /// The file that is to be replaced
        old: Option<Stamp>,
    },
    Remove {
        spot: Spot<'w>,
    },
    Move {
        from: Spot<'w>,
        to: Spot<'w>,
        /// Something has the name, and goes
        replaces: bool,
    },
}

struct Work<'w> {
    workspace: &'w Workspace,
    cancel: &'w CancelToken,
    /// Names that are free once the changes are made
    vacated: HashSet<PathBuf>,
    /// Some change needs a name that another one gives up
    tangled: bool,
    many: bool,
    steps: Steps<'w>,
    folders: NewFolders,
    drafts: Vec<Spot<'w>>,
    /// What is to be gone at the end
    asides: Vec<Spot<'w>>,
    unkept: Vec<Lost>,
}

impl<'w> Work<'w> {
    fn new(workspace: &'w Workspace, changes: &[FileChange], cancel: &'w CancelToken) -> Self {
        let mut vacated = HashSet::new();
        let mut taken = Vec::new();
        let mut puts = 0;
        for change in changes {
            match change {
                FileChange::Put { place, .. } => {
                    puts += 1;
                    taken.push(place.path());
                }
                FileChange::Remove { place, .. } => {
                    vacated.insert(place.path().to_owned());
                }
                FileChange::Move { from, to, .. } => {
                    vacated.insert(from.path().to_owned());
                    taken.push(to.path());
                }
            }
        }
        Work {
            tangled: taken.iter().any(|path| vacated.contains(*path)),
            workspace,
            cancel,
            vacated,
            many: puts >= MANY,
            steps: Steps::default(),
            folders: NewFolders::default(),
            drafts: Vec::new(),
            asides: Vec::new(),
            unkept: Vec::new(),
        }
    }

    fn look_over(&mut self, changes: &[FileChange]) -> Result<Vec<Ready<'w>>, ToolError> {
        let mut ready = Vec::with_capacity(changes.len());
        for change in changes {
            if self.cancel.is_cancelled() {
                return Err(cancelled());
            }
            ready.push(match change {
                FileChange::Put {
                    place,
                    content,
                    mode,
                    like,
                    before,
                } => self.prepare_put(place, content, *mode, like.as_ref(), *before)?,
                FileChange::Remove { place, before } => self.prepare_remove(place, *before)?,
                FileChange::Move {
                    from,
                    to,
                    overwrite,
                } => self.prepare_move(from, to, *overwrite)?,
            });
        }
        if self.many {
            self.sync_all()?;
        }
        Ok(ready)
    }

    fn prepare_put(
        &mut self,
        place: &Resolved,
        content: &[u8],
        mode: NewMode,
        like: Option<&Like>,
        before: Before,
    ) -> Result<Ready<'w>, ToolError> {
        let told = |error: std::io::Error| failure("write to", place.path(), error);
        let spot = self.spot(place)?;
        let dir = open_or_make(spot.root(), spot.folder(), &mut self.folders)
            .map_err(|error| told(error.into()))?;
        let old = match self.vacated.contains(place.path()) {
            true => None,
            false => present_state(&dir, &spot.name, place)?,
        };
        expect(before, old.as_ref(), place.path())?;
        let (model, attached) = match like {
            Some(like) => self.borne(like)?,
            None => (old, attributes(&dir, &spot.name)),
        };
        let mut draft = Draft::create(&dir, model.as_ref()).map_err(|error| told(error.into()))?;
        draft
            .fill(content, self.cancel)
            .map_err(|error| error.map_or_else(cancelled, told))?;
        let unkept = draft.resemble(attached, place.path());
        self.unkept
            .extend(unkept.map_err(|error| told(error.into()))?);
        draft.set_mode(mode).map_err(|error| told(error.into()))?;
        if !self.many {
            draft.sync().map_err(told)?;
        }
        let draft = spot.beside(draft.keep());
        self.drafts.push(draft.clone());
        Ok(Ready::Put {
            spot,
            draft,
            old: old.as_ref().map(Stamp::of),
        })
    }

    /// What a file bears that is still as it was when it was read.
    fn borne(&self, like: &Like) -> Result<(Option<Stat>, Vec<Attribute>), ToolError> {
        let path = like.place.path();
        let told = |error: Errno| match error {
            Errno::NOENT | Errno::LOOP => changed(path),
            error => failure("read", path, error),
        };
        let file = open_to_read(&self.spot(&like.place)?).map_err(told)?;
        let stat = rustix::fs::fstat(&file).map_err(told)?;
        match Stamp::of(&stat) == like.stamp {
            true => Ok((Some(stat), attributes_of(&file))),
            false => Err(changed(path)),
        }
    }

    fn prepare_remove(&mut self, place: &Resolved, before: Before) -> Result<Ready<'w>, ToolError> {
        let spot = self.spot(place)?;
        let stat = present(&spot)?;
        expect(before, Some(&stat), place.path())?;
        if is_folder(&stat) {
            expect_removable(&spot, self.cancel)?;
        }
        Ok(Ready::Remove { spot })
    }

    fn prepare_move(
        &mut self,
        from: &Resolved,
        to: &Resolved,
        overwrite: bool,
    ) -> Result<Ready<'w>, ToolError> {
        let (source, target) = (self.spot(from)?, self.spot(to)?);
        let moved = present(&source)?;
        open_or_make(target.root(), target.folder(), &mut self.folders)
            .map_err(|error| failure("move to", to.path(), error))?;
        let there = match self.vacated.contains(to.path()) {
            true => None,
            false => stat(&target)?,
        };
        match &there {
            Some(_) if !overwrite => return Err(occupied(to.path(), overwrite)),
            Some(old) if is_folder(old) || is_folder(&moved) => {
                return Err(occupied(to.path(), overwrite));
            }
            _ => {}
        }
        Ok(Ready::Move {
            from: source,
            to: target,
            replaces: there.is_some(),
        })
    }

    fn carry_out(&mut self, ready: &[Ready<'w>]) -> Result<(), ToolError> {
        // Names are given up first, so that the others find them free.
        let mut sources = Vec::with_capacity(ready.len());
        for change in ready {
            sources.push(match change {
                Ready::Remove { spot } => {
                    let aside = self.put_aside(spot, "delete")?;
                    self.asides.push(aside);
                    None
                }
                Ready::Move { from, .. } if self.tangled => Some(self.put_aside(from, "move")?),
                Ready::Move { from, .. } => Some(from.clone()),
                Ready::Put { .. } => None,
            });
        }
        for (change, source) in ready.iter().zip(sources) {
            match (change, source) {
                (Ready::Put { spot, draft, old }, _) => self.place(spot, draft, *old)?,
                (Ready::Move { to, replaces, .. }, Some(source)) => {
                    self.carry(&source, to, *replaces)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn put_aside(&mut self, spot: &Spot<'w>, doing: &str) -> Result<Spot<'w>, ToolError> {
        let told = |error: Errno| failure(doing, &spot.path(), error);
        let aside = spot.aside().map_err(told)?;
        self.steps.rename(spot, &aside).map_err(told)?;
        Ok(aside)
    }

    /// Let a new content take its name, and see that it was the old one that had it.
    fn place(
        &mut self,
        spot: &Spot<'w>,
        draft: &Spot<'w>,
        old: Option<Stamp>,
    ) -> Result<(), ToolError> {
        let path = spot.path();
        let told = |error: Errno| match error {
            Errno::EXIST | Errno::NOENT => changed(&path),
            error => failure("write to", &path, error),
        };
        let Some(old) = old else {
            return self.steps.rename(draft, spot).map_err(told);
        };
        let replaced = match self.steps.swap(draft, spot) {
            Ok(()) => draft.clone(),
            Err(error) if unsupported(error) => {
                let aside = self.put_aside(spot, "write to")?;
                self.steps.rename(draft, spot).map_err(told)?;
                self.asides.push(aside.clone());
                aside
            }
            Err(error) => return Err(told(error)),
        };
        match replaced.stat().map_err(told)? {
            Some(stat) if Stamp::of(&stat).same_content(&old) => Ok(()),
            _ => Err(changed(&path)),
        }
    }

    fn carry(&mut self, from: &Spot<'w>, to: &Spot<'w>, replaces: bool) -> Result<(), ToolError> {
        let path = to.path();
        let told = |error: Errno| match error {
            Errno::EXIST => occupied(&path, replaces),
            Errno::INVAL => ToolError::input_invalid(format!(
                "a folder cannot be moved into itself: `{}`",
                path.display()
            )),
            error => failure("move to", &path, error),
        };
        if replaces {
            match self.steps.swap(from, to) {
                Ok(()) => {
                    let old = self.put_aside(from, "replace")?;
                    self.asides.push(old);
                    return Ok(());
                }
                Err(error) if unsupported(error) || error == Errno::XDEV => {
                    let old = self.put_aside(to, "replace")?;
                    self.asides.push(old);
                }
                Err(error) => return Err(told(error)),
            }
        }
        match self.steps.rename(from, to) {
            Err(Errno::XDEV) => self.copy_over(from, to),
            other => other.map_err(told),
        }
    }

    /// A move to another file system: a copy under the new name, and the old one goes.
    fn copy_over(&mut self, from: &Spot<'w>, to: &Spot<'w>) -> Result<(), ToolError> {
        let path = from.path();
        let stat = present(from)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(ToolError::failed(format!(
                "only files can be moved to another file system: `{}`",
                path.display()
            ))
            .hint("move what is inside one by one, or use `shell.exec` with `mv`"));
        }
        let told = |error: std::io::Error| failure("move", &path, error);
        let source = open_to_read(from).map_err(|error| told(error.into()))?;
        let dir = to.open_folder().map_err(|error| told(error.into()))?;
        let mut draft = Draft::create(&dir, Some(&stat)).map_err(|error| told(error.into()))?;
        std::io::copy(&mut &source, &mut draft.file).map_err(told)?;
        let unkept = draft.resemble(attributes_of(&source), &to.path());
        self.unkept
            .extend(unkept.map_err(|error| told(error.into()))?);
        draft.sync().map_err(told)?;
        let draft = to.beside(draft.keep());
        self.drafts.push(draft.clone());
        self.steps
            .rename(&draft, to)
            .map_err(|error| told(error.into()))?;
        let old = self.put_aside(from, "move")?;
        self.asides.push(old);
        Ok(())
    }

    /// All names are right: make them last, and let go of what they had before.
    fn finish(self) -> Result<(), ToolError> {
        let synced = self.sync_folders();
        let mut left = Vec::new();
        for spot in self.drafts.iter().chain(&self.asides) {
            if let Err(error) = remove(spot) {
                left.push((spot.path(), error));
            }
        }
        self.folders.keep();
        synced?;
        match left.into_iter().next() {
            None => Ok(()),
            Some((path, error)) => Err(failure("clear away", &path, error)
                .hint("the changes are made; this is what is left of the old state")),
        }
    }

    /// Put everything back as it was.
    fn take_back(self, error: ToolError) -> ToolError {
        let wrong = self.steps.undo();
        for draft in &self.drafts {
            // Where a step could not be taken back, the old content may lie here.
            if !wrong.contains(&draft.path()) {
                let _ = draft.unlink();
            }
        }
        drop(self.folders);
        if wrong.is_empty() {
            return error;
        }
        let names: Vec<String> = wrong
            .iter()
            .map(|path| format!("`{}`", path.display()))
            .collect();
        ToolError::new(
            ErrorCode::Uncertain,
            format!(
                "{}; and not everything could be put back: {}",
                error.message,
                names.join(", ")
            ),
        )
        .hint("look at these files; what they held is under one of the names")
        .caused_by(error)
    }

    fn sync_all(&self) -> Result<(), ToolError> {
        for root in &self.workspace.roots {
            let told = |error: Errno| failure("write to", &root.path, error);
            let handle = open_dir(&root.handle, Path::new("")).map_err(told)?;
            rustix::fs::syncfs(&handle).map_err(told)?;
        }
        Ok(())
    }

    fn sync_folders(&self) -> Result<(), ToolError> {
        if self.many {
            return self.sync_all();
        }
        let mut synced = BTreeSet::new();
        for spot in self.steps.touched() {
            let path = spot.path();
            if synced.insert(path.parent().map(Path::to_owned)) {
                let folder = spot.open_folder();
                folder
                    .and_then(|folder| rustix::fs::fsync(&folder))
                    .map_err(|error| failure("write to", &path, error))?;
            }
        }
        Ok(())
    }

    fn spot(&self, place: &Resolved) -> Result<Spot<'w>, ToolError> {
        Spot::of(self.workspace, place).ok_or_else(|| super::error::is_directory(place.path()))
    }
}

fn expect(before: Before, now: Option<&Stat>, path: &Path) -> Result<(), ToolError> {
    let fits = match (before, now) {
        (Before::Anything, _) | (Before::Nothing, None) => true,
        (Before::State(SnapshotStamp(stamp)), Some(stat)) => Stamp::of(stat) == stamp,
        (Before::Nothing, Some(_)) => return Err(occupied(path, false)),
        (Before::State(_), None) => false,
    };
    if fits { Ok(()) } else { Err(changed(path)) }
}

fn stat(spot: &Spot<'_>) -> Result<Option<Stat>, ToolError> {
    spot.stat()
        .map_err(|error| failure("look at", &spot.path(), error))
}

fn present(spot: &Spot<'_>) -> Result<Stat, ToolError> {
    stat(spot)?.ok_or_else(|| failure("find", &spot.path(), Errno::NOENT))
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn open_to_read(spot: &Spot<'_>) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let dir = spot.open_folder()?;
    rustix::fs::openat(&dir, &spot.name, flags, Mode::empty()).map(File::from)
}

fn occupied(path: &Path, overwrite: bool) -> ToolError {
    let error = ToolError::failed(format!("something is already there: `{}`", path.display()));
    match overwrite {
        true => error.hint("a folder is never replaced, nor does one replace a file"),
        false => error.hint("choose another name, or remove what is there first"),
    }
}
