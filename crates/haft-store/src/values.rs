//! Small things by kind and name: rules that a person allowed for good, what is known of a server.

use std::path::Path;

use crate::store::Writing;
use crate::{Cell, Durability, Journal, Store, StoreError, Tx};

/// The version of the tables that has them.
const SINCE: i64 = 3;

const ALL: &str = "SELECT name, value FROM kept WHERE kind = $1 ORDER BY time, name";

/// A thing and its name.
pub type Value = (String, Vec<u8>);

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

fn all(tx: &mut dyn Tx, kind: &str) -> Result<Vec<Value>, StoreError> {
    let mut found = Vec::new();
    tx.each(ALL, &[kind.into()], &mut |row| {
        let name = row.cell(0)?.text().map(str::to_owned);
        found.extend(name.zip(row.cell(1)?.blob().map(<[u8]>::to_vec)));
        Ok(true)
    })?;
    Ok(found)
}
