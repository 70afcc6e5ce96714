//! Listing: sorted, capped, and never through a link.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::{CancelToken, Capability, ClosedPaths, Mode, Power, ToolContext, ToolError};
use rustix::fs::{AtFlags, Dir, FileType};

use super::error::{cancelled, failure};
use super::ignored::Ignored;
use super::open::open_dir;
use super::{Resolved, Workspace};
use crate::blocking::blocking;

/// The power to see what is in a folder.
#[derive(Debug, Clone)]
pub struct ListFiles(Arc<Workspace>);

impl Power for ListFiles {
    const CAPABILITIES: &'static [Capability] = &[Capability::FilesystemList];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Directory,
    Symlink,
    /// Pipes, sockets, devices
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Seen from the folder that was listed
    pub path: PathBuf,
    pub kind: EntryKind,
    /// Bytes; none for what is not a file
    pub size: Option<u64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// In order of their names, a folder before what it holds
    pub entries: Vec<Entry>,
    /// There was more than asked for
    pub truncated: bool,
    /// Folders that could not be opened, seen from the folder that was listed
    pub unreadable: Vec<PathBuf>,
    /// Entries left out because a `.gitignore` names them
    pub ignored: usize,
    /// Entries left out because rules close them
    pub closed: usize,
}

/// How a folder is listed.
#[derive(Debug, Clone, Copy)]
pub struct ListRequest {
    pub recursive: bool,
    /// Entries at most
    pub limit: usize,
    /// Leave out what `.gitignore` files name, and `.git` itself
    pub skip_ignored: bool,
}

impl ListFiles {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        ListFiles(workspace)
    }

    pub fn resolve(&self, path: &str) -> Result<Resolved, ToolError> {
        self.0.resolve(path)
    }

    /// What a folder holds.
    pub async fn list(
        &self,
        place: &Resolved,
        request: ListRequest,
        cx: &ToolContext,
    ) -> Result<Listing, ToolError> {
        let (workspace, place, cancel) = (self.0.clone(), place.clone(), cx.cancel.clone());
        let closed = cx.closed.clone();
        blocking(move || list(&workspace, &place, request, &cancel, closed.as_deref())).await
    }
}

pub(super) fn list(
    workspace: &Workspace,
    place: &Resolved,
    request: ListRequest,
    cancel: &CancelToken,
    closed: Option<&dyn ClosedPaths>,
) -> Result<Listing, ToolError> {
    let mut listing = Listing::default();
    let mut rules = request
        .skip_ignored
        .then(|| Ignored::above(workspace, place));
    let mut first = read_folder(workspace, place, Path::new(""), cancel)?;
    listing.closed += leave_closed(&mut first, place, closed);
    listing.ignored += leave_out(&mut first, place, rules.as_ref());
    let mut pending: VecDeque<Entry> = first.into();
    while let Some(entry) = pending.pop_front() {
        if listing.entries.len() == request.limit {
            listing.truncated = true;
            break;
        }
        if request.recursive && entry.kind == EntryKind::Directory {
            let folder = place.relative().join(&entry.path);
            rules = rules.map(|above| above.inside(workspace, place, &folder));
            match read_folder(workspace, place, &entry.path, cancel) {
                Ok(mut inner) => {
                    listing.closed += leave_closed(&mut inner, place, closed);
                    listing.ignored += leave_out(&mut inner, place, rules.as_ref());
                    inner.into_iter().rev().for_each(|e| pending.push_front(e));
                }
                Err(_) if cancel.is_cancelled() => return Err(cancelled()),
                Err(_) => listing.unreadable.push(entry.path.clone()),
            }
        }
        listing.entries.push(entry);
    }
    Ok(listing)
}

/// Take out what the rules name, and say how much that was.
fn leave_out(entries: &mut Vec<Entry>, place: &Resolved, rules: Option<&Ignored>) -> usize {
    let Some(rules) = rules else {
        return 0;
    };
    let before = entries.len();
    entries.retain(|entry| {
        let path = place.relative().join(&entry.path);
        !rules.hides(&path, entry.kind == EntryKind::Directory)
    });
    before - entries.len()
}

/// The same for what rules close.
fn leave_closed(
    entries: &mut Vec<Entry>,
    place: &Resolved,
    closed: Option<&dyn ClosedPaths>,
) -> usize {
    let Some(closed) = closed else {
        return 0;
    };
    let before = entries.len();
    entries.retain(|entry| !closed.closes(Mode::Read, &place.path().join(&entry.path)));
    before - entries.len()
}

/// One folder's entries by name. `inside` is seen from the place that is listed.
fn read_folder(
    workspace: &Workspace,
    place: &Resolved,
    inside: &Path,
    cancel: &CancelToken,
) -> Result<Vec<Entry>, ToolError> {
    let shown = place.path().join(inside);
    let told = |error: rustix::io::Errno| failure("list", &shown, error);
    let folder = open_dir(workspace.handle(place), &place.relative().join(inside)).map_err(told)?;
    let mut entries = Vec::new();
    for found in Dir::read_from(&folder).map_err(told)? {
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let found = found.map_err(told)?;
        let name = std::ffi::OsStr::from_bytes(found.file_name().to_bytes());
        if name == "." || name == ".." || workspace.is_home(&shown.join(name)) {
            continue;
        }
        // An entry that went away since is simply not there.
        let Ok(stat) = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let kind = EntryKind::of(FileType::from_raw_mode(stat.st_mode));
        entries.push(Entry {
            path: inside.join(name),
            kind,
            size: (kind == EntryKind::File).then(|| u64::try_from(stat.st_size).unwrap_or(0)),
        });
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}
