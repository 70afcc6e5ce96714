//! The tables, version by version. Forward only: a step that has been released never changes, and
//! each happens whole or not at all.

use std::path::Path;

use crate::{StoreError, Tx};

/// The newest version this haft knows.
pub const VERSION: i64 = STEPS.len() as i64;

/// Tells a file of ours from any other SQLite file: "haft".
pub(crate) const APPLICATION: i64 = 0x6861_6674;

/// The statements that lead from one version to the next.
pub(crate) const STEPS: &[&[&str]] = &[
    // 1: the journal, its signed marks, and what blobs are for.
    &[
        "CREATE TABLE journal (
            seq INTEGER PRIMARY KEY,
            time INTEGER NOT NULL,
            kind TEXT NOT NULL,
            intent INTEGER,
            call_id TEXT NOT NULL,
            session TEXT NOT NULL,
            tool TEXT NOT NULL,
            verdict TEXT,
            state TEXT,
            duration_us INTEGER,
            body TEXT NOT NULL,
            hash BLOB NOT NULL
        )",
        "CREATE INDEX journal_call ON journal (call_id)",
        "CREATE INDEX journal_session ON journal (session)",
        "CREATE INDEX journal_tool ON journal (tool)",
        "CREATE INDEX journal_time ON journal (time)",
        "CREATE INDEX journal_intent ON journal (intent) WHERE intent IS NOT NULL",
        "CREATE INDEX journal_open ON journal (kind) WHERE kind = 'intent'",
        "CREATE TABLE journal_marks (
            seq INTEGER NOT NULL,
            kind TEXT NOT NULL,
            time INTEGER NOT NULL,
            hash BLOB NOT NULL,
            signature BLOB NOT NULL,
            PRIMARY KEY (kind, seq)
        )",
        "CREATE TABLE blobs (
            hash TEXT PRIMARY KEY,
            size INTEGER NOT NULL,
            time INTEGER NOT NULL
        )",
        "CREATE TABLE blob_refs (
            owner TEXT NOT NULL,
            hash TEXT NOT NULL,
            time INTEGER NOT NULL,
            PRIMARY KEY (owner, hash)
        )",
        "CREATE INDEX blob_refs_hash ON blob_refs (hash)",
    ],
    // 2: notes, what was worked out from them, and a count of their changes.
    &[
        "CREATE TABLE notes (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            namespace TEXT NOT NULL,
            scope TEXT NOT NULL,
            owner TEXT NOT NULL,
            text TEXT NOT NULL,
            source TEXT,
            trust TEXT NOT NULL,
            time INTEGER NOT NULL,
            hash BLOB NOT NULL,
            replaced INTEGER
        )",
        "CREATE INDEX notes_shelf ON notes (namespace, scope, owner, hash)",
        "CREATE TABLE notes_index (revision INTEGER NOT NULL, bytes BLOB NOT NULL)",
        "CREATE TABLE notes_revision (revision INTEGER NOT NULL)",
        "INSERT INTO notes_revision (revision) VALUES (0)",
    ],
    // 3: small things by name, results that were shortened, and calls by their own keys.
    &[
        "CREATE TABLE kept (
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            value BLOB NOT NULL,
            time INTEGER NOT NULL,
            PRIMARY KEY (kind, name)
        )",
        "CREATE TABLE shortened (
            handle TEXT PRIMARY KEY,
            subject TEXT NOT NULL,
            reduced INTEGER NOT NULL,
            looked_up INTEGER NOT NULL,
            time INTEGER NOT NULL
        )",
        "CREATE INDEX shortened_subject ON shortened (subject, time)",
        "CREATE TABLE call_keys (
            session TEXT NOT NULL,
            key TEXT NOT NULL,
            seq INTEGER NOT NULL,
            PRIMARY KEY (session, key)
        )",
    ],
    // 4: calls that changed files, in the order in which they were over; and since when notes were
    // only added.
    &[
        "CREATE TABLE changes (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            place TEXT NOT NULL,
            workspace TEXT NOT NULL,
            call_id TEXT NOT NULL,
            session TEXT NOT NULL,
            tool TEXT NOT NULL,
            time INTEGER NOT NULL,
            places INTEGER NOT NULL,
            undoes TEXT NOT NULL,
            bytes INTEGER NOT NULL,
            log TEXT NOT NULL,
            pack TEXT
        )",
        "CREATE INDEX changes_place ON changes (place, seq)",
        "ALTER TABLE notes_revision ADD COLUMN removal INTEGER NOT NULL DEFAULT 0",
    ],
    // 5: a seal over every column of a note.
    &["ALTER TABLE notes ADD COLUMN seal BLOB"],
    // 6: what records are looked up by, for a thousand of them at a time, in the place of indexes
    // that put a page each into every commit.
    &[
        "DROP INDEX IF EXISTS journal_call",
        "DROP INDEX IF EXISTS journal_session",
        "DROP INDEX IF EXISTS journal_tool",
        "DROP INDEX IF EXISTS journal_time",
        "DROP INDEX IF EXISTS journal_intent",
        "DROP INDEX IF EXISTS journal_open",
        "CREATE TABLE journal_spans (
            last INTEGER PRIMARY KEY,
            first INTEGER NOT NULL,
            oldest INTEGER NOT NULL,
            newest INTEGER NOT NULL,
            calls BLOB NOT NULL,
            figures TEXT,
            seal TEXT
        )",
        "CREATE TABLE journal_words (
            word TEXT NOT NULL,
            last INTEGER NOT NULL,
            places BLOB NOT NULL,
            PRIMARY KEY (word, last)
        )",
        "CREATE TABLE journal_ends (intent INTEGER PRIMARY KEY, seq INTEGER NOT NULL)",
        "CREATE TABLE journal_open (seq INTEGER PRIMARY KEY)",
    ],
    // 7: what proves a rule.
    &["ALTER TABLE kept ADD COLUMN seal TEXT"],
];

/// Whether all that the statements of a step drop stands elsewhere too, so that it need not be wiped
/// page by page.
pub(crate) fn drops_copies(version: i64) -> bool {
    version == 6
}

/// What a step does with the rows that are there, after its statements. The step is numbered by the
/// version that it leads to; the home is where the key lies.
pub(crate) fn rows(tx: &mut dyn Tx, version: i64, home: &Path) -> Result<(), StoreError> {
    match version {
        5 => crate::notes::seal_all(tx),
        6 => crate::journal::into_spans(tx),
        7 => crate::values::seal_all(tx, home),
        _ => Ok(()),
    }
}
