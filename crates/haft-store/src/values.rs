//! Small things by kind and name: rules that a person allowed for good, what is known of a server.

use std::path::Path;

use crate::journal::Seals;
use crate::store::Writing;
use crate::{Cell, Durability, Journal, Store, StoreError, Tx};

/// The version of the tables that has them, and the one since which some have a seal.
const SINCE: i64 = 3;
const SEALED_SINCE: i64 = 7;
/// The kinds that were there before and have one: what they say is allowed.
const SEALED: [&str; 1] = ["rule"];

const ALL: &str = "SELECT name, value FROM kept WHERE kind = $1 ORDER BY time, name";

/// A thing and its name.
pub type Value = (String, Vec<u8>);

/// Things that have a seal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sealed {
    /// As they were kept
    pub whole: Vec<Value>,
    /// The names of those that are not
    pub changed: Vec<String>,
}

#[derive(Clone)]
pub struct Values {
    store: Store,
}

impl Values {
    pub fn new(store: Store) -> Self {
        Values { store }
    }

    /// All of a kind, oldest first, from a store that need not be open, nor there.
    pub fn peek(home: &Path, kind: &str) -> Result<Vec<Value>, StoreError> {
        let found = Store::peek(&Journal::file(home), SINCE, |tx| all(tx, kind))?;
        Ok(found.unwrap_or_default())
    }

    /// All of a kind that has seals, in the same way.
    pub fn peek_sealed(home: &Path, kind: &str) -> Result<Sealed, StoreError> {
        let file = Journal::file(home);
        let sealed = Store::peek(&file, SEALED_SINCE, |tx| sealed(tx, home, kind))?;
        match sealed {
            Some(sealed) => Ok(sealed),
            // They are sealed as they are when the store is brought up to date.
            None => Ok(Sealed {
                whole: Values::peek(home, kind)?,
                changed: Vec::new(),
            }),
        }
    }

    /// The same from a store that is open.
    pub fn sealed(&self, kind: &str) -> Result<Sealed, StoreError> {
        let home = self.home();
        self.store.glance(|tx| sealed(tx, home, kind))
    }

    fn home(&self) -> &Path {
        self.store.path().parent().unwrap_or(Path::new("."))
    }

    /// One of a kind, in the same way.
    pub fn peek_at(home: &Path, kind: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found = Store::peek(&Journal::file(home), SINCE, |tx| Values::at(tx, kind, name))?;
        Ok(found.flatten())
    }

    pub(crate) fn at(
        tx: &mut dyn Tx,
        kind: &str,
        name: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let mut found = None;
        tx.each(
            "SELECT value FROM kept WHERE kind = $1 AND name = $2",
            &[kind.into(), name.into()],
            &mut |row| {
                found = row.cell(0)?.blob().map(<[u8]>::to_vec);
                Ok(false)
            },
        )?;
        Ok(found)
    }

    /// Keep things under names that are free; what is there stays. Done when it is on the disk.
    pub fn add(&self, kind: &str, values: Vec<(Value, i64)>) -> Writing<()> {
        let kind = kind.to_owned();
        self.store.write(Durability::Power, move |tx| {
            for ((name, value), time) in &values {
                tx.run(
                    "INSERT INTO kept (kind, name, value, time) VALUES ($1, $2, $3, $4) \
                     ON CONFLICT (kind, name) DO NOTHING",
                    &[
                        kind.as_str().into(),
                        name.as_str().into(),
                        Cell::Blob(value),
                        (*time).into(),
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// The same with a seal. One that is there and was changed gives way.
    pub fn add_sealed(
        &self,
        kind: &str,
        values: Vec<(Value, i64)>,
    ) -> Result<Writing<()>, StoreError> {
        let home = self.home();
        let Some(seals) = Seals::of(home)? else {
            let key = home.join("journal.key");
            return Err(StoreError::KeyGone(key.display().to_string()));
        };
        let kind = kind.to_owned();
        Ok(self.store.write(Durability::Power, move |tx| {
            let there = proved(tx, Some(&seals), &kind)?.whole;
            for ((name, value), time) in &values {
                if there.iter().any(|(other, _)| other == name) {
                    continue;
                }
                let seal = seals.seal(&kind, name, value);
                tx.run(
                    "INSERT INTO kept (kind, name, value, time, seal) VALUES ($1, $2, $3, $4, $5) \
                     ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value, \
                     time = excluded.time, seal = excluded.seal",
                    &[
                        kind.as_str().into(),
                        name.as_str().into(),
                        Cell::Blob(value),
                        (*time).into(),
                        seal.as_str().into(),
                    ],
                )?;
            }
            Ok(())
        }))
    }

    /// Keep something in the place of what had its name. Done when it is on the disk.
    pub fn put(&self, kind: &str, name: &str, value: Vec<u8>) -> Writing<()> {
        self.store.write(Durability::Power, put(kind, name, value))
    }

    /// The same with the next commit, and nobody waits for it.
    pub fn put_soon(&self, kind: &str, name: &str, value: Vec<u8>) {
        self.store.hand_over_rows(put(kind, name, value));
    }

    /// Remove those that a function chooses, and answer with them.
    pub fn remove(
        &self,
        kind: &str,
        chosen: impl Fn(&str, &[u8]) -> bool + Send + 'static,
    ) -> Writing<Vec<Value>> {
        let kind = kind.to_owned();
        self.store.write(Durability::Power, move |tx| {
            let mut gone = all(tx, &kind)?;
            gone.retain(|(name, value)| chosen(name, value));
            for (name, _) in &gone {
                tx.run(
                    "DELETE FROM kept WHERE kind = $1 AND name = $2",
                    &[kind.as_str().into(), name.as_str().into()],
                )?;
            }
            Ok(gone)
        })
    }
}

fn put(
    kind: &str,
    name: &str,
    value: Vec<u8>,
) -> impl FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send + 'static {
    let (kind, name) = (kind.to_owned(), name.to_owned());
    move |tx| {
        let time = crate::journal::now();
        tx.run(
            "INSERT INTO kept (kind, name, value, time) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value, \
             time = excluded.time",
            &[
                kind.as_str().into(),
                name.as_str().into(),
                Cell::Blob(&value),
                time.into(),
            ],
        )?;
        Ok(())
    }
}

/// Seal what an older haft has kept, as it is.
pub(crate) fn seal_all(tx: &mut dyn Tx, home: &Path) -> Result<(), StoreError> {
    let Some(seals) = Seals::of(home)? else {
        return Ok(());
    };
    for kind in SEALED {
        for (name, value) in all(tx, kind)? {
            let seal = seals.seal(kind, &name, &value);
            tx.run(
                "UPDATE kept SET seal = $1 WHERE kind = $2 AND name = $3",
                &[seal.as_str().into(), kind.into(), name.as_str().into()],
            )?;
        }
    }
    Ok(())
}

/// The key is looked for only where there is something to prove.
fn sealed(tx: &mut dyn Tx, home: &Path, kind: &str) -> Result<Sealed, StoreError> {
    match tx.first_int("SELECT 1 FROM kept WHERE kind = $1", &[kind.into()])? {
        None => Ok(Sealed::default()),
        Some(_) => proved(tx, Seals::of(home)?.as_ref(), kind),
    }
}

fn proved(tx: &mut dyn Tx, seals: Option<&Seals>, kind: &str) -> Result<Sealed, StoreError> {
    const WITH_SEAL: &str =
        "SELECT name, value, seal FROM kept WHERE kind = $1 ORDER BY time, name";
    let mut found = Sealed::default();
    tx.each(WITH_SEAL, &[kind.into()], &mut |row| {
        let Some(name) = row.cell(0)?.text().map(str::to_owned) else {
            return Ok(true);
        };
        let value = row.cell(1)?.blob().map(<[u8]>::to_vec);
        let seal = row.cell(2)?;
        let fits = |value: &[u8]| {
            let seals = seals.map(|seals| seals.seal(kind, &name, value));
            seals.is_some() && seals.as_deref() == seal.text()
        };
        match value.filter(|value| fits(value)) {
            Some(value) => found.whole.push((name, value)),
            None => found.changed.push(name),
        }
        Ok(true)
    })?;
    Ok(found)
}

fn all(tx: &mut dyn Tx, kind: &str) -> Result<Vec<Value>, StoreError> {
    let mut found = Vec::new();
    tx.each(ALL, &[kind.into()], &mut |row| {
        let name = row.cell(0)?.text().map(str::to_owned);
        found.extend(name.zip(row.cell(1)?.blob().map(<[u8]>::to_vec)));
        Ok(true)
    })?;
    Ok(found)
}
