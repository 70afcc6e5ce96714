//! Entries of folders as such: a link is itself, not what it leads to. That is what moving and
//! deleting are about.

use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use haft_core::{Effects, Resource, ToolError};
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::error::{clipped, failure};
use super::open::open_dir;
use super::{EntryKind, Resolved, Workspace, is_protected, walk};

impl Workspace {
    /// Where an entry lies: links are followed on the way, and the last name stays as it is. It
    /// need not be there.
    pub(super) fn resolve_entry(&self, path: &str) -> Result<Resolved, ToolError> {
        let written = Path::new(path);
        let (parent, name) = match (written.parent(), written.components().next_back()) {
            (Some(parent), Some(Component::Normal(name))) => (parent, name),
            // `..`, `.` and `/` have no name of their own.
            _ => return self.resolve(path),
        };
        super::check_spelling(path)?;
        let parent = match parent.to_str() {
            Some("") | None => ".",
            Some(parent) => parent,
        };
        let parent = self.resolve(parent)?;
        self.inside(&parent, Path::new(name))
    }

    /// A place inside a folder, by a path without links.
    pub(super) fn inside(&self, folder: &Resolved, path: &Path) -> Result<Resolved, ToolError> {
        let absolute = folder.path().join(path);
        let shown = absolute.to_string_lossy();
        let resolved = self
            .locate(&absolute)
            .ok_or_else(|| super::leaves(&shown))?;
        if self.is_home(&absolute) {
            return Err(super::closed(&shown));
        }
        Ok(resolved)
    }

    /// Refuse to change, move or remove what must stay: roots, haft's own files, and every
    /// folder that holds one of them.
    pub(super) fn expect_changeable(&self, place: &Resolved) -> Result<(), ToolError> {
        let path = place.path();
        let shown = || clipped(&path.to_string_lossy());
        if self.roots.iter().any(|root| root.path == path) {
            return Err(ToolError::denied(format!(
                "the workspace itself stays where it is: `{}`",
                shown()
            ))
            .hint("name what is inside it"));
        }
        let holds_root = self.roots.iter().any(|root| root.path.starts_with(path));
        let holds_home = self.home.starts_with(path) || self.way_home.starts_with(path);
        if holds_root || holds_home || self.holds_project_config(path) {
            return Err(ToolError::denied(format!(
                "haft's own files are in there and are closed to tools: `{}`",
                shown()
            )));
        }
        self.expect_writable(place, &shown())
    }

    /// What an entry is, or none where nothing has the name.
    pub(crate) fn kind_of(&self, place: &Resolved) -> Result<Option<EntryKind>, ToolError> {
        let told = |error: Errno| failure("look at", place.path(), error);
        let Some(name) = place.relative().file_name() else {
            return Ok(Some(EntryKind::Directory));
        };
        let parent = place.relative().parent().unwrap_or(Path::new(""));
        let dir = match open_dir(self.handle(place), parent) {
            Ok(dir) => dir,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(told(error)),
        };
        match rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(EntryKind::of(FileType::from_raw_mode(stat.st_mode)))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(told(error)),
        }
    }

    /// The folder that an entry lies in.
    pub(crate) fn folder_of(&self, place: &Resolved) -> Result<Resolved, ToolError> {
        let folder = place.path().parent().and_then(|folder| self.locate(folder));
        folder.ok_or_else(|| super::leaves(&place.path().to_string_lossy()))
    }

    /// A folder, held open.
    pub(crate) fn open_folder(&self, place: &Resolved) -> Result<OwnedFd, ToolError> {
        open_dir(self.handle(place), place.relative())
            .map_err(|error| failure("open", place.path(), error))
    }

    /// Whether a path lies in one of the roots, links followed.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        let real = walk::likely_path(Path::new("/"), path);
        self.locate(&real).is_some() || self.locate(path).is_some()
    }
}

impl EntryKind {
    pub(super) fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Symlink,
            _ => EntryKind::Other,
        }
    }
}

impl Resolved {
    /// What moving, deleting or replacing this folder and all that is in it touches. `inside`
    /// names the entries, so that a protected one among them is not overlooked.
    pub fn writes_tree<'a>(&self, inside: impl IntoIterator<Item = &'a Path>) -> Effects {
        /// Enough to show what is at stake; one alone is enough to ask.
        const MARKS: usize = 20;
        let mut effects = Effects::none().writes(Resource::Tree(self.absolute.clone()));
        if is_protected(&self.relative).is_some() {
            effects = effects.writes(self.protected());
        }
        let protected = inside
            .into_iter()
            .filter(|path| is_protected(&self.relative.join(path)).is_some());
        for path in protected.take(MARKS) {
            effects = effects.writes(Resource::protected(&self.absolute.join(path)));
        }
        effects
    }
}
