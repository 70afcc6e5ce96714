//! Removes a whole folder through handles, never through a link and never into another file
//! system. It is looked over first, so that what cannot be removed is known before anything is.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use haft_core::{CancelToken, ToolError};
use rustix::fs::{Access, AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::error::{cancelled, failure};
use super::steps::Spot;

/// What is in a folder, each before what it holds.
type Entries = Vec<(PathBuf, FileType)>;

/// Whether everything in this folder can be removed.
pub(super) fn expect_removable(spot: &Spot<'_>, cancel: &CancelToken) -> Result<(), ToolError> {
    let told = |error: Errno| match error {
        Errno::XDEV => ToolError::failed(format!(
            "another file system is mounted in there: `{}`",
            spot.path().display()
        )),
        error => failure("delete", &spot.path(), error),
    };
    let parent = spot.open_folder().map_err(told)?;
    let top = open_here(&parent, Path::new(&spot.name)).map_err(told)?;
    for (path, kind) in look_over(&top, cancel)?.map_err(told)? {
        if kind == FileType::Directory {
            let flags = AtFlags::EACCESS;
            rustix::fs::accessat(&top, &path, Access::WRITE_OK | Access::EXEC_OK, flags)
                .map_err(|error| failure("delete from", &spot.path().join(&path), error))?;
        }
    }
    let access = Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::accessat(&parent, &spot.name, access, AtFlags::EACCESS).map_err(told)
}

/// Remove an entry, whatever it is, with all that is in it.
pub(super) fn remove(spot: &Spot<'_>) -> Result<(), Errno> {
    let parent = match spot.open_folder() {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    match rustix::fs::unlinkat(&parent, &spot.name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(Errno::NOENT) => return Ok(()),
        other => return other,
    }
    // Somebody may still be writing in there: what comes in between is found the next time.
    const TRIES: usize = 3;
    let mut result = Ok(());
    for _ in 0..TRIES {
        let top = open_here(&parent, Path::new(&spot.name))?;
        result = empty(&top)
            .and_then(|()| rustix::fs::unlinkat(&parent, &spot.name, AtFlags::REMOVEDIR));
        if result != Err(Errno::NOTEMPTY) {
            break;
        }
    }
    result
}

fn empty(top: &OwnedFd) -> Result<(), Errno> {
    let never = CancelToken::new();
    let entries = look_over(top, &never).map_err(|_| Errno::CANCELED)??;
    for (path, kind) in entries.iter().rev() {
        let folder = open_here(top, path.parent().unwrap_or(Path::new("")))?;
        let Some(name) = path.file_name() else {
            continue;
        };
        let flags = match kind {
            FileType::Directory => AtFlags::REMOVEDIR,
            _ => AtFlags::empty(),
        };
        match rustix::fs::unlinkat(&folder, name, flags) {
            Err(Errno::NOENT) => {}
            other => other?,
        }
    }
    Ok(())
}

/// Everything beneath a folder. The outer error is a cancel.
fn look_over(top: &OwnedFd, cancel: &CancelToken) -> Result<Result<Entries, Errno>, ToolError> {
    let mut entries = Entries::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(folder) = pending.pop() {
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        match read_folder(top, &folder) {
            Ok(inside) => {
                let folders = inside
                    .iter()
                    .filter(|(_, kind)| *kind == FileType::Directory);
                pending.extend(folders.map(|(path, _)| path.clone()));
                entries.extend(inside);
            }
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(entries))
}

fn read_folder(top: &OwnedFd, folder: &Path) -> Result<Entries, Errno> {
    use std::os::unix::ffi::OsStrExt;
    let handle = open_here(top, folder)?;
    let mut entries = Entries::new();
    for entry in Dir::read_from(&handle)? {
        let entry = entry?;
        let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode)
            }
            known => known,
        };
        entries.push((folder.join(name), kind));
    }
    Ok(entries)
}

/// Open a folder without links on the way and without leaving the file system.
fn open_here(dir: impl AsFd, folder: &Path) -> Result<OwnedFd, Errno> {
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_XDEV;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat2(dir, folder, flags, Mode::empty(), resolve)
}
