//! Files of the store: made for their owner alone, never through a link, put in place whole.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{Access, OFlags};

use crate::StoreError;

const OTHERS_MAY_WRITE: u32 = 0o022;

/// Open a file of ours for reading and writing, making it if it is not there. What is a link, or
/// could have been written by somebody else, is refused.
pub(crate) fn own_file(path: &Path) -> Result<File, StoreError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path)
        .map_err(|error| StoreError::io(&path.display().to_string(), &error))
        .map_err(|error| closed_to_us(path).unwrap_or(error))?;
    only_ours(path, file.metadata())?;
    Ok(file)
}

/// Make a database of ours, or look whether the one that is there can be used, with the same care.
pub(crate) fn own_database(path: &Path) -> Result<(), StoreError> {
    let missing = fs::symlink_metadata(path).is_err();
    let made = missing.then(|| {
        let mut how = OpenOptions::new();
        how.write(true).create_new(true).mode(0o600).open(path)
    });
    match made {
        Some(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(StoreError::io(&path.display().to_string(), &error));
        }
        Some(_) | None => seen_file(path)?,
    }
    closed_to_us(path).map_or(Ok(()), Err)
}

/// Whether a file is ours, without opening it: a process that closes a file loses all its locks on
/// it, and another connection of ours may hold one.
pub(crate) fn seen_file(path: &Path) -> Result<(), StoreError> {
    only_ours(path, fs::symlink_metadata(path))
}

/// A file that is there and cannot be written: it can be looked at, perhaps.
fn closed_to_us(path: &Path) -> Option<StoreError> {
    let closed = path.exists() && !is_writable(path);
    closed.then(|| StoreError::ReadOnly(path.display().to_string()))
}

/// Whether we may write a file, and its file system lets anybody do so.
pub(crate) fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, Access::WRITE_OK).is_ok()
}

fn only_ours(path: &Path, found: io::Result<Metadata>) -> Result<(), StoreError> {
    let found = found.map_err(|error| StoreError::io(&path.display().to_string(), &error))?;
    let problem = if !found.is_file() {
        "it is not a regular file"
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        "it belongs to another user"
    } else if found.mode() & OTHERS_MAY_WRITE != 0 {
        "others can write it"
    } else {
        return Ok(());
    };
    Err(StoreError::Failed(format!(
        "`{}`: {problem}",
        path.display()
    )))
}

pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

/// A name beside `path` that no other process or thread uses.
pub(crate) fn beside(path: &Path, word: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{word}-{}-{count}", std::process::id()))
}

/// The file whose name is this one's with an end to it, as SQLite names those beside a database.
pub(crate) fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Put bytes in place whole or not at all, and on the disk before this returns.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    placed(path, bytes, File::sync_all)?;
    sync_folder(path)
}

/// The same for what may be lost with the power.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    placed(path, bytes, |_| Ok(()))
}

fn placed(
    path: &Path,
    bytes: &[u8],
    written: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let fresh = beside(path, "new");
    let placed = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)?;
        file.write_all(bytes)?;
        written(&file)?;
        fs::rename(&fresh, path)
    })();
    if placed.is_err() {
        // Best effort: the error that matters is the one being reported.
        let _ = fs::remove_file(&fresh);
    }
    placed
}

/// A name is on the disk when its folder is.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        // A plain name is in the folder where we are.
        Some(here) if here.as_os_str().is_empty() => File::open(".")?.sync_all(),
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Which start of the machine this is.
pub(crate) fn boot_id() -> &'static str {
    static BOOT: LazyLock<String> = LazyLock::new(|| {
        fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|text| text.trim().to_owned())
            .unwrap_or_default()
    });
    &BOOT
}

/// This process, told apart from every other one that had or will have its number.
pub(crate) fn this_process() -> String {
    let id = std::process::id();
    format!("{id}.{}@{}", started(id).unwrap_or(0), boot_id())
}

/// Whether the process that wrote this about itself is still there.
pub(crate) fn is_alive(process: &str) -> bool {
    let Some((id, boot)) = process.split_once('@') else {
        return false;
    };
    let Some((id, start)) = id.split_once('.') else {
        return false;
    };
    let (Ok(id), Ok(start)) = (id.parse::<u32>(), start.parse::<u64>()) else {
        return false;
    };
    boot == boot_id() && started(id) == Some(start)
}

/// When a process started, in ticks since the machine did; none for one that is gone or dead.
fn started(id: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name may hold anything, also brackets: what counts comes after the last one.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    if matches!(fields.next(), Some("Z" | "X")) {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_until_it_is_gone() {
        assert!(is_alive(&this_process()));
        let me = this_process();
        let (_, boot) = me.split_once('@').unwrap();
        assert!(!is_alive(&format!("{}.1@{boot}", std::process::id())));
        assert!(!is_alive(&me.replace(boot, "another")));
        for nonsense in ["", "@", "1@", "x.y@z", "1.2"] {
            assert!(!is_alive(nonsense), "{nonsense}");
        }
    }

    #[test]
    fn what_others_could_have_written_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        own_file(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).unwrap();
        assert!(own_file(&path).is_err());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &link).unwrap();
        assert!(own_file(&link).is_err());
        assert!(!dir.path().join("elsewhere").exists());
    }
}
