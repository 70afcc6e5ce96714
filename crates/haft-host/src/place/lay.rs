//! How a thing comes to lie in a folder with all that belongs to it: mode, owner, time, and what
//! is attached to it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags, chmodat,
    chownat, fchmod, fchown, fremovexattr, fsetxattr, futimens, openat, symlinkat, utimensat,
};
use rustix::io::Errno;

use super::state::{Attribute, CAPABILITIES, Kind, SET_ID, State, attributes_of};
use super::tree::open_folder;

/// A folder's mode, without following a link that took its name.
pub(super) fn set_mode(folder: &OwnedFd, name: &OsStr, mode: u32) -> rustix::io::Result<()> {
    if State::at(folder, name)?.is_none_or(|found| found.kind != Kind::Folder) {
        return Err(Errno::NOTDIR);
    }
    match open_folder(folder, name) {
        Ok(handle) => fchmod(&handle, Mode::from_raw_mode(mode)),
        // A folder that we may not read can still be given a mode.
        Err(Errno::ACCESS) => chmodat(folder, name, Mode::from_raw_mode(mode), AtFlags::empty()),
        Err(error) => Err(error),
    }
}

/// What is attached to a folder. Where attributes are not to be had, the folder still is.
pub(super) fn set_attributes(
    folder: &OwnedFd,
    name: &OsStr,
    wanted: &[Attribute],
) -> rustix::io::Result<()> {
    match open_folder(folder, name) {
        Ok(handle) => drop(attach(handle, wanted)),
        Err(Errno::ACCESS) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Attach this and nothing else: a new thing may have got something from its folder. The answer
/// is what could not be had.
pub(crate) fn attach(handle: impl AsFd, wanted: &[Attribute]) -> Vec<String> {
    let had = attributes_of(&handle);
    for (name, _) in &had {
        if wanted.iter().all(|(wanted, _)| wanted != name) {
            let _ = fremovexattr(&handle, name.as_str());
        }
    }
    let missing = wanted.iter().filter(|one| !had.contains(one));
    missing
        .filter(|(name, value)| {
            fsetxattr(&handle, name.as_str(), value, XattrFlags::empty()).is_err()
        })
        .map(|(name, _)| name.clone())
        .collect()
}

/// Whose a folder is, without following a link that took its name.
pub(super) fn set_owner(
    folder: &OwnedFd,
    name: &OsStr,
    (user, group): (u32, u32),
) -> rustix::io::Result<()> {
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    chownat(
        folder,
        name,
        Some(user),
        Some(group),
        AtFlags::SYMLINK_NOFOLLOW,
    )
}

/// When a folder was last changed, without following a link that took its name.
pub(super) fn set_time(
    folder: &OwnedFd,
    name: &OsStr,
    (seconds, nanoseconds): (i64, i64),
) -> rustix::io::Result<()> {
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: seconds,
            tv_nsec: nanoseconds,
        },
    };
    utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)
}

/// A link under a name in a folder.
pub(crate) fn lay_link(target: &[u8], to: &OwnedFd, name: &str) -> io::Result<()> {
    symlinkat(target, to, name).map_err(io::Error::from)
}

/// A file under a name in a folder, with this content and the mode, owner, attributes and time of
/// `after`.
pub(crate) fn lay_file(
    source: &mut impl io::Read,
    after: &State,
    to: &OwnedFd,
    name: &str,
) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut target = File::from(openat(to, name, flags, Mode::from_raw_mode(0o600))?);
    io::copy(source, &mut target)?;
    // Only root can give a file away; anyone else owns the new one.
    let as_before = after.owner.is_some_and(|(user, group)| {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        fchown(&target, Some(user), Some(group)).is_ok()
    });
    // What runs with more rights than its user's does so only as its owner's own.
    let (mut bits, mut attributes) = (after.mode, after.attributes.clone());
    if !as_before {
        bits &= !SET_ID;
        attributes.retain(|(name, _)| name != CAPABILITIES);
    }
    // Where they are not to be had, the content still is. They come before the mode, which would
    // open the file to those that the folder has named.
    attach(&target, &attributes);
    fchmod(&target, Mode::from_raw_mode(bits))?;
    let (seconds, nanoseconds) = after.modified();
    let time = Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    futimens(&target, &times).map_err(io::Error::from)
}
