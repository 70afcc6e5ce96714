//! Where a name in a call of a watched process leads, seen from here. The process may live in a
//! view of its own: a place counts only if the folder there is the very folder here.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat, statat,
};

use crate::files::open_dir;

const LONGEST: usize = 4096;
/// Links at the end of a name that are followed.
const MOST_LINKS: usize = 16;

/// The roots that are watched.
#[derive(Debug)]
pub(super) struct Roots {
    /// Path and handle, the workspace first
    pub(super) roots: Vec<(PathBuf, OwnedFd)>,
    /// haft's own state, which is not
    pub(super) home: PathBuf,
}

/// A place in one of the roots.
pub(super) type Found = (usize, PathBuf);

/// Whether a link at the end of a name is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Followed,
    Itself,
}

/// The text that a process has at this address.
pub(super) fn text(thread: u32, address: u64) -> io::Result<PathBuf> {
    let memory = File::open(format!("/proc/{thread}/mem"))?;
    let mut bytes = vec![0; LONGEST];
    let count = memory.read_at(&mut bytes, address)?;
    let end = bytes[..count].iter().position(|byte| *byte == 0);
    let end = end.ok_or(io::ErrorKind::InvalidData)?;
    Ok(PathBuf::from(OsStr::from_bytes(&bytes[..end])))
}

impl Roots {
    /// Where a descriptor of a process leads.
    pub(super) fn open_file(&self, thread: u32, descriptor: i32) -> Option<Found> {
        let path = fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()?;
        self.place(thread, &path, Last::Itself)
    }

    /// Where a name leads that starts from a folder of the process.
    pub(super) fn named(
        &self,
        thread: u32,
        folder: Option<i32>,
        path: &Path,
        last: Last,
    ) -> Option<Found> {
        if path.as_os_str().is_empty() {
            return self.open_file(thread, folder?);
        }
        if path.is_absolute() {
            return self.place(thread, path, last);
        }
        let base = match folder {
            Some(number) if number != libc::AT_FDCWD => format!("/proc/{thread}/fd/{number}"),
            _ => format!("/proc/{thread}/cwd"),
        };
        self.place(thread, &fs::read_link(base).ok()?.join(path), last)
    }

    fn place(&self, thread: u32, path: &Path, last: Last) -> Option<Found> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let view = openat(CWD, format!("/proc/{thread}/root"), flags, Mode::empty()).ok()?;
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let Some(Component::Normal(name)) = path.components().next_back() else {
                return None;
            };
            let name = name.to_owned();
            let parent = path.parent()?.to_owned();
            let (root, folder, shown) = self.folder(&view, &parent)?;
            let (path_of_root, handle) = &self.roots[root];
            let here = open_dir(handle, &folder).ok()?;
            let stat = statat(&here, &name, AtFlags::SYMLINK_NOFOLLOW);
            let is_link =
                stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
            if last == Last::Itself || !is_link {
                let absolute = path_of_root.join(&folder).join(&name);
                let ours = absolute.starts_with(&self.home);
                return (!ours).then(|| (root, folder.join(&name)));
            }
            let target = readlinkat(&here, &name, Vec::new()).ok()?;
            path = shown.join(OsStr::from_bytes(target.as_bytes()));
        }
        None
    }

    /// The folder that a process calls so: its root here, its place in it, and its full name.
    fn folder(&self, view: &OwnedFd, path: &Path) -> Option<(usize, PathBuf, PathBuf)> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let there = openat2(view, path, flags, Mode::empty(), resolve).ok()?;
        let shown = fs::read_link(format!("/proc/self/fd/{}", there.as_raw_fd())).ok()?;
        let innermost = self
            .roots
            .iter()
            .enumerate()
            .filter(|(_, (root, _))| shown.starts_with(root))
            .max_by_key(|(_, (root, _))| root.as_os_str().len());
        let (number, (root, handle)) = innermost?;
        let relative = shown.strip_prefix(root).ok()?.to_owned();
        let here = open_dir(handle, &relative).ok()?;
        let (one, other) = (fstat(&there).ok()?, fstat(&here).ok()?);
        let same = (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino);
        same.then_some((number, relative, shown))
    }
}
