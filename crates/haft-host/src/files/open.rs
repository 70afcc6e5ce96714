//! Opens things beneath a root's directory handle. Links are refused on the way: whoever calls
//! has resolved them before, so a link met here was put there in between.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use haft_core::ToolError;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::error::{failure, is_directory, not_regular};

/// A regular file, open for reading.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) file: File,
    pub(super) size: u64,
    pub(super) stamp: Stamp,
    /// The permission bits
    pub(super) mode: u32,
}

/// Tells one state of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(super) const SIZE: usize = 56;

    // The fields' types differ between platforms, so some casts are empty on some of them.
    #[allow(clippy::unnecessary_cast)]
    pub(super) fn of(stat: &Stat) -> Self {
        Stamp {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as i64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }

    /// The same as bytes, for keeping.
    pub(super) fn to_bytes(self) -> [u8; Stamp::SIZE] {
        let (modified, changed) = (self.modified, self.changed);
        let mut bytes = [0; Stamp::SIZE];
        let fields = [
            self.device,
            self.inode,
            self.size.cast_unsigned(),
            modified.0.cast_unsigned(),
            modified.1.cast_unsigned(),
            changed.0.cast_unsigned(),
            changed.1.cast_unsigned(),
        ];
        for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// Whether both are the same file with the same content, whatever its name is by now: a
    /// rename counts as a change of the file itself.
    pub(super) fn same_content(&self, other: &Stamp) -> bool {
        let with_our_change = Stamp {
            changed: self.changed,
            ..*other
        };
        *self == with_our_change
    }
}

/// Open a regular file for reading. Never hangs: a FIFO or a device is opened without waiting,
/// seen for what it is, and refused.
pub(super) fn open_regular(
    dir: impl AsFd,
    relative: &Path,
    shown: &Path,
) -> Result<OpenFile, ToolError> {
    open_if_present(dir, relative, shown)?.ok_or_else(|| failure("read", shown, Errno::NOENT))
}

/// The same, with none where nothing has that name.
pub(super) fn open_if_present(
    dir: impl AsFd,
    relative: &Path,
    shown: &Path,
) -> Result<Option<OpenFile>, ToolError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let handle = match open_beneath(dir, relative, flags) {
        Ok(handle) => handle,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(failure("read", shown, error)),
    };
    let stat = rustix::fs::fstat(&handle).map_err(|error| failure("read", shown, error))?;
    expect_regular(&stat, shown)?;
    Ok(Some(OpenFile {
        file: File::from(handle),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        stamp: Stamp::of(&stat),
        mode: stat.st_mode & 0o777,
    }))
}

pub(super) fn expect_regular(stat: &Stat, shown: &Path) -> Result<(), ToolError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(is_directory(shown)),
        FileType::Symlink => Err(super::error::moved(shown)),
        FileType::Fifo => Err(not_regular(shown, "named pipe")),
        FileType::Socket => Err(not_regular(shown, "socket")),
        _ => Err(not_regular(shown, "device")),
    }
}

/// Open a directory for listing, syncing and as a base for more.
pub(crate) fn open_dir(dir: impl AsFd, relative: &Path) -> Result<OwnedFd, Errno> {
    open_beneath(dir, relative, OFlags::RDONLY | OFlags::DIRECTORY)
}

fn open_beneath(dir: impl AsFd, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let relative = if relative.as_os_str().is_empty() {
        Path::new(".")
    } else {
        relative
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // The kernel answers `EAGAIN` when a rename elsewhere makes it unsure: trying again is
    // what its manual asks for.
    const TRIES: usize = 16;
    for _ in 1..TRIES {
        match rustix::fs::openat2(dir.as_fd(), relative, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    rustix::fs::openat2(dir.as_fd(), relative, flags, Mode::empty(), resolve)
}
