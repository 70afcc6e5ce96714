//! The entries of a folder in one piece of memory that is used for folder after folder.

use std::ffi::{CStr, OsStr};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, RawDir, statat};
use rustix::io::Errno;

/// Room for the kernel's answer; most folders fit at once.
const ROOM: usize = 32 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    /// Pipes, sockets, devices
    Other,
    /// The file system does not tell
    Unknown,
}

impl Kind {
    pub(super) fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            FileType::Unknown => Kind::Unknown,
            _ => Kind::Other,
        }
    }

    /// What an entry of a folder is now; an empty name stands for the folder itself.
    pub(super) fn at(folder: &OwnedFd, name: &OsStr) -> Self {
        let name = match name.is_empty() {
            true => OsStr::new("."),
            false => name,
        };
        match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Kind::of(FileType::from_raw_mode(stat.st_mode)),
            Err(_) => Kind::Other,
        }
    }
}

/// One entry; its name stands in the list it comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    start: u32,
    length: u16,
    pub(super) kind: Kind,
}

#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Names, each with a NUL behind it
    names: Vec<u8>,
    found: Vec<Found>,
    room: Vec<u8>,
}

impl Entries {
    /// Read a folder in the place of the one before. After an error, what came before it is there.
    pub(super) fn read(&mut self, folder: &OwnedFd) -> Result<(), Errno> {
        self.names.clear();
        self.found.clear();
        self.room.clear();
        self.room.reserve(ROOM);
        let mut raw = RawDir::new(folder, self.room.spare_capacity_mut());
        while let Some(entry) = raw.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes_with_nul();
            if matches!(name, b".\0" | b"..\0") {
                continue;
            }
            let (Ok(start), Ok(length)) = (
                u32::try_from(self.names.len()),
                u16::try_from(name.len() - 1),
            ) else {
                continue;
            };
            self.names.extend_from_slice(name);
            self.found.push(Found {
                start,
                length,
                kind: Kind::of(entry.file_type()),
            });
        }
        Ok(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Found> {
        self.found.iter()
    }

    pub(super) fn name(&self, found: &Found) -> &[u8] {
        let start = found.start as usize;
        &self.names[start..start + usize::from(found.length)]
    }

    pub(super) fn c_name(&self, found: &Found) -> &CStr {
        let start = found.start as usize;
        let bytes = &self.names[start..=start + usize::from(found.length)];
        CStr::from_bytes_with_nul(bytes).unwrap_or_default()
    }
}
