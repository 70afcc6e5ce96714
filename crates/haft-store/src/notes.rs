//! Notes that agents and people leave for later. Plain text, each in a namespace, for one scope,
//! with where it came from. Finding them by meaning is left to others.

mod history;
mod seal;
pub(crate) use seal::{seal_all, sound};

use std::path::Path;

use serde::Serialize;

use crate::journal::now;
use crate::{Cell, Durability, Results, Store, StoreError, Tx};
use seal::{Parts, hash, select};

/// For whom a note is, nearest first: where two say different things, the nearer one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Session,
    Agent,
    Project,
    User,
}

impl Scope {
    pub const ALL: [Scope; 4] = [Scope::Session, Scope::Agent, Scope::Project, Scope::User];

    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Session => "session",
            Scope::Agent => "agent",
            Scope::Project => "project",
            Scope::User => "user",
        }
    }

    pub fn parse(text: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

/// How far a note can be believed, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// A person wrote it
    User,
    /// A model wrote it
    Agent,
    /// It came from content that nobody vouches for
    Untrusted,
}

impl Trust {
    pub fn as_str(self) -> &'static str {
        match self {
            Trust::User => "user",
            Trust::Agent => "agent",
            Trust::Untrusted => "untrusted",
        }
    }

    /// What is not known is not trusted.
    pub fn parse(text: &str) -> Trust {
        match text {
            "user" => Trust::User,
            "agent" => Trust::Agent,
            _ => Trust::Untrusted,
        }
    }
}

/// Where a note belongs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shelf {
    pub namespace: String,
    pub scope: Scope,
    /// The session, agent or project; empty for the user
    pub owner: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    pub id: i64,
    pub namespace: String,
    pub scope: Scope,
    #[serde(skip)]
    pub owner: String,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub trust: Trust,
    /// Microseconds since 1970
    #[serde(skip)]
    pub time: i64,
    /// It is damaged, and its text says so in the place of what it said
    #[serde(skip)]
    pub damaged: bool,
    /// It is damaged so that nobody knows any more for whom it is
    #[serde(skip)]
    pub placeless: bool,
}

/// A note before it is kept.
#[derive(Debug, Clone)]
pub struct NewNote {
    pub shelf: Shelf,
    pub text: String,
    pub source: Option<String>,
    pub trust: Trust,
}

/// How many changes there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revision {
    pub changes: i64,
    /// The last of them by which a note went or came back; after it notes were only added
    pub removal: i64,
}

/// All notes of a store.
#[derive(Clone)]
pub struct Notes {
    store: Store,
}

impl Notes {
    pub fn new(store: Store) -> Self {
        Notes { store }
    }

    /// Keep a note. The same text on the same shelf is kept once: false then, with the id it has. It
    /// is believed as far as the less trusted of the two.
    pub async fn add(&self, note: NewNote) -> Result<(i64, bool), StoreError> {
        self.store
            .write(Durability::Power, move |tx| insert(tx, &note, now()))
            .done()
            .await
    }

    /// Notes by their ids, in that order; those that are gone are left out. In the place of one
    /// that is damaged stands what it is.
    pub fn get(&self, ids: &[i64]) -> Result<Vec<Note>, StoreError> {
        self.store.read(|tx| {
            let sql = select("id = $1");
            let mut notes = Vec::new();
            for id in ids {
                tx.each(&sql, &[(*id).into()], &mut |row| {
                    notes.extend(seal::read(row)?);
                    Ok(true)
                })?;
            }
            Ok(notes)
        })
    }

    /// Notes by their ids, and those of a namespace, for who erases them: also those that were
    /// replaced.
    pub fn even_replaced(
        &self,
        ids: &[i64],
        namespace: Option<&str>,
    ) -> Result<Vec<Note>, StoreError> {
        self.store.read(|tx| {
            let mut notes = Vec::new();
            let mut gather = |which: &str, value: Cell<'_>| {
                tx.each(&select(which), &[value], &mut |row| {
                    notes.push(seal::read_any(row)?.0);
                    Ok(true)
                })
            };
            for id in ids {
                gather("id = $1", (*id).into())?;
            }
            if let Some(namespace) = namespace {
                gather("namespace = $1 ORDER BY id", namespace.into())?;
            }
            Ok(notes)
        })
    }

    /// Every note after this id, oldest first; of those that are damaged what they are.
    pub fn after(&self, id: i64) -> Result<Vec<Note>, StoreError> {
        self.store.read(|tx| {
            let sql = select("id > $1 ORDER BY id");
            let mut notes = Vec::new();
            tx.each(&sql, &[id.into()], &mut |row| {
                notes.extend(seal::read(row)?);
                Ok(true)
            })?;
            Ok(notes)
        })
    }

    /// The ids of all notes, and a number that changes with every change.
    pub fn ids(&self) -> Result<Vec<i64>, StoreError> {
        self.store.read(|tx| {
            let mut ids = Vec::new();
            let sql = "SELECT id FROM notes WHERE replaced IS NULL ORDER BY id";
            tx.each(sql, &[], &mut |row| {
                ids.extend(row.cell(0)?.int());
                Ok(true)
            })?;
            Ok(ids)
        })
    }

    /// How many changes there were so far.
    pub fn revision(&self) -> Result<Revision, StoreError> {
        self.store.read(|tx| {
            let mut found = Revision::default();
            let sql = "SELECT revision, removal FROM notes_revision";
            tx.each(sql, &[], &mut |row| {
                found.changes = row.cell(0)?.int().unwrap_or(0);
                found.removal = row.cell(1)?.int().unwrap_or(0);
                Ok(false)
            })?;
            Ok(found)
        })
    }

    /// Forget notes for good: out of the table, out of the index that was made of them, out of
    /// results that were kept whole, and out of the write-ahead log. Says how many there were.
    /// Without any, what an earlier call had to leave goes.
    pub async fn forget(&self, ids: Vec<i64>) -> Result<usize, StoreError> {
        let home = self.store.path().parent().unwrap_or(Path::new(""));
        let results = Results::new(self.store.clone(), home);
        let gone = self.store.write(Durability::Power, move |tx| {
            let mut gone = 0;
            // Whole results in which they stand.
            results.erase_forgettable(tx)?;
            if ids.is_empty() {
                return Ok(0);
            }
            for id in &ids {
                let shelf = shelf_of(tx, *id)?;
                gone += tx.run("DELETE FROM notes WHERE id = $1", &[(*id).into()])?;
                // What was replaced may say the same thing.
                if let Some(shelf) = shelf {
                    tx.run(
                        "DELETE FROM notes WHERE namespace = $1 AND scope = $2 AND owner = $3 \
                         AND replaced IS NOT NULL",
                        &on(&shelf),
                    )?;
                }
            }
            tx.run("DELETE FROM notes_index", &[])?;
            count_removal(tx)?;
            Ok(gone)
        });
        let gone = gone.done().await?;
        self.store.erase_traces().await?;
        Ok(gone)
    }

    /// What was worked out from the notes, as it was kept, and for which revision.
    pub fn index(&self) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        self.store.read(|tx| {
            let mut found = None;
            tx.each("SELECT revision, bytes FROM notes_index", &[], &mut |row| {
                let bytes = row.cell(1)?.blob().map(<[u8]>::to_vec);
                found = row.cell(0)?.int().zip(bytes);
                Ok(false)
            })?;
            Ok(found)
        })
    }

    /// Keep what was worked out, unless the notes have changed since.
    pub fn keep_index(&self, of: i64, bytes: Vec<u8>) {
        self.store.hand_over(move |tx| {
            if revision(tx)? != of {
                return Ok(());
            }
            tx.run("DELETE FROM notes_index", &[])?;
            tx.run(
                "INSERT INTO notes_index (revision, bytes) VALUES ($1, $2)",
                &[of.into(), Cell::Blob(&bytes)],
            )?;
            Ok(())
        });
    }
}

fn on(shelf: &Shelf) -> [Cell<'_>; 3] {
    [
        shelf.namespace.as_str().into(),
        shelf.scope.as_str().into(),
        shelf.owner.as_str().into(),
    ]
}

fn revision(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    let revision = tx.first_int("SELECT revision FROM notes_revision", &[])?;
    Ok(revision.unwrap_or(0))
}

fn count_change(tx: &mut dyn Tx) -> Result<(), StoreError> {
    tx.run("UPDATE notes_revision SET revision = revision + 1", &[])
        .map(drop)
}

/// A note went, or came back.
fn count_removal(tx: &mut dyn Tx) -> Result<(), StoreError> {
    count_change(tx)?;
    tx.run("UPDATE notes_revision SET removal = revision", &[])
        .map(drop)
}

fn insert(tx: &mut dyn Tx, note: &NewNote, time: i64) -> Result<(i64, bool), StoreError> {
    let hash = hash(&note.text);
    let shelf = &note.shelf;
    let mut values = on(shelf).to_vec();
    values.push(Cell::Blob(&hash));
    let mut known = None;
    let sql = select("namespace = $1 AND scope = $2 AND owner = $3 AND hash = $4");
    tx.each(&sql, &values, &mut |row| {
        // A damaged one may have said so once.
        known = seal::read(row)?.filter(|found| found.text == note.text);
        Ok(known.is_none())
    })?;
    if let Some(known) = known {
        if note.trust > known.trust {
            doubt(tx, &known, note)?;
        }
        return Ok((known.id, false));
    }
    tx.run(
        "INSERT INTO notes (namespace, scope, owner, text, source, trust, time, hash) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            shelf.namespace.as_str().into(),
            shelf.scope.as_str().into(),
            shelf.owner.as_str().into(),
            note.text.as_str().into(),
            note.source.as_deref().into(),
            note.trust.as_str().into(),
            time.into(),
            Cell::Blob(&hash),
        ],
    )?;
    count_change(tx)?;
    let id = tx.first_int("SELECT max(id) FROM notes", &[])?;
    let id = id.unwrap_or(0);
    let parts = Parts {
        id,
        namespace: &shelf.namespace,
        scope: shelf.scope.as_str(),
        owner: &shelf.owner,
        source: note.source.as_deref(),
        trust: note.trust.as_str(),
        time,
        hash: &hash,
        replaced: None,
    };
    let sealed = "UPDATE notes SET seal = $1 WHERE id = $2";
    tx.run(sealed, &[Cell::Blob(&parts.seal()), id.into()])?;
    Ok((id, true))
}

/// Believe a note no more than another one that says the same, and say where that came from.
fn doubt(tx: &mut dyn Tx, known: &Note, note: &NewNote) -> Result<(), StoreError> {
    let source = note.source.as_deref().or(known.source.as_deref());
    let parts = Parts {
        id: known.id,
        namespace: &known.namespace,
        scope: known.scope.as_str(),
        owner: &known.owner,
        source,
        trust: note.trust.as_str(),
        time: known.time,
        hash: &hash(&known.text),
        replaced: None,
    };
    tx.run(
        "UPDATE notes SET source = $1, trust = $2, seal = $3 WHERE id = $4",
        &[
            source.into(),
            note.trust.as_str().into(),
            Cell::Blob(&parts.seal()),
            known.id.into(),
        ],
    )?;
    count_change(tx)
}

/// Where a note belongs; none where that is not known for certain.
fn shelf_of(tx: &mut dyn Tx, id: i64) -> Result<Option<Shelf>, StoreError> {
    let mut shelf = None;
    tx.each(&select("id = $1"), &[id.into()], &mut |row| {
        shelf = Parts::sealed(row)?.map(|parts| Shelf {
            namespace: parts.namespace.to_owned(),
            scope: Scope::parse(parts.scope).unwrap_or(Scope::User),
            owner: parts.owner.to_owned(),
        });
        Ok(false)
    })?;
    Ok(shelf)
}
