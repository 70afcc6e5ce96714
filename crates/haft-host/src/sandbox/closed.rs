//! The places that rules close to a command, found before it starts. A rule is a pattern and a
//! mount has a path, so what is there now is looked through; what cannot be looked through refuses
//! the command, since nobody would keep to the rule.

use std::fs;
use std::path::{Path, PathBuf};

use haft_core::{CancelToken, ClosedPaths, ClosedStart, Mode, ToolError};
use serde::{Deserialize, Serialize};

use super::guarded::IfMissing;
use super::secrets::WithSecrets;

/// Entries that are looked at.
const MOST_ENTRIES: usize = 1_000_000;
/// Bytes of all paths together: they go to the launcher as part of one argument.
const MOST_BYTES: usize = 90_000;

/// What a command finds closed, whatever it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedPlaces {
    /// Not to be seen, in the folders that may be written and elsewhere
    pub(super) hidden: Vec<PathBuf>,
    /// Not to be changed
    read_only: Vec<PathBuf>,
    /// Folders and files that are not there and are not to come to be
    no_folder: Vec<PathBuf>,
    no_file: Vec<PathBuf>,
    /// Something is closed to writing, be it there or not
    writes: bool,
    /// How many of the hidden hold secrets, and are hidden for nothing else
    #[serde(default)]
    secrets: usize,
}

/// What a sandbox is asked to close, and where it can.
#[derive(Debug, Clone)]
pub(crate) struct Grounds {
    /// The folders that may be written
    pub(crate) writable: Vec<PathBuf>,
    /// Out of sight but for what is readable
    pub(crate) home: Option<PathBuf>,
    pub(crate) readable: Vec<PathBuf>,
    /// haft's own state, which is hidden anyway
    pub(crate) state: PathBuf,
}

impl ClosedPlaces {
    pub(crate) fn closes_writes(&self) -> bool {
        self.writes
    }

    /// Files and folders that are hidden because nobody was asked.
    pub fn secrets(&self) -> usize {
        self.secrets
    }

    /// The same for a command that nobody was asked about: what holds secrets is hidden too.
    pub(crate) fn find_unasked(
        rules: Option<&dyn ClosedPaths>,
        grounds: &Grounds,
        cancel: &CancelToken,
    ) -> Result<Self, ToolError> {
        let closed = WithSecrets {
            rules,
            roots: &grounds.writable,
        };
        let mut found = ClosedPlaces::find(&closed, grounds, cancel)?;
        let secrets = found.hidden.iter().filter(|path| closed.is_secret(path));
        found.secrets = secrets.count();
        Ok(found)
    }

    /// Whether all of a folder is closed to writing.
    pub(super) fn closes(&self, folder: &Path) -> bool {
        self.read_only.iter().any(|place| place == folder)
    }

    /// What is to be kept as it is, and what stands there while nothing else does.
    pub(super) fn guards(&self) -> impl Iterator<Item = (&PathBuf, IfMissing)> {
        let there = self.read_only.iter().map(|path| (path, IfMissing::Leave));
        let folders = self.no_folder.iter().map(|path| (path, IfMissing::Folder));
        let files = self.no_file.iter().map(|path| (path, IfMissing::Unmake));
        there.chain(folders).chain(files)
    }

    /// Look through everything that a command could reach.
    pub(crate) fn find(
        closed: &dyn ClosedPaths,
        grounds: &Grounds,
        cancel: &CancelToken,
    ) -> Result<Self, ToolError> {
        let mut search = Search {
            closed,
            grounds,
            cancel,
            found: ClosedPlaces::default(),
            entries: 0,
            bytes: 0,
        };
        for root in &grounds.writable {
            search.root(root)?;
        }
        for start in closed.starts(Mode::Read) {
            search.outside(start)?;
        }
        for start in closed.starts(Mode::Write) {
            search.found.writes = true;
            search.missing(start);
        }
        Ok(search.found)
    }
}

struct Search<'a> {
    closed: &'a dyn ClosedPaths,
    grounds: &'a Grounds,
    cancel: &'a CancelToken,
    found: ClosedPlaces,
    entries: usize,
    bytes: usize,
}

/// A folder to be looked into, and what for.
struct Open {
    folder: PathBuf,
    reads: bool,
    writes: bool,
}

impl Search<'_> {
    fn root(&mut self, root: &Path) -> Result<(), ToolError> {
        if self.closed.closes(Mode::Read, root) {
            return Err(ToolError::denied(format!(
                "rules close the whole folder to reading: `{}`",
                root.display()
            ))
            .hint("a command cannot work in a folder that it may not see"));
        }
        let all = self.closed.closes(Mode::Write, root);
        if all {
            self.found.read_only.push(root.to_owned());
        }
        self.walk(Open {
            folder: root.to_owned(),
            reads: self.closed.reaches(Mode::Read, root),
            writes: !all && self.closed.reaches(Mode::Write, root),
        })
    }

    /// What lies outside of the folders that may be written is read-only anyway.
    fn outside(&mut self, start: ClosedStart) -> Result<(), ToolError> {
        let path = start.path;
        let meets = |root: &PathBuf| path.starts_with(root) || root.starts_with(&path);
        if self.grounds.writable.iter().any(meets) {
            return Ok(());
        }
        if self.closed.closes(Mode::Read, &path) {
            return match path.symlink_metadata() {
                Ok(_) => self.hide(path),
                Err(_) => Ok(()),
            };
        }
        let reads = |folder: &Path| Open {
            folder: folder.to_owned(),
            reads: true,
            writes: false,
        };
        let grounds = self.grounds;
        if !grounds
            .home
            .as_ref()
            .is_some_and(|home| path.starts_with(home))
        {
            return self.walk(reads(&path));
        }
        let seen = grounds.readable.iter();
        let mut seen = seen.filter(|place| place.starts_with(&path) || path.starts_with(place));
        seen.try_for_each(|place| self.walk(reads(place)))
    }

    /// A name that is free now.
    fn missing(&mut self, start: ClosedStart) {
        let ClosedStart { path, exact } = start;
        let inside = |root: &PathBuf| path != *root && path.starts_with(root);
        if !self.grounds.writable.iter().any(inside)
            || path.symlink_metadata().is_ok()
            || !path.parent().is_some_and(Path::is_dir)
            || !self.closed.closes(Mode::Write, &path)
        {
            return;
        }
        match exact {
            true => self.found.no_file.push(path),
            false => self.found.no_folder.push(path),
        }
    }

    fn walk(&mut self, first: Open) -> Result<(), ToolError> {
        let mut open = vec![first];
        while let Some(Open {
            folder,
            reads,
            writes,
        }) = open.pop()
        {
            if !reads && !writes || folder.starts_with(&self.grounds.state) {
                continue;
            }
            // One that we may not look into the command may not either.
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            for entry in entries.flatten() {
                self.count()?;
                let Ok(kind) = entry.file_type() else {
                    continue;
                };
                // What a link leads to is closed by its own path, or not.
                if kind.is_symlink() {
                    continue;
                }
                let path = entry.path();
                if reads && self.closed.closes(Mode::Read, &path) {
                    self.hide(path)?;
                    continue;
                }
                let kept = writes && self.closed.closes(Mode::Write, &path);
                if kept {
                    self.bytes += path.as_os_str().len();
                    self.found.read_only.push(path.clone());
                }
                if kind.is_dir() {
                    open.push(Open {
                        reads: reads && self.closed.reaches(Mode::Read, &path),
                        writes: writes && !kept && self.closed.reaches(Mode::Write, &path),
                        folder: path,
                    });
                }
            }
        }
        Ok(())
    }

    fn hide(&mut self, path: PathBuf) -> Result<(), ToolError> {
        self.bytes += path.as_os_str().len();
        self.found.hidden.push(path);
        self.in_bounds()
    }

    fn count(&mut self) -> Result<(), ToolError> {
        self.entries += 1;
        if self.cancel.is_cancelled() {
            return Err(ToolError::new(
                haft_core::ErrorCode::Cancelled,
                "cancelled before the command started",
            ));
        }
        self.in_bounds()
    }

    fn in_bounds(&self) -> Result<(), ToolError> {
        let told = match () {
            () if self.entries > MOST_ENTRIES => "there are too many files to look through",
            () if self.bytes > MOST_BYTES => "they are too many",
            () => return Ok(()),
        };
        Err(ToolError::not_available(format!(
            "what is closed to a command cannot be kept from it: {told}"
        ))
        .hint(
            "close whole folders in `tools.rules.deny`, such as `file.read(secret/**)`; keys and \
             `.env` files are closed to a command that goes through folders and is not asked about",
        ))
    }
}
