//! How a thing comes to lie in a folder with all that belongs to it: mode, owner, time, and what
//! users have attached.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags, chmodat, fchmod, fchown,
    fremovexattr, fsetxattr, futimens, openat, symlinkat,
};
use rustix::io::Errno;

use super::state::{Attribute, Kind, SET_ID, State};
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

/// What is attached to a folder: what it had goes, what it is to have comes. Where attributes are
/// not to be had, the folder still is.
pub(super) fn set_attributes(
    folder: &OwnedFd,
    name: &OsStr,
    from: &[Attribute],
    to: &[Attribute],
) -> rustix::io::Result<()> {
    let handle = open_folder(folder, name)?;
    for (name, _) in from.iter().filter(|one| !to.contains(one)) {
        let _ = fremovexattr(&handle, name.as_str());
    }
    for (name, value) in to {
        let _ = fsetxattr(&handle, name.as_str(), value, XattrFlags::empty());
    }
    Ok(())
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
    // What runs as its owner does so only as the owner's own.
    let bits = match as_before {
        true => after.mode,
        false => after.mode & !SET_ID,
    };
    fchmod(&target, Mode::from_raw_mode(bits))?;
    for (name, value) in &after.attributes {
        // Where they are not to be had, the content still is.
        let _ = fsetxattr(&target, name.as_str(), value, XattrFlags::empty());
    }
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
