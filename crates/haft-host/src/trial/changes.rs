//! What a trial changed, read from the layer that took the writes and compared with what lies
//! beneath it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, chmodat, fgetxattr, fstat, statat};
use serde::{Deserialize, Serialize};

use crate::place::{
    CAPABILITIES, Change, Kind, SET_ID, State, attributes, digest, names, open_folder, path_bytes,
};
use crate::sandbox::{PROJECT_CONFIG, is_placeholder};

/// The mark of a folder that hides all beneath it.
const OPAQUE: &str = "user.overlay.opaque";

/// What a walk has found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) changes: Vec<Change>,
    /// Pipes, sockets, devices, a new config of haft's, and that a program runs as its owner or
    /// with capabilities: none of it is carried over
    pub(crate) left_out: Vec<PathBuf>,
    /// Names that are to be names of one file, in order
    pub(crate) links: Vec<Link>,
    names: BTreeMap<u64, Names>,
}

/// A name that is to be another name of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link {
    #[serde(with = "path_bytes")]
    pub(crate) name: PathBuf,
    #[serde(with = "path_bytes")]
    pub(crate) of: PathBuf,
}

pub(super) fn in_order(links: &mut [Link]) {
    links.sort_by(|one, other| one.name.cmp(&other.name));
}

/// The file that a changed name would be another name of; the links are in order.
pub(super) fn link_to<'l>(links: &'l [Link], change: &Change) -> Option<&'l Path> {
    let at = links.binary_search_by(|link| link.name.cmp(&change.path));
    at.ok().map(|at| links[at].of.as_path())
}

/// The names of one file in the upper layer.
#[derive(Debug, Default)]
struct Names {
    changed: Vec<PathBuf>,
    unchanged: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changed {
    Yes,
    No,
}

/// Compare the upper layer with the workspace beneath it.
pub(crate) fn find(upper: &OwnedFd, lower: &OwnedFd) -> io::Result<Found> {
    let mut found = Found::default();
    found.walk(upper, Some(lower), Path::new(""))?;
    found.links = found.links();
    Ok(found)
}

impl Found {
    fn walk(&mut self, upper: &OwnedFd, lower: Option<&OwnedFd>, path: &Path) -> io::Result<()> {
        for name in names(upper)? {
            self.entry(upper, lower, &name, &path.join(&name))?;
        }
        if let Some(lower) = lower
            && is_opaque(upper)
        {
            for name in names(lower)? {
                if State::at(upper, &name)?.is_none() {
                    self.delete(lower, &name, &path.join(&name))?;
                }
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        upper: &OwnedFd,
        lower: Option<&OwnedFd>,
        name: &OsStr,
        path: &Path,
    ) -> io::Result<()> {
        let stat = statat(upper, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let before = match lower {
            Some(lower) => with_attributes(lower, name)?,
            None => None,
        };
        if is_whiteout(&stat) {
            return match (lower, before) {
                (Some(lower), Some(_)) => self.delete(lower, name, path),
                _ => Ok(()),
            };
        }
        if is_placeholder(&stat) {
            return Ok(());
        }
        let mut after = State::of(&stat);
        after.owner = Some((stat.st_uid, stat.st_gid));
        if matches!(after.kind, Kind::File | Kind::Folder) {
            after.attributes = attributes(upper, name);
        }
        open_up(upper, name, &after)?;
        match after.kind {
            // Such a file is a person's to make.
            _ if before.is_none() && path == Path::new(PROJECT_CONFIG) => {
                self.left_out.push(path.to_owned());
            }
            Kind::Other => self.left_out.push(path.to_owned()),
            Kind::Folder => self.folder(upper, lower, name, path, before, after)?,
            Kind::File | Kind::Link => self.file(upper, lower, name, path, before, after)?,
        }
        Ok(())
    }

    fn folder(
        &mut self,
        upper: &OwnedFd,
        lower: Option<&OwnedFd>,
        name: &OsStr,
        path: &Path,
        before: Option<State>,
        mut after: State,
    ) -> io::Result<()> {
        let was_folder = before.as_ref().is_some_and(|old| old.kind == Kind::Folder);
        let beneath = match lower {
            Some(lower) if was_folder => Some(open_folder(lower, name)?),
            _ => None,
        };
        // One that is made in a folder of a group is the group's too, whoever makes it.
        let inherited = fstat(upper)?.st_mode & SET_ID;
        let had = before.as_ref().filter(|_| was_folder);
        self.strip(path, &mut after, inherited | had.map_or(0, |old| old.mode));
        let about = |one: &State| (one.mode, one.attributes.clone());
        let same = had.is_some_and(|old| about(old) == about(&after));
        // What comes and goes in a folder gives it another time by itself.
        let dated = had.is_some_and(|old| old.modified() != after.modified()) && after.is_dated();
        if !same || dated {
            self.note(path, before, Some(after));
        }
        self.walk(&open_folder(upper, name)?, beneath.as_ref(), path)
    }

    fn file(
        &mut self,
        upper: &OwnedFd,
        lower: Option<&OwnedFd>,
        name: &OsStr,
        path: &Path,
        mut before: Option<State>,
        mut after: State,
    ) -> io::Result<()> {
        after.digest = Some(digest(upper, name, after.kind)?);
        if let (Some(lower), Some(old)) = (lower, &mut before) {
            if old.kind == Kind::Folder {
                let folder = open_folder(lower, name)?;
                for name in names(&folder)? {
                    self.delete(&folder, &name, &path.join(&name))?;
                }
            } else if matches!(old.kind, Kind::File | Kind::Link) {
                // One that we may not read is taken for another.
                old.digest = digest(lower, name, old.kind).ok();
            }
        }
        let content = |one: &State| (one.kind, one.digest);
        let had = before
            .as_ref()
            .filter(|old| content(old) == content(&after));
        self.strip_capabilities(path, &mut after, had);
        let time = |one: &State| (one.kind != Kind::Link).then(|| one.modified());
        let about = |one: &State| (one.mode, one.attributes.clone(), time(one));
        if had.is_some_and(|old| about(old) == about(&after)) {
            self.link(path, &after, Changed::No);
            return Ok(());
        }
        let others = before.as_ref().is_some_and(|old| old.links > 1);
        if others && had.is_none() {
            let told = format!("{} (under its other names, hard links)", path.display());
            self.left_out.push(told.into());
        }
        self.link(path, &after, Changed::Yes);
        self.strip(path, &mut after, 0);
        self.note(path, before, Some(after));
        Ok(())
    }

    /// Files with several names: those that stay as they are give the others something to join.
    fn link(&mut self, path: &Path, after: &State, changed: Changed) {
        if after.links < 2 {
            return;
        }
        let names = self.names.entry(after.inode()).or_default();
        match changed {
            Changed::Yes => names.changed.push(path.to_owned()),
            Changed::No => names.unchanged = Some(path.to_owned()),
        }
    }

    /// Which changed names join one that is not, and which join each other.
    fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        for names in self.names.values() {
            let first = names.unchanged.iter().chain(&names.changed).next();
            for name in &names.changed {
                links.extend(first.filter(|first| *first != name).map(|first| Link {
                    name: name.clone(),
                    of: first.clone(),
                }));
            }
        }
        in_order(&mut links);
        links
    }

    /// The same for capabilities: a content has those that it had.
    fn strip_capabilities(&mut self, path: &Path, after: &mut State, had: Option<&State>) {
        let anyway = had.map_or(&[][..], |old| &old.attributes);
        let all = after.attributes.len();
        let attributes = &mut after.attributes;
        attributes.retain(|one| one.0 != CAPABILITIES || anyway.contains(one));
        if after.attributes.len() < all {
            let told = format!("{} (its capabilities)", path.display());
            self.left_out.push(told.into());
        }
    }

    /// A trial makes nothing that runs as somebody else, but for what is so anyway.
    fn strip(&mut self, path: &Path, after: &mut State, anyway: u32) {
        let gained = after.mode & SET_ID & !anyway;
        if gained != 0 {
            after.mode &= !gained;
            let told = format!("{} (that it runs as its owner)", path.display());
            self.left_out.push(told.into());
        }
    }

    /// Everything that is gone, file by file: nobody agrees to lose what is not named.
    fn delete(&mut self, lower: &OwnedFd, name: &OsStr, path: &Path) -> io::Result<()> {
        let Some(before) = with_attributes(lower, name)? else {
            return Ok(());
        };
        if before.kind == Kind::Folder {
            let folder = open_folder(lower, name)?;
            for name in names(&folder)? {
                self.delete(&folder, &name, &path.join(&name))?;
            }
        }
        self.note(path, Some(before), None);
        Ok(())
    }

    fn note(&mut self, path: &Path, before: Option<State>, after: Option<State>) {
        self.changes.push(Change {
            path: path.to_owned(),
            before,
            after,
        });
    }
}

/// What lies beneath, with what is attached to it.
fn with_attributes(lower: &OwnedFd, name: &OsStr) -> io::Result<Option<State>> {
    let mut found = State::at(lower, name)?;
    if let Some(state) = &mut found
        && matches!(state.kind, Kind::File | Kind::Folder)
    {
        state.attributes = attributes(lower, name);
    }
    Ok(found)
}

/// The command may have closed what it made, even to its owner. The true mode is noted by now;
/// the layer itself is only for us.
fn open_up(upper: &OwnedFd, name: &OsStr, after: &State) -> rustix::io::Result<()> {
    let needed = match after.kind {
        Kind::File => 0o400,
        Kind::Folder => 0o700,
        Kind::Link | Kind::Other => return Ok(()),
    };
    if after.mode & needed == needed {
        return Ok(());
    }
    let mode = Mode::from_raw_mode(after.mode | needed);
    chmodat(upper, name, mode, AtFlags::empty())
}

/// A device that is none: the overlay's word for "gone".
fn is_whiteout(stat: &rustix::fs::Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

fn is_opaque(folder: impl AsFd) -> bool {
    let mut value = [0u8; 1];
    matches!(fgetxattr(folder, OPAQUE, &mut value), Ok(1)) && value == *b"y"
}
