//! A folder held open, and places beneath it reached without following any link: what stands at
//! a name is always what this code sees there, whoever moves things around meanwhile.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

/// How often the kernel may be unsure because of renames elsewhere.
const TRIES: usize = 32;

/// A folder, and the last folder beneath it that was used.
#[derive(Debug)]
pub(crate) struct Tree {
    root: OwnedFd,
    last: Option<(PathBuf, OwnedFd)>,
}

impl Tree {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Tree {
            root: openat(CWD, path, flags, Mode::empty())?,
            last: None,
        })
    }

    /// The folder that is held open already.
    pub(crate) fn of(root: OwnedFd) -> Self {
        Tree { root, last: None }
    }

    /// The same folder once more.
    pub(crate) fn again(&self) -> io::Result<Self> {
        Ok(Tree::of(rustix::io::fcntl_dupfd_cloexec(&self.root, 0)?))
    }

    pub(crate) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// The folder that a path lies in, and its name there.
    pub(crate) fn parent<'a>(&mut self, path: &'a Path) -> io::Result<(&OwnedFd, &'a OsStr)> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        if folder.as_os_str().is_empty() {
            return Ok((&self.root, name));
        }
        if self.last.as_ref().is_none_or(|(last, _)| last != folder) {
            let handle = beneath(&self.root, folder, OFlags::RDONLY | OFlags::DIRECTORY)?;
            self.last = Some((folder.to_owned(), handle));
        }
        match &self.last {
            Some((_, handle)) => Ok((handle, name)),
            None => Err(Errno::NOENT.into()),
        }
    }

    /// Forget the last folder, which may no longer be where it was.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }
}

/// Open something beneath a folder, no link followed.
pub(crate) fn beneath(
    folder: impl AsFd,
    path: &Path,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 1..TRIES {
        match openat2(folder.as_fd(), path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    openat2(folder.as_fd(), path, flags, Mode::empty(), resolve)
}

/// Open a file in a folder for reading.
pub(crate) fn open_file(folder: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    beneath(folder, Path::new(name), OFlags::RDONLY | OFlags::NONBLOCK)
}

/// Open a folder in a folder.
pub(crate) fn open_folder(folder: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    beneath(folder, Path::new(name), OFlags::RDONLY | OFlags::DIRECTORY)
}

/// The names in a folder, in order.
pub(crate) fn names(folder: impl AsFd) -> rustix::io::Result<Vec<OsString>> {
    use std::os::unix::ffi::OsStrExt;
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}
