//! Opening the file: ours alone, of a version we know, whole as far as a quick look can tell.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::OpenFlags;
use rusqlite::config::DbConfig;

use super::connection::{Connection, Transaction};
use crate::schema::{APPLICATION, STEPS, VERSION, rows};
use crate::{StoreError, paths};

/// A file up to this size is looked through at every start; that takes about a millisecond.
const SMALL: u64 = 512 << 10;
/// Pages in the write-ahead log before they go into the file, for which the disk is waited for
/// twice.
const LOG_PAGES: u32 = 1_000;
/// Beside the store: in which start of the machine its file was last looked through.
pub(crate) const MARKER: &str = "checked";

/// Open for writing, made and brought to the newest version where needed.
pub(super) fn writer(path: &Path) -> Result<Connection, StoreError> {
    drop(paths::own_file(path)?);
    let connection = Connection::new(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    let inner = &connection.inner;
    // The last one out would write the log back and wait for the disk twice.
    inner.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    inner.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    inner.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    let found = version(&connection)?;
    if found == 0 {
        let mode: String = inner.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        if mode != "wal" {
            return Err(StoreError::Failed(format!("no write-ahead log: `{mode}`")));
        }
    }
    inner.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    inner.pragma_update(None, "foreign_keys", true)?;
    inner.pragma_update(None, "secure_delete", true)?;
    if found < VERSION {
        migrate(&connection)?;
    }
    look_through(&connection, path)?;
    Ok(connection)
}

/// The version of the file; an error for a file that is not ours or too new.
fn version(connection: &Connection) -> Result<i64, StoreError> {
    let inner = &connection.inner;
    let found: i64 = inner.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found > VERSION {
        return Err(StoreError::Newer {
            found,
            known: VERSION,
        });
    }
    let application: i64 = inner.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let tables: i64 =
        inner.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION && (found > 0 || tables > 0) {
        return Err(StoreError::Failed(
            "the file is a database of something else".to_owned(),
        ));
    }
    Ok(found)
}

/// Go forward one version at a time; each is one transaction, so an interruption leaves the last
/// whole one.
fn migrate(connection: &Connection) -> Result<(), StoreError> {
    let inner = &connection.inner;
    inner.pragma_update(None, "synchronous", "FULL")?;
    loop {
        inner.execute_batch("BEGIN IMMEDIATE")?;
        let step = (|| {
            // Another process may have been here first.
            let at: i64 = inner.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            let Some(statements) = usize::try_from(at).ok().and_then(|at| STEPS.get(at)) else {
                return Ok(false);
            };
            for statement in *statements {
                inner.execute_batch(statement)?;
            }
            rows(&mut Transaction::new(inner), at + 1)?;
            inner.pragma_update(None, "user_version", at + 1)?;
            inner.pragma_update(None, "application_id", APPLICATION)?;
            Ok::<_, StoreError>(true)
        })();
        match step {
            Ok(more) => {
                inner.execute_batch("COMMIT")?;
                if !more {
                    return Ok(());
                }
            }
            Err(error) => {
                let _ = inner.execute_batch("ROLLBACK");
                return Err(error);
            }
        }
    }
}

/// A small file is looked through each time. A large one once for each start of the machine: the
/// death of a process cannot hurt it, the loss of power might.
fn look_through(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let size = fs::metadata(path).map_or(0, |found| found.len());
    let marker = marker(path);
    let boot = paths::boot_id();
    if size > SMALL && fs::read_to_string(&marker).is_ok_and(|seen| seen == boot) {
        return Ok(());
    }
    checked(&connection.inner, "quick_check")?;
    if size > SMALL {
        // Best effort: without it the next start looks again.
        let _ = paths::put(&marker, boot.as_bytes());
    }
    Ok(())
}

fn marker(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}.{MARKER}"))
}

/// Let SQLite look through the file.
pub(crate) fn checked(connection: &rusqlite::Connection, how: &str) -> Result<(), StoreError> {
    let found: String = connection.query_row(&format!("PRAGMA {how}(1)"), [], |row| row.get(0))?;
    if found == "ok" {
        Ok(())
    } else {
        Err(StoreError::Damaged(found))
    }
}
