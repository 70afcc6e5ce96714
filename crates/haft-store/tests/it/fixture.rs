//! A home with a journal in it, and calls to write down.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_core::{Caller, Effects, Ending, Intent, Recorder, Repeat, Resource, Ruling};
use haft_store::{Journal, JournalConfig, StoreError};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Leads from version 7 of the tables back to 5.
pub(crate) const BEFORE_6: &str = "ALTER TABLE kept DROP COLUMN seal; \
     DROP TABLE journal_spans; DROP TABLE journal_words; \
     DROP TABLE journal_ends; DROP TABLE journal_open; \
     CREATE INDEX journal_call ON journal (call_id); \
     CREATE INDEX journal_open ON journal (kind) WHERE kind = 'intent';";

pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Home {
        Home {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn db(&self) -> PathBuf {
        Journal::file(self.path())
    }

    pub(crate) fn journal(&self) -> Journal {
        self.try_journal().unwrap()
    }

    pub(crate) fn try_journal(&self) -> Result<Journal, StoreError> {
        Journal::open(JournalConfig {
            home: self.path().to_owned(),
            mask,
            boot: None,
        })
    }

    /// The same journal after the machine was started again.
    pub(crate) fn journal_after_restart(&self) -> Journal {
        Journal::open(JournalConfig {
            home: self.path().to_owned(),
            mask,
            boot: Some("another start".to_owned()),
        })
        .unwrap()
    }

    /// A journal with so many calls in it, closed again.
    pub(crate) fn with_calls(count: usize) -> Home {
        let home = Home::new();
        let journal = home.journal();
        for n in 0..count {
            read(&journal, &format!("c{n}"));
        }
        assert_eq!(journal.store().close(), 0);
        home
    }

    /// Change the database behind the journal's back.
    pub(crate) fn sql(&self, sql: &str) {
        let db = rusqlite::Connection::open(self.db()).unwrap();
        db.execute_batch(sql).unwrap();
    }
}

/// Stands in for the rules of the runtime: the word `hunter2` is a secret.
fn mask(value: &mut Value) -> usize {
    match value {
        Value::String(text) => {
            let count = text.matches("hunter2").count();
            *text = text.replace("hunter2", "[masked]");
            count
        }
        Value::Array(items) => items.iter_mut().map(mask).sum(),
        Value::Object(map) => map.values_mut().map(mask).sum(),
        _ => 0,
    }
}

pub(crate) fn caller(session: &str) -> Caller {
    Caller {
        agent: Some("tester".into()),
        ..Caller::alone(session, "/w")
    }
}

pub(crate) fn intent(call_id: &str, tool: &str, args: Value) -> Intent {
    Intent {
        call_id: call_id.into(),
        tool: tool.into(),
        caller: Arc::new(caller("s")),
        profile: None,
        autonomy: None,
        args: Arc::new(args),
        private: haft_core::Private::Named(Vec::new()),
        effects: Some(Arc::new(
            Effects::none().writes(Resource::File("/w/a".into())),
        )),
        resolved: Vec::new(),
        repeat: Repeat::Unsafe,
        dry_run: false,
        ruling: Some(Ruling {
            verdict: "allow",
            rules: vec!["file.* (test)".into()],
            reason: "allowed by `file.*`".into(),
            ..Ruling::default()
        }),
        key: None,
    }
}

pub(crate) fn ending() -> Ending {
    Ending {
        duration: Duration::from_micros(1_500),
        chars: 100,
        shown: 40,
        reduced: true,
        ..Ending::default()
    }
}

/// A call without effects, from start to end.
pub(crate) fn read(journal: &Journal, call_id: &str) {
    let mut intent = intent(call_id, "file.read", json!({"path": "a"}));
    intent.repeat = Repeat::Read;
    journal.ended(intent, None, ending());
}

/// A call with effects, up to the point where it may run.
pub(crate) fn begin(journal: &Journal, call_id: &str) -> i64 {
    let intent = intent(call_id, "file.write", json!({"path": "a"}));
    block_on(journal.intend(intent)).unwrap()
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// Wait until something holds.
#[track_caller]
pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    let since = std::time::Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(60), "it never holds");
        std::thread::sleep(Duration::from_millis(1));
    }
}
