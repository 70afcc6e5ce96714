//! A connection and its transactions, as the query layer sees them.

use std::any::Any;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, OpenFlags, ToSql};

use super::log;
use crate::cell::{Cell, Row, Tx};
use crate::store::Durability;
use crate::{StoreError, paths};

/// How long another process may hold the store.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a log that takes a quarter of a millisecond to read, as the next process does first.
const LONG_LOG: u64 = 256 << 10;
/// Statements kept ready.
const STATEMENTS: usize = 64;

type AfterCommit = (&'static str, Box<dyn FnOnce(bool)>);

/// What is to follow a commit, and how well that stands.
#[must_use]
pub(crate) struct Following {
    work: Vec<AfterCommit>,
    /// How long the disk was waited for, if it was
    waited: Option<Duration>,
}

impl Following {
    pub(crate) fn waited(&self) -> Option<Duration> {
        self.waited
    }

    pub(crate) fn run(self) {
        for (_, work) in self.work {
            work(self.waited.is_some());
        }
    }
}

pub(crate) struct Connection {
    pub(super) inner: rusqlite::Connection,
    synchronous: Option<Durability>,
    /// It waits while another process writes
    patient: bool,
    /// An fsync has failed on it
    pub(super) lost: bool,
}

impl Connection {
    pub(crate) fn new(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let inner = rusqlite::Connection::open_with_flags(path, flags)?;
        inner.busy_timeout(PATIENCE)?;
        Ok(Connection::of(inner))
    }

    fn of(inner: rusqlite::Connection) -> Self {
        inner.set_prepared_statement_cache_capacity(STATEMENTS);
        Connection {
            inner,
            synchronous: None,
            patient: true,
            lost: false,
        }
    }

    pub(crate) fn reader(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let length = |end| fs::metadata(paths::with_end(path, end)).map(|about| about.len());
        let log = length("-wal").unwrap_or(0);
        let connection = match log {
            _ if paths::is_writable(path) || log > 0 && length("-shm").is_ok() => {
                Connection::new(path, flags)?
            }
            // Without a log there is nothing to share with a writer, and where nothing can be
            // written SQLite could not begin one.
            0 => Connection::new(&unchanging(path), flags | OpenFlags::SQLITE_OPEN_URI)?,
            // Nobody has it open, or what they share would be there.
            _ => Connection::alone(path, flags)?,
        };
        connection.inner.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    /// Without files of our own and without locks: what is in the log is found by reading it.
    fn alone(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let inner = rusqlite::Connection::open_with_flags_and_vfs(path, flags, "unix-none")?;
        inner.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        Ok(Connection::of(inner))
    }

    /// The connection itself, for a copy of all its pages.
    pub(crate) fn inner(&self) -> &rusqlite::Connection {
        &self.inner
    }

    /// Look at one unchanging state.
    pub(crate) fn reading<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.inner.execute_batch("BEGIN DEFERRED")?;
        let mut transaction = Transaction::new(&self.inner);
        let result = work(&mut transaction);
        let _ = self.inner.execute_batch("ROLLBACK");
        result
    }

    /// Write the log back into the file and cut it to nothing.
    pub(crate) fn empty_log(&mut self) -> Result<(), StoreError> {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: i64 = self.inner.query_row(sql, [], |row| row.get(0))?;
        match busy {
            0 => Ok(()),
            _ => Err(StoreError::Busy),
        }
    }

    /// Cut from the log what was never committed, then write it back into the file as far as nobody
    /// minds, so that the next one to write begins it anew: where the disk is full, that is room.
    pub(crate) fn begin_log_anew(&mut self) {
        // What cannot be cut now is tried again when the disk is found full once more.
        let _ = self.cut_log();
        let sql = "PRAGMA wal_checkpoint(PASSIVE)";
        // What does not help is told by the next commit.
        let _ = self.inner.query_row(sql, [], |_| Ok(()));
    }

    fn cut_log(&mut self) -> Result<(), StoreError> {
        let Some(path) = self.inner.path() else {
            return Ok(());
        };
        let log = paths::with_end(Path::new(path), "-wal");
        // As long as this lasts nobody else writes.
        self.inner.execute_batch("BEGIN IMMEDIATE")?;
        let cut = log::cut(&log);
        let _ = self.inner.execute_batch("ROLLBACK");
        cut.map_err(|error| StoreError::io("the log", &error))
    }

    /// Empty a long log, unless somebody else is at it: all of it would be read at the next start.
    pub(crate) fn leave(&mut self) {
        let Some(path) = self.inner.path() else {
            return;
        };
        let log =
            fs::metadata(paths::with_end(Path::new(path), "-wal")).map_or(0, |about| about.len());
        if log > LONG_LOG && self.set_patient(false).is_ok() {
            // The next one who leaves tries again.
            let _ = self.empty_log();
        }
    }

    /// Write the file anew without its holes, if they are a quarter of it and more than a little.
    pub(crate) fn compact(&mut self) -> Result<(), StoreError> {
        const LITTLE: i64 = 256;
        let number = |pragma: &str| {
            self.inner
                .query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0))
        };
        let (free, all) = (number("freelist_count")?, number("page_count")?);
        if free < LITTLE || free < all / 4 {
            self.begin_log_anew();
            return match self.empty_log() {
                // Somebody else reads it, and leaves it so.
                Err(StoreError::Busy) => Ok(()),
                emptied => emptied,
            };
        }
        self.inner.execute_batch("VACUUM")?;
        self.empty_log()
    }

    /// The version of the tables.
    pub(crate) fn version(&self) -> Result<i64, StoreError> {
        Ok(self
            .inner
            .query_row("PRAGMA user_version", [], |row| row.get(0))?)
    }

    /// Whether to wait while another process writes, or to say so at once.
    pub(crate) fn set_patient(&mut self, patient: bool) -> Result<(), StoreError> {
        if self.patient != patient {
            let most = if patient { PATIENCE } else { Duration::ZERO };
            self.inner.busy_timeout(most)?;
            self.patient = patient;
        }
        Ok(())
    }

    /// One commit for everything that `work` does. What is to follow it is left to the caller, who
    /// may have somebody to answer first.
    pub(crate) fn writing(
        &mut self,
        durability: Durability,
        work: &mut dyn FnMut(&mut Transaction<'_>) -> Result<(), StoreError>,
    ) -> Result<Following, StoreError> {
        if self.synchronous != Some(durability) {
            let level = match durability {
                Durability::Process => "NORMAL",
                Durability::Power => "FULL",
            };
            self.inner.pragma_update(None, "synchronous", level)?;
            self.synchronous = Some(durability);
        }
        self.inner.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut transaction = Transaction::new(&self.inner);
        let result = work(&mut transaction);
        let after = std::mem::take(&mut transaction.after);
        let done = Instant::now();
        let committed = result.and_then(|()| {
            let commit = self.inner.prepare_cached("COMMIT");
            let committed = commit.and_then(|mut commit| commit.execute([]));
            committed.map(drop).map_err(|error| {
                self.lost |= StoreError::is_fatal_for_the_handle(&error);
                error.into()
            })
        });
        if let Err(error) = committed {
            // A failed commit may have ended the transaction by itself.
            let _ = self.inner.execute_batch("ROLLBACK");
            return Err(error);
        }
        Ok(Following {
            work: after,
            waited: (durability == Durability::Power).then(|| done.elapsed()),
        })
    }
}

/// A database that nobody changes while we look at it.
fn unchanging(path: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        uri.push_str(&match byte {
            b'/' | b'-' | b'_' | b'.' => char::from(*byte).to_string(),
            byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
            byte => format!("%{byte:02x}"),
        });
    }
    uri.push_str("?immutable=1");
    uri.into()
}

/// A transaction that is under way.
pub(crate) struct Transaction<'a> {
    connection: &'a rusqlite::Connection,
    scratch: Option<Box<dyn Any>>,
    after: Vec<AfterCommit>,
    /// The statement that was run last: work that comes in groups runs one again and again
    last: Option<(Box<str>, CachedStatement<'a>)>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(connection: &'a rusqlite::Connection) -> Self {
        Transaction {
            connection,
            scratch: None,
            after: Vec::new(),
            last: None,
        }
    }

    /// Work that leaves nothing behind when it fails. The outer error means that nothing more can
    /// be done in this transaction.
    pub(crate) fn nested(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Tx) -> Result<(), StoreError>,
    ) -> Result<Result<(), StoreError>, StoreError> {
        self.run("SAVEPOINT job", &[])?;
        let before = std::mem::take(&mut self.after);
        let result = work(self);
        let after = std::mem::replace(&mut self.after, before);
        if let Err(error) = &result {
            let for_all = matches!(error, StoreError::Full | StoreError::Damaged(_));
            // SQLite itself has given the transaction up.
            if for_all || self.connection.is_autocommit() {
                return Err(error.clone());
            }
            self.run("ROLLBACK TO job", &[])?;
            self.scratch = None;
        } else {
            for (name, work) in after {
                self.after_commit(name, work);
            }
        }
        self.run("RELEASE job", &[])?;
        Ok(result)
    }
}

impl Tx for Transaction<'_> {
    fn run(&mut self, sql: &str, values: &[Cell<'_>]) -> Result<usize, StoreError> {
        let statement = match &mut self.last {
            Some((last, statement)) if **last == *sql => statement,
            last => {
                let statement = self.connection.prepare_cached(sql)?;
                &mut last.insert((sql.into(), statement)).1
            }
        };
        Ok(statement.execute(rusqlite::params_from_iter(values))?)
    }

    fn each(
        &mut self,
        sql: &str,
        values: &[Cell<'_>],
        look: &mut dyn FnMut(&dyn Row) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            if !look(row)? {
                break;
            }
        }
        Ok(())
    }

    fn scratch(&mut self) -> &mut Option<Box<dyn Any>> {
        &mut self.scratch
    }

    fn after_commit(&mut self, name: &'static str, work: Box<dyn FnOnce(bool)>) {
        self.after
            .retain(|(other, _)| name.is_empty() || *other != name);
        self.after.push((name, work));
    }
}

impl Row for rusqlite::Row<'_> {
    fn cell(&self, column: usize) -> Result<Cell<'_>, StoreError> {
        Ok(match self.get_ref(column)? {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(value) => Cell::Int(value),
            ValueRef::Real(value) => Cell::Real(value),
            ValueRef::Text(bytes) => Cell::Text(std::str::from_utf8(bytes).map_err(|_| {
                StoreError::Damaged(format!("text that is not UTF-8, in column {column}"))
            })?),
            ValueRef::Blob(bytes) => Cell::Blob(bytes),
        })
    }
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Cell::Null => ValueRef::Null,
            Cell::Int(value) => ValueRef::Integer(value),
            Cell::Real(value) => ValueRef::Real(value),
            Cell::Text(value) => ValueRef::Text(value.as_bytes()),
            Cell::Blob(value) => ValueRef::Blob(value),
        }))
    }
}
