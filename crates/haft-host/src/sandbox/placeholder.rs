//! Something to mount on. A place that is to stay empty needs a name in the real file system
//! while a command runs; it is made before, shared by commands that run at once, and taken away
//! by the last of them. A time of change that no program sets by chance tells ours from files
//! of the user; one that a crash left behind is taken away by the next command.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps,
    flock, fstat, futimens, mkdirat, openat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::guarded::IfMissing;

/// 2 January 1970, and some nanoseconds.
const MARK: Timespec = Timespec {
    tv_sec: 86_400 + 4_711,
    tv_nsec: 271_828_182,
};

/// How often a name may be made and unmade by others before we give up.
const TRIES: usize = 100;

/// Held while a command runs.
#[derive(Debug)]
pub(super) struct Placeholder {
    folder: OwnedFd,
    name: OsString,
    handle: OwnedFd,
}

/// Make a place exist. None when something of the user's is there, or when nobody can make it:
/// then the command cannot either.
pub(super) fn hold(path: &Path, kind: IfMissing) -> io::Result<Option<Placeholder>> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match openat(CWD, parent, flags, Mode::empty()) {
        Ok(folder) => folder,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    for _ in 0..TRIES {
        if let Some(stat) = look(&folder, name)
            && !is_mark(&stat)
        {
            return Ok(None);
        }
        match make(&folder, name, kind) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let handle = match openat(&folder, name, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error.into()),
        };
        flock(&handle, FlockOperation::LockShared)?;
        // Whoever had it last may have taken it away before we had the lock.
        let ours = fstat(&handle)?;
        if look(&folder, name).is_some_and(|stat| stat.st_ino == ours.st_ino) {
            return Ok(Some(Placeholder {
                folder,
                name: name.to_owned(),
                handle,
            }));
        }
    }
    Err(io::Error::other(format!(
        "`{}` comes and goes",
        path.display()
    )))
}

/// A name that is to be free again afterwards.
#[derive(Debug)]
pub(super) struct Free {
    folder: OwnedFd,
    name: OsString,
}

/// How it is told that a command's file is gone.
pub(crate) fn not_kept(name: &str) -> String {
    format!("`{name}` was not kept: it is a person's to make")
}

/// Remember that nothing is at this path. None when something is.
pub(super) fn note_free(path: &Path) -> io::Result<Option<Free>> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(CWD, parent, flags, Mode::empty())?;
    let free = Free {
        name: name.to_owned(),
        folder,
    };
    Ok(look(&free.folder, name).is_none().then_some(free))
}

impl Free {
    /// Remove the file or link that took the name, and say so. A folder is no file that anybody
    /// obeys.
    pub(super) fn restore(self) -> Option<String> {
        unlinkat(&self.folder, &self.name, AtFlags::empty()).ok()?;
        Some(not_kept(&self.name.to_string_lossy()))
    }
}

/// Whether what is at this path was made here.
pub(super) fn stands_at(path: &Path) -> bool {
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| is_mark(&stat))
}

fn look(folder: &OwnedFd, name: &OsStr) -> Option<Stat> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}

/// Whether this was made here.
pub(crate) fn is_mark(stat: &Stat) -> bool {
    stat.st_mtime == MARK.tv_sec && i64::try_from(stat.st_mtime_nsec) == Ok(MARK.tv_nsec)
}

/// Made under a name of its own and marked before it takes the real one: whoever sees it there
/// sees the mark.
fn make(folder: &OwnedFd, name: &OsStr, kind: IfMissing) -> Result<(), Errno> {
    let random = getrandom::u64().map_err(|_| Errno::IO)?;
    let draft = OsString::from(format!(".haft-{random:016x}.tmp"));
    let made = match kind {
        IfMissing::Leave | IfMissing::Unmake => return Err(Errno::PERM),
        IfMissing::Folder | IfMissing::Newborn => {
            mkdirat(folder, &draft, Mode::from_raw_mode(0o555))?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(folder, &draft, flags, Mode::empty())?
        }
        IfMissing::File(content) => {
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(folder, &draft, flags, Mode::from_raw_mode(0o444))?;
            let mut file = File::from(file);
            file.write_all(content.as_bytes())
                .map_err(|_| Errno::NOSPC)?;
            file.into()
        }
    };
    let times = Timestamps {
        last_access: MARK,
        last_modification: MARK,
    };
    let placed = futimens(&made, &times)
        .and_then(|()| renameat_with(folder, &draft, folder, name, RenameFlags::NOREPLACE));
    if placed.is_err() {
        let flags = match kind {
            IfMissing::Folder | IfMissing::Newborn => AtFlags::REMOVEDIR,
            _ => AtFlags::empty(),
        };
        let _ = unlinkat(folder, &draft, flags);
    }
    placed
}

impl Placeholder {
    /// Take it away, unless another command still needs it or somebody has put something there.
    pub(super) fn release(self) {
        if flock(&self.handle, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        let Ok(ours) = fstat(&self.handle) else {
            return;
        };
        let same = look(&self.folder, &self.name).is_some_and(|now| now.st_ino == ours.st_ino);
        if !same || !is_mark(&ours) {
            return;
        }
        let flags = match FileType::from_raw_mode(ours.st_mode) {
            FileType::Directory => AtFlags::REMOVEDIR,
            _ => AtFlags::empty(),
        };
        // A folder that is not empty stays.
        let _ = unlinkat(&self.folder, &self.name, flags);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_takes_it_away() {
        let dir = tempfile::tempdir().unwrap();
        for (name, kind) in [("f", IfMissing::File(".")), ("d", IfMissing::Folder)] {
            let path = dir.path().join(name);
            let first = hold(&path, kind).unwrap().unwrap();
            let second = hold(&path, kind).unwrap().unwrap();
            first.release();
            assert!(stands_at(&path), "{name} is still needed");
            second.release();
            assert!(!path.exists(), "{name} stayed");
        }
    }

    #[test]
    fn what_the_user_has_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("haft.yaml");
        std::fs::write(&path, "").unwrap();
        assert!(hold(&path, IfMissing::File("")).unwrap().is_none());
        assert!(!stands_at(&path));

        let other = dir.path().join("other");
        let held = hold(&other, IfMissing::File("")).unwrap().unwrap();
        std::fs::remove_file(&other).unwrap();
        std::fs::write(&other, "mine").unwrap();
        held.release();
        assert_eq!(std::fs::read(&other).unwrap(), b"mine");
    }

    #[test]
    fn what_a_crash_left_is_taken_away_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".git");
        drop(hold(&path, IfMissing::Folder).unwrap().unwrap());
        assert!(stands_at(&path));
        hold(&path, IfMissing::Folder).unwrap().unwrap().release();
        assert!(!path.exists());
    }
}
