//! The record of every call: what was about to happen, what was decided and how it ended. Records
//! are only ever added; each carries the hash of the one before, marks along the way are signed,
//! and the newest end is signed in a file outside the database.

mod append;
pub(crate) use append::now;
mod body;
mod chain;
mod chart;
mod copies;
mod economy;
mod end;
mod fault;
mod figures;
mod head;
mod key;
mod seals;
pub(crate) use seals::Seals;
mod keyring;
mod keys;
mod list;
mod settle;
mod spans;
pub(crate) use spans::into_spans;
mod stats;
mod told;
mod trim;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use haft_core::{BoxFuture, Earlier, Ending, Intent, Recorder, ToolError};
use serde_json::Value;

pub use chart::chart;
pub use copies::Restored;
pub use economy::Economy;
pub use list::{Filter, Line, State};
pub use settle::Settled;
pub use stats::Stats;
pub use trim::{JournalLimits, Records};
pub use verify::{Fault, Verified};

use crate::{Durability, Store, StoreError, paths};
use fault::FaultFile;
use head::HeadFile;
use key::Key;

/// Takes what is secret out of a value, and says how much that was.
pub type Mask = fn(&mut Value) -> usize;

/// Where the journal is, and what it needs to know.
pub struct JournalConfig {
    /// haft's home, which must be there
    pub home: PathBuf,
    pub mask: Mask,
    /// Which start of the machine this is; the system is asked where none is given
    pub boot: Option<String>,
}

/// The record of calls. Cheap to clone.
#[derive(Clone)]
pub struct Journal {
    store: Store,
    inner: Arc<Inner>,
}

/// What the writer needs as well. Without the store: whoever lets go of that last waits for the
/// writer, and the writer cannot wait for itself.
struct Inner {
    key: Key,
    head: HeadFile,
    fault: FaultFile,
    mask: Mask,
    /// Who writes, so that a call whose process is gone is known to be over
    process: LazyLock<String>,
    /// The end of the journal was compared with the signed one
    checked: AtomicBool,
    known: append::Known,
    /// The list of keys was found to be as it was written
    keys_checked: AtomicBool,
}

impl Journal {
    /// The file that holds it.
    pub fn file(home: &Path) -> PathBuf {
        home.join("haft.db")
    }

    /// Whether anything was ever written down in this home. A database that is gone, while its end
    /// is still signed, was there.
    pub fn is_there(home: &Path) -> bool {
        Journal::file(home).exists() || HeadFile::path(home).exists()
    }

    /// Open the journal; what takes time goes on beside the caller.
    pub fn open(config: JournalConfig) -> Result<Journal, StoreError> {
        let file = Journal::file(&config.home);
        // The key comes first: a journal without one could be anybody's.
        let key = Key::load(&config.home, file.exists())?;
        let head = HeadFile::new(&config.home, &key, config.boot.as_deref());
        let inner = Arc::new(Inner {
            key,
            head,
            fault: FaultFile::new(&config.home),
            mask: config.mask,
            process: LazyLock::new(paths::this_process),
            checked: AtomicBool::new(false),
            known: append::Known::default(),
            keys_checked: AtomicBool::new(false),
        });
        let signing = inner.clone();
        // What cannot be signed now is signed after the next commit.
        let store = Store::with_rest(&file, move || drop(signing.head.catch_up()));
        Ok(Journal { store, inner })
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Damage that a look at the journal finds is remembered, for other processes as well.
    fn noticed<T>(&self, found: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Damaged(what)) = &found {
            self.inner.fault.raise(what);
        }
        found
    }
}

impl Recorder for Journal {
    fn intend(&self, intent: Intent) -> BoxFuture<'_, Result<i64, ToolError>> {
        if let Err(error) = self.inner.fault.check_before_writing() {
            return Box::pin(async { Err(refusal(error)) });
        }
        let inner = self.inner.clone();
        let row = append::Draft::of(intent, None, None);
        let writing = self
            .store
            .write_rows(Durability::Power, move |tx| append::row(tx, &inner, &row));
        Box::pin(async move { writing.done().await.map_err(refusal) })
    }

    fn ended(&self, intent: Intent, intended: Option<i64>, ending: Ending) {
        let inner = self.inner.clone();
        let row = append::Draft::of(intent, intended, Some(ending));
        self.store
            .hand_over_rows(move |tx| append::row(tx, &inner, &row).map(drop));
    }

    fn earlier(&self, intent: &Intent) -> BoxFuture<'_, Result<Option<Earlier>, ToolError>> {
        let Some(key) = intent.key.clone() else {
            return Box::pin(async { Ok(None) });
        };
        let work = keys::work(&self.inner, intent);
        let session = intent.caller.session.clone();
        let inner = self.inner.clone();
        Box::pin(async move {
            let found = self
                .store
                .reading(move |tx| keys::find(tx, &inner, (&session, &key), &work));
            found.await.map_err(refusal)
        })
    }

    fn settle(
        &self,
        earlier: &Earlier,
        happened: bool,
        how: &str,
    ) -> BoxFuture<'_, Result<(), ToolError>> {
        let settled = match happened {
            true => Settled::Happened,
            false => Settled::DidNotHappen,
        };
        let writing = self.settling(earlier.seq, settled, how);
        Box::pin(async move { writing.done().await.map(drop).map_err(refusal) })
    }

    fn keeps_being_read(&self, subject: &str) -> bool {
        Journal::keeps_being_read(self, subject).unwrap_or(false)
    }
}

/// What a call is told that cannot be written down.
fn refusal(error: StoreError) -> ToolError {
    let refusal = match &error {
        StoreError::Taken(_) => ToolError::conflict(error.to_string()),
        _ => ToolError::failed(format!(
            "nothing was done, because it could not be written down: {error}"
        )),
    };
    match error.hint() {
        Some(hint) => refusal.hint(hint).caused_by(error),
        None => refusal.caused_by(error),
    }
}
