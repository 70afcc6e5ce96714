//! What is at a place, as far as it matters for putting a change there later.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rustix::fs::{
    AtFlags, FileType, Stat, fgetxattr, flistxattr, lgetxattr, llistxattr, readlinkat, statat,
};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid, getgroups};
use rustix::thread::{CapabilitySet, capabilities};
use serde::{Deserialize, Serialize};

/// What Linux allows, of one attribute and of all names together.
const LARGEST_ATTRIBUTE: usize = 64 << 10;
const FEW_NAMES: usize = 1 << 10;

/// What a program may do that its user may not.
pub(crate) const CAPABILITIES: &str = "security.capability";
/// Who may do what, besides the mode.
const ACCESS_LISTS: [&str; 2] = ["system.posix_acl_access", "system.posix_acl_default"];

/// The bits of a mode that let a program run as its owner or its group.
pub(crate) const SET_ID: u32 = 0o6000;

/// What kind of thing a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device
    Other,
}

/// One place at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub kind: Kind,
    /// Permissions, with the bits that let a file run as another
    pub mode: u32,
    pub size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    /// How many names a file has, where it has more than one
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) links: u64,
    /// Who owns it, where somebody may have to put it back
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<(u32, u32)>,
    /// Of the content, where it was read
    pub(crate) digest: Option<[u8; 32]>,
    /// What is attached to a file or a folder, where it was read
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) attributes: Vec<Attribute>,
}

/// An extended attribute: its name and its value.
pub(crate) type Attribute = (String, Vec<u8>);

impl State {
    // The type differs between platforms, so the cast is empty on some of them.
    #[allow(clippy::unnecessary_cast)]
    pub(crate) fn of(stat: &Stat) -> Self {
        let kind = kind(stat);
        State {
            kind,
            links: match kind {
                Kind::File if stat.st_nlink > 1 => stat.st_nlink as u64,
                _ => 0,
            },
            mode: stat.st_mode & 0o7777,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            inode: stat.st_ino,
            modified: (stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, nanoseconds(stat.st_ctime_nsec)),
            owner: None,
            digest: None,
            attributes: Vec::new(),
        }
    }

    /// What is at this name, links not followed.
    pub(crate) fn at(folder: impl AsFd, name: &OsStr) -> rustix::io::Result<Option<Self>> {
        match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(State::of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether nothing has touched it since, as far as its stamps tell. A move alone leaves the
    /// rest as it was, so the time of change is looked at only where it must not have moved.
    pub(crate) fn same_stamps(&self, now: &State, moved: Moved) -> bool {
        self.kind == now.kind
            && self.mode == now.mode
            && self.inode == now.inode
            && (self.kind == Kind::Folder
                || (self.size == now.size
                    && self.modified == now.modified
                    && (moved == Moved::Yes || self.changed == now.changed)))
    }

    /// Whether it was changed later than this.
    pub(crate) fn changed_after(&self, time: (i64, i64)) -> bool {
        self.kind != Kind::Folder && self.changed > time
    }

    /// What of a file cannot be had again because it is another's: only root can make a program
    /// that runs as somebody else.
    pub(crate) fn not_ours_to_give(&self) -> Option<&'static str> {
        let (user, group) = self.owner?;
        let capable = self.attributes.iter().any(|(name, _)| name == CAPABILITIES);
        if capable && !may_give_capabilities() {
            return Some("its capabilities, which only root can give");
        }
        let (own, groups) = (geteuid(), || getgroups().unwrap_or_default());
        let ours = own.is_root()
            || (own.as_raw() == user
                && (getegid().as_raw() == group
                    || groups().iter().any(|one| one.as_raw() == group)));
        let gives = self.kind == Kind::File && self.mode & SET_ID != 0 && !ours;
        gives.then_some("that it runs as another: it belongs to somebody else")
    }

    /// No longer claim to know it, so that it is taken for changed.
    pub(crate) fn forget(&mut self) {
        self.inode = 0;
        self.digest = None;
    }

    pub(crate) fn inode(&self) -> u64 {
        self.inode
    }

    pub(crate) fn modified(&self) -> (i64, i64) {
        self.modified
    }

    /// Whether its time was set: whatever else changes something gives it this time and that.
    pub(crate) fn is_dated(&self) -> bool {
        self.modified != self.changed
    }
}

fn may_give_capabilities() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SETFCAP))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moved {
    Yes,
    No,
}

fn kind(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn nanoseconds(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(0)
}

/// What is attached to it. Nothing where the file system knows no such thing.
pub(crate) fn attributes(folder: impl AsFd, name: &OsStr) -> Vec<Attribute> {
    let mut path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()));
    path.push(name);
    collect(
        |list| llistxattr(&path, list),
        |name, value| lgetxattr(&path, name, value),
    )
}

/// The same of something that is open.
pub(crate) fn attributes_of(handle: impl AsFd) -> Vec<Attribute> {
    let handle = handle.as_fd();
    collect(
        |list| flistxattr(handle, list),
        |name, value| fgetxattr(handle, name, value),
    )
}

fn collect(
    list: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
    get: impl Fn(&str, &mut [u8]) -> rustix::io::Result<usize>,
) -> Vec<Attribute> {
    let mut all = vec![0; FEW_NAMES];
    let mut listed = list(&mut all);
    if listed == Err(Errno::RANGE) {
        all.resize(LARGEST_ATTRIBUTE, 0);
        listed = list(&mut all);
    }
    all.truncate(listed.unwrap_or(0));
    let names = all.split(|byte| *byte == 0);
    let mut found: Vec<Attribute> = names
        .filter_map(|name| std::str::from_utf8(name).ok())
        .filter(|name| is_ours_to_keep(name))
        .filter_map(|name| {
            let mut value = vec![0; LARGEST_ATTRIBUTE];
            let length = get(name, &mut value).ok()?;
            value.truncate(length);
            Some((name.to_owned(), value))
        })
        .collect();
    // A file system lists them as it likes.
    found.sort();
    found
}

/// What belongs to the system or to an overlay is theirs to set.
fn is_ours_to_keep(name: &str) -> bool {
    let users = name.starts_with("user.") && !name.starts_with("user.overlay.");
    users || name == CAPABILITIES || ACCESS_LISTS.contains(&name)
}

/// The digest of a file's content, or of where a link leads.
pub(crate) fn digest(folder: impl AsFd, name: &OsStr, kind: Kind) -> io::Result<[u8; 32]> {
    match kind {
        Kind::File => {
            let file = File::from(super::tree::open_file(folder, name)?);
            let mut hasher = blake3::Hasher::new();
            hasher.update_reader(file)?;
            Ok(*hasher.finalize().as_bytes())
        }
        Kind::Link => {
            let target = readlinkat(folder, name, Vec::new())?;
            Ok(*blake3::hash(target.as_bytes()).as_bytes())
        }
        Kind::Folder | Kind::Other => Ok([0; 32]),
    }
}

/// Paths as text where they are text, else as bytes: a name on Linux need not be UTF-8.
pub(crate) mod path_bytes {
    use super::*;
    use serde::{Deserializer, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Spelled {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(crate) fn serialize<S: Serializer>(
        path: &std::path::Path,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let spelled = match path.to_str() {
            Some(text) => Spelled::Text(text.to_owned()),
            None => Spelled::Bytes(path.as_os_str().as_bytes().to_vec()),
        };
        spelled.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PathBuf, D::Error> {
        Ok(match Spelled::deserialize(deserializer)? {
            Spelled::Text(text) => text.into(),
            Spelled::Bytes(bytes) => std::ffi::OsString::from_vec(bytes).into(),
        })
    }
}
