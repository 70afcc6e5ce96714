//! Opening the file: ours alone, of a version we know, whole as far as a quick look can tell.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::OpenFlags;
use rusqlite::config::DbConfig;

use super::connection::{Connection, PATIENCE, Transaction};
use crate::schema::{APPLICATION, STEPS, VERSION, drops_copies, rows};
use crate::{StoreError, paths};

/// A file up to this size is looked through after every change; that takes about a millisecond.
const SMALL: u64 = 512 << 10;
/// With a file above this a person is told that it is brought up to date.
const LARGE: u64 = 32 << 20;
/// Pages in the write-ahead log before they go into the file, for which the disk is waited for
/// twice.
const LOG_PAGES: u32 = 1_000;
/// The mode of a database with such a log.
const LOGGED: &str = "wal";
/// Beside the store: what its file was when it was last looked through.
pub(crate) const MARKER: &str = "checked";

/// Open for writing, made and brought to the newest version where needed.
pub(super) fn writer(path: &Path) -> Result<Connection, StoreError> {
    paths::own_database(path)?;
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
    // A copy that was put in place of the store may have none.
    if found == 0 || mode(&connection)? != LOGGED {
        keep_a_log(&connection)?;
    }
    inner.pragma_update(None, "wal_autocheckpoint", log_pages(path))?;
    inner.pragma_update(None, "foreign_keys", true)?;
    inner.pragma_update(None, "secure_delete", true)?;
    if found < VERSION {
        if found > 0 && fs::metadata(path).is_ok_and(|about| about.len() > LARGE) {
            crate::long::say("the store is brought up to date, which may take some seconds, once");
        }
        migrate(&connection, path.parent().unwrap_or(Path::new(".")))?;
    }
    look_through(&connection, path)?;
    Ok(connection)
}

fn mode(connection: &Connection) -> Result<String, StoreError> {
    let sql = "PRAGMA journal_mode";
    Ok(connection.inner.query_row(sql, [], |row| row.get(0))?)
}

/// How long the log may become. On a small disk it must leave room for the pages that go from it
/// into the file: without that it could never be emptied again.
fn log_pages(path: &Path) -> u32 {
    const LEAST: u64 = 16;
    const PAGE: u64 = 4_096;
    let Ok(disk) = rustix::fs::statvfs(path) else {
        return LOG_PAGES;
    };
    let pages = disk.f_bavail.saturating_mul(disk.f_frsize) / PAGE;
    (pages / 8).clamp(LEAST, u64::from(LOG_PAGES)) as u32
}

/// Write ahead from now on. SQLite waits for nobody here: of two that look at a new file at once, it
/// turns one away.
fn keep_a_log(connection: &Connection) -> Result<(), StoreError> {
    const PAUSE: Duration = Duration::from_millis(1);
    let until = Instant::now() + PATIENCE;
    loop {
        let mode = connection
            .inner
            .query_row("PRAGMA journal_mode = WAL", [], |row| {
                row.get::<_, String>(0)
            })
            .map_err(StoreError::from);
        match mode {
            Err(StoreError::Busy) if Instant::now() < until => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
            Ok(mode) if mode == LOGGED => return Ok(()),
            Ok(mode) => return Err(StoreError::Failed(format!("no write-ahead log: `{mode}`"))),
        }
    }
}

/// The version of the file; an error for a file that is not ours or too new.
fn version(connection: &Connection) -> Result<i64, StoreError> {
    let inner = &connection.inner;
    let number = |sql: &str| inner.query_row(sql, [], |row| row.get::<_, i64>(0));
    // All from one state: another process may be making the file.
    inner.execute_batch("BEGIN DEFERRED")?;
    let looked_up = (|| {
        Ok((
            number("PRAGMA user_version")?,
            number("PRAGMA application_id")?,
            number("SELECT count(*) FROM sqlite_schema")?,
        ))
    })();
    let _ = inner.execute_batch("ROLLBACK");
    match looked_up.map_err(|error: rusqlite::Error| StoreError::from(error))? {
        (found, ..) if found > VERSION => Err(StoreError::Newer {
            found,
            known: VERSION,
        }),
        (found, application, tables) if application != APPLICATION && found + tables > 0 => Err(
            StoreError::Failed("the file is a database of something else".to_owned()),
        ),
        (found, ..) => Ok(found),
    }
}

/// Go forward one version at a time; each is one transaction, so an interruption leaves the last
/// whole one.
fn migrate(connection: &Connection, home: &Path) -> Result<(), StoreError> {
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
            inner.pragma_update(None, "secure_delete", !drops_copies(at + 1))?;
            for statement in *statements {
                inner.execute_batch(statement)?;
            }
            inner.pragma_update(None, "secure_delete", true)?;
            rows(&mut Transaction::new(inner), at + 1, home)?;
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

/// The file is looked through once for each start of the machine: the death of a process cannot hurt
/// it, the loss of power might. A small one also after each change, whoever made it.
fn look_through(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let about = fs::metadata(path).map_err(|error| StoreError::io("the store", &error))?;
    let sight = match about.len() > SMALL {
        true => Some(paths::boot_id().to_owned()),
        false => state(&about).map(|state| format!("{} {state}", paths::boot_id())),
    };
    let marker = marker(path);
    if sight.is_some() && fs::read_to_string(&marker).ok() == sight {
        return Ok(());
    }
    checked(&connection.inner, "quick_check")?;
    if let Some(sight) = sight {
        // Best effort: without it the next start looks again.
        let _ = paths::replace(&marker, sight.as_bytes());
    }
    Ok(())
}

/// What tells a file from the same one after a change. None for one that has just changed: the next
/// change could leave it with the same time.
fn state(about: &Metadata) -> Option<String> {
    let changed = about.modified().ok()?;
    let since = changed.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    // Longer than the kernel's clock takes for a tick, or a file system that counts seconds.
    let tick = match since.subsec_nanos() {
        0 => Duration::from_secs(2),
        _ => Duration::from_millis(50),
    };
    let age = SystemTime::now().duration_since(changed).ok()?;
    (age > tick).then(|| format!("{} {}", since.as_nanos(), about.len()))
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
