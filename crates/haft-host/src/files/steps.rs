//! Renames that can be taken back, one after the other. A folder is opened anew for each step,
//! so that a change of thousands of files does not hold thousands of folders open.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::open::open_dir;
use super::write::temporary_name;
use super::{Resolved, Workspace};

/// A name in a folder beneath a root.
#[derive(Debug, Clone)]
pub(super) struct Spot<'w> {
    root: &'w OwnedFd,
    folder: PathBuf,
    pub(super) name: OsString,
    /// The folder as people write it
    shown: PathBuf,
}

impl<'w> Spot<'w> {
    /// Where an entry lies; none for a root itself.
    pub(super) fn of(workspace: &'w Workspace, place: &Resolved) -> Option<Self> {
        Some(Spot {
            root: workspace.handle(place),
            folder: place.relative().parent()?.to_owned(),
            name: place.relative().file_name()?.to_owned(),
            shown: place.path().parent()?.to_owned(),
        })
    }

    /// Another name in the same folder.
    pub(super) fn beside(&self, name: OsString) -> Self {
        Spot {
            name,
            ..self.clone()
        }
    }

    /// A name in the same folder that nobody has.
    pub(super) fn aside(&self) -> Result<Self, Errno> {
        Ok(self.beside(temporary_name()?))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.shown.join(&self.name)
    }

    pub(super) fn open_folder(&self) -> Result<OwnedFd, Errno> {
        open_dir(self.root, &self.folder)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn root(&self) -> &'w OwnedFd {
        self.root
    }

    /// What has the name now.
    pub(super) fn stat(&self) -> Result<Option<Stat>, Errno> {
        let dir = match self.open_folder() {
            Err(Errno::NOENT) => return Ok(None),
            other => other?,
        };
        match rustix::fs::statat(&dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn unlink(&self) -> Result<(), Errno> {
        match rustix::fs::unlinkat(self.open_folder()?, &self.name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }
}

#[derive(Debug)]
enum Done<'w> {
    Renamed(Spot<'w>, Spot<'w>),
    Swapped(Spot<'w>, Spot<'w>),
}

/// What has been done so far.
#[derive(Debug, Default)]
pub(super) struct Steps<'w>(Vec<Done<'w>>);

impl<'w> Steps<'w> {
    /// Give an entry another name, which nobody may have.
    pub(super) fn rename(&mut self, from: &Spot<'w>, to: &Spot<'w>) -> Result<(), Errno> {
        rename_to_free(from, to)?;
        self.0.push(Done::Renamed(from.clone(), to.clone()));
        Ok(())
    }

    /// Let two entries swap their names in one instant. Not every file system can.
    pub(super) fn swap(&mut self, one: &Spot<'w>, other: &Spot<'w>) -> Result<(), Errno> {
        swap(one, other)?;
        self.0.push(Done::Swapped(one.clone(), other.clone()));
        Ok(())
    }

    /// Every name that has changed hands.
    pub(super) fn touched(&self) -> impl Iterator<Item = &Spot<'w>> {
        self.0.iter().flat_map(|done| match done {
            Done::Renamed(one, other) | Done::Swapped(one, other) => [one, other],
        })
    }

    /// Take all of it back, the last step first. Answers with the names that may now hold
    /// something else than before.
    pub(super) fn undo(self) -> Vec<PathBuf> {
        let mut wrong = Vec::new();
        for step in self.0.into_iter().rev() {
            let (one, other, undone) = match step {
                Done::Renamed(from, to) => {
                    let undone = rename_to_free(&to, &from);
                    (from, to, undone)
                }
                Done::Swapped(one, other) => {
                    let undone = swap(&one, &other);
                    (one, other, undone)
                }
            };
            if undone.is_err() {
                wrong.extend([one.path(), other.path()]);
            }
        }
        wrong
    }
}

/// Whether a file system has answered that it does not know this kind of rename.
pub(super) fn unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

fn rename_to_free(from: &Spot<'_>, to: &Spot<'_>) -> Result<(), Errno> {
    let (source, target) = (from.open_folder()?, to.open_folder()?);
    let exclusive = RenameFlags::NOREPLACE;
    match rustix::fs::renameat_with(&source, &from.name, &target, &to.name, exclusive) {
        Err(error) if unsupported(error) => {}
        other => return other,
    }
    match rustix::fs::statat(&target, &to.name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => rustix::fs::renameat(&source, &from.name, &target, &to.name),
        Ok(_) => Err(Errno::EXIST),
        Err(error) => Err(error),
    }
}

fn swap(one: &Spot<'_>, other: &Spot<'_>) -> Result<(), Errno> {
    let (first, second) = (one.open_folder()?, other.open_folder()?);
    let exchange = RenameFlags::EXCHANGE;
    rustix::fs::renameat_with(&first, as_name(one), &second, as_name(other), exchange)
}

fn as_name<'s>(spot: &'s Spot<'_>) -> &'s OsStr {
    &spot.name
}
