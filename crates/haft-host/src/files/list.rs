//! Listing: sorted, capped, and never through a link.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::{CancelToken, Capability, Power, ToolContext, ToolError};
use rustix::fs::{AtFlags, Dir, FileType};

use super::error::{cancelled, failure};
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
}

impl ListFiles {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        ListFiles(workspace)
    }

    pub fn resolve(&self, path: &str) -> Result<Resolved, ToolError> {
        self.0.resolve(path)
    }

    /// What a folder holds, at most `limit` entries.
    pub async fn list(
        &self,
        place: &Resolved,
        recursive: bool,
        limit: usize,
        cx: &ToolContext,
    ) -> Result<Listing, ToolError> {
        let (workspace, place, cancel) = (self.0.clone(), place.clone(), cx.cancel.clone());
        blocking(move || list(&workspace, &place, recursive, limit, &cancel)).await
    }
}

fn list(
    workspace: &Workspace,
    place: &Resolved,
    recursive: bool,
    limit: usize,
    cancel: &CancelToken,
) -> Result<Listing, ToolError> {
    let mut listing = Listing::default();
    let mut pending: VecDeque<Entry> = read_folder(workspace, place, Path::new(""), cancel)?.into();
    while let Some(entry) = pending.pop_front() {
        if listing.entries.len() == limit {
            listing.truncated = true;
            break;
        }
        if recursive && entry.kind == EntryKind::Directory {
            match read_folder(workspace, place, &entry.path, cancel) {
                Ok(inner) => inner.into_iter().rev().for_each(|e| pending.push_front(e)),
                Err(_) if cancel.is_cancelled() => return Err(cancelled()),
                Err(_) => listing.unreadable.push(entry.path.clone()),
            }
        }
        listing.entries.push(entry);
    }
    Ok(listing)
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
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Symlink,
            _ => EntryKind::Other,
        };
        entries.push(Entry {
            path: inside.join(name),
            kind,
            size: (kind == EntryKind::File).then(|| u64::try_from(stat.st_size).unwrap_or(0)),
        });
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}
