//! Copies of the store: taken while it is in use, opened and looked through before they are called
//! good, put back only if they are.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::OpenFlags;
use rusqlite::backup::Backup;

use crate::sqlite::{Connection, MARKER, checked};
use crate::{Durability, StoreError, Tx, VERSION, paths};

/// Pages copied at a time, so that writers get in between.
const PAGES: i32 = 256;

/// What has to hold in a copy besides that the file is whole, or is done to make it so.
pub(crate) type Proof<'a> = &'a dyn Fn(&mut dyn Tx) -> Result<(), StoreError>;

/// Copy the store to a new file, and sign where it ends.
pub(crate) fn backup(
    store: &Path,
    to: &Path,
    sign: Proof<'_>,
    proof: Proof<'_>,
) -> Result<u64, StoreError> {
    if to.exists() {
        return Err(StoreError::Failed(format!(
            "a copy is put into a new file, and `{}` is there already",
            to.display()
        )));
    }
    let fresh = paths::beside(to, "new");
    let copied = copy(store, &fresh)
        .and_then(|()| signed(&fresh, sign))
        .and_then(|()| whole(&fresh, proof))
        .and_then(|()| put(&fresh, to));
    if copied.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    copied
}

fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let source = Connection::reader(from)?;
    drop(paths::own_file(to)?);
    let mut target = rusqlite::Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    Backup::new(source.inner(), &mut target)?.run_to_completion(PAGES, Duration::ZERO, None)?;
    // A copy stands alone: no log beside it.
    let _: String = target.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))?;
    Ok(())
}

fn signed(fresh: &Path, sign: Proof<'_>) -> Result<(), StoreError> {
    let mut copy = Connection::new(fresh, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let written = copy.writing(Durability::Power, &mut |tx| sign(tx));
    written.map(drop)
}

/// What is to be the store has a log from the start: in any other mode nobody could see who uses it.
fn keep_a_log(fresh: &Path) -> Result<(), StoreError> {
    let store = rusqlite::Connection::open_with_flags(fresh, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let _: String = store.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    // The last one out takes the log away again, which has nothing in it.
    store.close().map_err(|(_, error)| error.into())
}

/// Whether a file is a store of ours, of a version we know, with nothing wrong in it.
fn whole(path: &Path, proof: Proof<'_>) -> Result<(), StoreError> {
    if !path.exists() {
        return Err(StoreError::Failed("there is no such file".to_owned()));
    }
    let mut copy = Connection::reader(path)?;
    checked(copy.inner(), "integrity_check")?;
    let number = |pragma: &str| {
        let sql = format!("PRAGMA {pragma}");
        copy.inner().query_row(&sql, [], |row| row.get::<_, i64>(0))
    };
    if number("application_id")? != crate::schema::APPLICATION {
        let what = "it is a database of something else";
        return Err(StoreError::Failed(what.to_owned()));
    }
    let found = number("user_version")?;
    if found > VERSION {
        return Err(StoreError::Newer {
            found,
            known: VERSION,
        });
    }
    copy.reading(|tx| {
        proof(tx)?;
        crate::notes::sound(tx, found)
    })
}

/// What is wrong with a copy is not wrong with the store.
fn bad_copy(from: &Path, error: StoreError) -> StoreError {
    let what = match error {
        StoreError::Damaged(what) | StoreError::Failed(what) => what,
        other => return other,
    };
    StoreError::BadCopy {
        path: from.display().to_string(),
        what,
    }
}

fn put(fresh: &Path, to: &Path) -> Result<u64, StoreError> {
    let failed = |error: std::io::Error| StoreError::io(&to.display().to_string(), &error);
    let file = File::open(fresh).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    fs::rename(fresh, to).map_err(failed)?;
    paths::sync_folder(to).map_err(failed)?;
    file.metadata().map(|found| found.len()).map_err(failed)
}

/// Put a copy in the place of the store. What was there is kept beside it, under the name that is
/// answered with. Nobody else may have the store open.
pub(crate) fn restore(
    from: &Path,
    store: &Path,
    proof: Proof<'_>,
) -> Result<Option<PathBuf>, StoreError> {
    let failed = |error: std::io::Error| StoreError::io(&store.display().to_string(), &error);
    whole(from, proof).map_err(|error| bad_copy(from, error))?;
    let fresh = paths::beside(store, "new");
    let prepared = copy(from, &fresh)
        .and_then(|()| whole(&fresh, proof))
        .and_then(|()| keep_a_log(&fresh));
    if let Err(error) = prepared {
        let _ = fs::remove_file(&fresh);
        return Err(error);
    }
    let mut aside = None;
    if store.exists() {
        nobody_writes(store)?;
        let old = name_aside(store)?;
        fs::rename(store, &old).map_err(failed)?;
        for end in ["-wal", "-shm"] {
            let (from, to) = (paths::with_end(store, end), paths::with_end(&old, end));
            if from.exists() {
                fs::rename(&from, &to).map_err(failed)?;
            }
        }
        aside = Some(old);
    }
    let _ = fs::remove_file(paths::with_end(store, &format!(".{MARKER}")));
    put(&fresh, store)?;
    Ok(aside)
}

/// A name for what is set aside that nothing has yet: what an earlier restore kept is never
/// overwritten. The name is taken by making an empty file under it.
fn name_aside(store: &Path) -> Result<PathBuf, StoreError> {
    let mut count = 1;
    loop {
        let end = match count {
            1 => ".before-restore".to_owned(),
            _ => format!(".before-restore-{count}"),
        };
        let name = paths::with_end(store, &end);
        let taken =
            ["-wal", "-shm"].map(|end| paths::with_end(&name, end).symlink_metadata().is_ok());
        let made = match taken {
            [false, false] => fs::File::create_new(&name),
            _ => Err(std::io::ErrorKind::AlreadyExists.into()),
        };
        match made {
            Ok(_) => return Ok(name),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => count += 1,
            Err(error) => return Err(StoreError::io(&name.display().to_string(), &error)),
        }
    }
}

/// A process that has the store open would go on writing into the file that is set aside.
fn nobody_writes(store: &Path) -> Result<(), StoreError> {
    let open = rusqlite::Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_WRITE);
    let Ok(open) = open else {
        return Ok(());
    };
    open.busy_timeout(Duration::from_secs(2))?;
    // Exclusive mode takes the whole file for itself, log and all, or fails.
    open.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    match open.execute_batch("BEGIN EXCLUSIVE; ROLLBACK") {
        Err(error) => match StoreError::from(error) {
            StoreError::Busy => Err(StoreError::Busy),
            // A damaged store is what a copy is for.
            _ => Ok(()),
        },
        Ok(()) => Ok(()),
    }
}
