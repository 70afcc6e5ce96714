//! Files, as tools may touch them: beneath the workspace and the extra roots, through directory
//! handles, never through a name alone. `resolve` says where a path leads, policy judges that,
//! and each act then opens exactly that place or fails. What needs a question is only reported
//! here (`is_protected`); who is asked is decided elsewhere.

mod apply;
mod change;
mod contents;
mod edit;
mod encoding;
mod entry;
mod error;
mod exposed;
mod ignored;
mod large;
mod line;
mod list;
mod open;
mod read;
mod reader;
mod remove;
mod seen;
mod steps;
mod undo;
mod walk;
mod write;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::{Effects, ResolvePath, Resource, Sightings, ToolError};
use rustix::fs::{CWD, Mode, OFlags};
use serde::{Deserialize, Serialize};

pub use change::{Before, ChangeFiles, FileChange, Like, NewMode, SnapshotStamp};
pub use edit::{EditFiles, Snapshot};
pub(crate) use haft_core::protected::{KEY_FILES, KEY_FOLDERS, KEY_PAIRS, PAIRS, START_UP};
pub use haft_core::protected::{holds_secrets, is_protected};
pub use large::Large;
pub use list::{Entry, EntryKind, ListFiles, ListRequest, Listing};
pub use read::{LineRange, Reading};
pub(crate) use read::{read_bytes_now, read_now};
pub use reader::ReadFiles;
pub use undo::UndoFiles;
pub use write::WriteFiles;
pub(crate) use write::{present_now, write_now};

use crate::place::path_bytes;
use crate::undo::{Checkpoints, UndoConfig};
use error::clipped;
pub(crate) use error::{cancelled, failure, not_regular};
pub(crate) use open::open_dir;
use seen::Seen;
use walk::{Stopped, Why};

/// The project's own config file, which arrives with a clone and must not be written by tools.
const PROJECT_CONFIG: &str = "haft.yaml";

/// Longest path and name that Linux takes.
const PATH_LIMIT: usize = 4095;
const NAME_LIMIT: usize = 255;

/// Where file tools may go.
#[derive(Debug, Clone)]
pub struct FilesConfig {
    /// Relative paths start here
    pub workspace: PathBuf,
    /// Other places a person has opened for file tools
    pub roots: Vec<PathBuf>,
    /// haft's own state, closed to every file tool
    pub home: PathBuf,
}

/// The workspace and the other roots, held open.
#[derive(Debug)]
pub struct Workspace {
    /// The workspace first
    roots: Vec<Root>,
    home: PathBuf,
    /// The way to it as it was given: a link on that way is ours too
    way_home: PathBuf,
    seen: Seen,
    /// Where changes are kept, if they are
    checkpoints: Option<Checkpoints>,
}

/// A workspace in words.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Described {
    /// The workspace first
    roots: Vec<DescribedRoot>,
    #[serde(with = "path_bytes")]
    pub(crate) home: PathBuf,
    undo: Option<UndoConfig>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct DescribedRoot {
    #[serde(with = "path_bytes")]
    path: PathBuf,
    /// Device and number: the path alone may be another folder's by now
    folder: Option<(u64, u64)>,
}

#[derive(Debug)]
struct Root {
    path: PathBuf,
    handle: OwnedFd,
}

/// A place in the workspace: where a path really leads, links followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    root: usize,
    #[serde(with = "path_bytes")]
    relative: PathBuf,
    #[serde(with = "path_bytes")]
    absolute: PathBuf,
}

impl Resolved {
    /// Absolute, without links.
    pub fn path(&self) -> &Path {
        &self.absolute
    }

    /// The same, seen from the root that holds it; empty for the root itself.
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    /// A place inside this one, which is a folder.
    pub(crate) fn inside(&self, name: impl AsRef<Path>) -> Self {
        Resolved {
            root: self.root,
            relative: self.relative.join(&name),
            absolute: self.absolute.join(&name),
        }
    }

    /// What reading this file touches.
    pub fn reads(&self) -> Effects {
        let effects = Effects::none().reads(Resource::File(self.absolute.clone()));
        match holds_secrets(&self.relative) {
            Some(_) => effects.reads(self.protected()),
            None => effects,
        }
    }

    /// What writing this file touches.
    pub fn writes(&self) -> Effects {
        let effects = Effects::none().writes(Resource::File(self.absolute.clone()));
        match is_protected(&self.relative) {
            Some(_) => effects.writes(self.protected()),
            None => effects,
        }
    }

    /// The mark by which policy knows that a question is due.
    fn protected(&self) -> Resource {
        Resource::protected(&self.absolute)
    }
}

impl Workspace {
    pub fn open(config: FilesConfig) -> Result<Self, ToolError> {
        let mut roots = vec![Root::open(&config.workspace)?];
        for path in &config.roots {
            roots.push(Root::open(path)?);
        }
        let home = std::path::absolute(&config.home)
            .map_err(|error| failure("use", &config.home, error))?;
        let way_home = home.clone();
        let home = walk::real_path(Path::new("/"), &home)
            .map_err(|stopped| failure("use", &stopped.at, std::io::Error::other("bad path")))?;
        Ok(Workspace {
            roots,
            seen: Seen::default(),
            home,
            way_home,
            checkpoints: None,
        })
    }

    /// What sessions have seen outlives the process with this; without it, it is known here.
    #[must_use]
    pub fn remembering(mut self, sightings: Arc<dyn Sightings>) -> Self {
        self.seen = Seen::kept_by(sightings);
        self
    }

    /// What another process needs to open the very same places.
    pub(crate) fn described(&self) -> Described {
        Described {
            roots: self.roots.iter().map(Root::described).collect(),
            home: self.way_home.clone(),
            undo: self.checkpoints.as_ref().map(Checkpoints::config),
        }
    }

    /// Open what another process described: the same folders, or none.
    pub(crate) fn from_described(described: &Described) -> Result<Self, ToolError> {
        let mut paths = described.roots.iter().map(|root| root.path.clone());
        let workspace = Workspace::open(FilesConfig {
            workspace: paths.next().unwrap_or_default(),
            roots: paths.collect(),
            home: described.home.clone(),
        })?;
        for (root, expected) in workspace.roots.iter().zip(&described.roots) {
            if root.described() != *expected {
                return Err(error::moved(&expected.path));
            }
        }
        Ok(match described.undo {
            Some(undo) => workspace.keeping(Checkpoints::new(&described.home, undo)),
            None => workspace,
        })
    }

    /// The workspace's own folder, absolute and without links.
    pub fn path(&self) -> &Path {
        &self.roots[0].path
    }

    /// Where a path leads, if that is a place file tools may go. Relative paths start in the
    /// workspace; `~` is a name like any other.
    pub fn resolve(&self, path: &str) -> Result<Resolved, ToolError> {
        check_spelling(path)?;
        self.expect_no_shell_home(path)?;
        let real = walk::real_path(self.path(), Path::new(path))
            .map_err(|stopped| self.stopped(path, stopped))?;
        let resolved = self.locate(&real).ok_or_else(|| leaves(path))?;
        if self.is_home(&real) {
            return Err(closed(path));
        }
        Ok(resolved)
    }

    /// Only a shell takes `~` for the home folder: whoever means that must not get a folder of
    /// that name.
    fn expect_no_shell_home(&self, path: &str) -> Result<(), ToolError> {
        if !path.starts_with("~/") || self.path().join("~").symlink_metadata().is_ok() {
            return Ok(());
        }
        Err(ToolError::input_invalid(format!(
            "`~` is not the home folder here: `{}`",
            clipped(path)
        ))
        .hint("write the whole path; a folder that is called `~` is `./~`"))
    }

    /// The same for a file that is to be written.
    fn resolve_for_writing(&self, path: &str) -> Result<Resolved, ToolError> {
        let resolved = self.resolve(path)?;
        let slashed = path.ends_with('/') || path.ends_with("/.");
        if slashed && !resolved.relative.as_os_str().is_empty() {
            return Err(ToolError::input_invalid(format!(
                "a folder is meant where the path ends in a slash: `{}`",
                clipped(path)
            ))
            .hint("name a file; folders on the way to it are made"));
        }
        self.expect_writable(&resolved, path)?;
        Ok(resolved)
    }

    fn expect_writable(&self, place: &Resolved, shown: &str) -> Result<(), ToolError> {
        if !self.is_project_config(place.path()) {
            return Ok(());
        }
        Err(ToolError::denied(format!(
            "haft's own config is never written by a tool: `{}`",
            clipped(shown)
        ))
        .hint("ask a person to change it"))
    }

    /// Where a link leads, if that is a place file tools may go and look.
    pub(crate) fn follow(&self, link: &Path) -> Option<Resolved> {
        let real = walk::real_path(Path::new("/"), link).ok()?;
        let resolved = self.locate(&real)?;
        (!self.is_home(&real)).then_some(resolved)
    }

    /// The innermost root that holds a real path.
    fn locate(&self, real: &Path) -> Option<Resolved> {
        let mut found: Option<Resolved> = None;
        for (root, candidate) in self.roots.iter().enumerate() {
            let Ok(relative) = real.strip_prefix(&candidate.path) else {
                continue;
            };
            if found
                .as_ref()
                .is_none_or(|best| relative.as_os_str().len() < best.relative.as_os_str().len())
            {
                found = Some(Resolved {
                    root,
                    relative: relative.to_owned(),
                    absolute: real.to_owned(),
                });
            }
        }
        found
    }

    /// haft's own state, which no tool may see.
    pub(crate) fn is_home(&self, real: &Path) -> bool {
        real.starts_with(&self.home)
    }

    /// The same for a place, whose path is written as that of the state: bytes tell, which is cheap
    /// for each folder of a large tree.
    pub(crate) fn is_home_at(&self, place: &Resolved) -> bool {
        let [real, home] =
            [&place.absolute, &self.home].map(|path| path.as_os_str().as_encoded_bytes());
        let rest = real.strip_prefix(home.strip_suffix(b"/").unwrap_or(home));
        let is = rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')));
        debug_assert_eq!(is, self.is_home(&place.absolute));
        is
    }

    /// Whether this is a root's `haft.yaml`, or the file that one is a link to.
    fn is_project_config(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| {
            let same_name = real.parent() == Some(&root.path)
                && real
                    .file_name()
                    .is_some_and(|name| name.eq_ignore_ascii_case(PROJECT_CONFIG));
            same_name
                || walk::real_path(&root.path, Path::new(PROJECT_CONFIG))
                    .is_ok_and(|config| config == real)
        })
    }

    /// Whether a root's `haft.yaml`, or the file it is a link to, lies in this folder.
    fn holds_project_config(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| {
            walk::real_path(&root.path, Path::new(PROJECT_CONFIG))
                .is_ok_and(|config| config != real && config.starts_with(real))
        })
    }

    /// The root that holds a place, open.
    pub(crate) fn handle(&self, resolved: &Resolved) -> &OwnedFd {
        &self.roots[resolved.root].handle
    }

    /// The answer to a walk that did not get through. Outside, every reason looks the same, so
    /// that nothing is learned about what is there.
    fn stopped(&self, path: &str, stopped: Stopped) -> ToolError {
        if self.locate(&stopped.at).is_none() {
            return leaves(path);
        }
        match stopped.why {
            Why::Missing => failure("use", &stopped.at, rustix::io::Errno::NOENT),
            Why::NotDirectory => failure("use", &stopped.at, rustix::io::Errno::NOTDIR),
            Why::TooManyLinks => ToolError::failed(format!(
                "too many symbolic links: `{}`",
                stopped.at.display()
            )),
            Why::MagicLink => leaves(path),
            Why::Swapped => error::moved(&stopped.at),
            Why::Io(error) => failure("use", &stopped.at, error),
        }
    }
}

/// Says for policy where a path leads, on this machine as it is now.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealPaths;

impl ResolvePath for RealPaths {
    fn resolve(&self, cwd: &Path, path: &str) -> PathBuf {
        walk::likely_path(cwd, Path::new(path))
    }

    fn contents(&self, paths: &[PathBuf]) -> String {
        contents::contents(paths)
    }
}

/// The same where commands are not shut in, and see every file.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenPaths;

impl ResolvePath for OpenPaths {
    fn resolve(&self, cwd: &Path, path: &str) -> PathBuf {
        RealPaths.resolve(cwd, path)
    }

    fn contents(&self, paths: &[PathBuf]) -> String {
        RealPaths.contents(paths)
    }

    fn exposed(&self, folders: &dyn Fn() -> Vec<PathBuf>) -> Option<PathBuf> {
        exposed::exposed(&folders())
    }
}

impl Root {
    fn open(path: &Path) -> Result<Self, ToolError> {
        let unusable = |error: std::io::Error| {
            ToolError::failed(format!(
                "cannot use as a root for files: `{}`: {error}",
                path.display()
            ))
            .caused_by(error)
        };
        let path = path.canonicalize().map_err(unusable)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, &path, flags, Mode::empty())
            .map_err(|error| unusable(error.into()))?;
        Ok(Root { path, handle })
    }

    // The fields' types differ between platforms, so some casts are empty on some of them.
    #[allow(clippy::unnecessary_cast)]
    fn described(&self) -> DescribedRoot {
        let stat = rustix::fs::fstat(&self.handle).ok();
        DescribedRoot {
            path: self.path.clone(),
            folder: stat.map(|stat| (stat.st_dev as u64, stat.st_ino as u64)),
        }
    }
}

fn closed(path: &str) -> ToolError {
    ToolError::denied(format!(
        "haft's own files are closed to tools: `{}`",
        clipped(path)
    ))
}

fn leaves(path: &str) -> ToolError {
    ToolError::denied(format!("path leaves the workspace: `{}`", clipped(path))).hint(
        "use a path under the workspace; a person can open other places with `files.roots` in the config",
    )
}

fn check_spelling(path: &str) -> Result<(), ToolError> {
    if path.is_empty() {
        return Err(ToolError::input_invalid("path is empty"));
    }
    if path.contains('\0') {
        return Err(ToolError::input_invalid(format!(
            "path holds a NUL byte: `{}`",
            clipped(&path.replace('\0', "␀"))
        )));
    }
    if path.len() > PATH_LIMIT {
        return Err(ToolError::input_invalid(format!(
            "path is longer than {PATH_LIMIT} bytes: `{}`",
            clipped(path)
        )));
    }
    match path.split('/').find(|name| name.len() > NAME_LIMIT) {
        Some(name) => Err(ToolError::input_invalid(format!(
            "name is longer than {NAME_LIMIT} bytes: `{}`",
            clipped(name)
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
