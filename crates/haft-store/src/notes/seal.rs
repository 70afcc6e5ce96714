//! What proves a note: a seal over every column that means something. A note whose seal or text
//! does not hold is never told as if it did; it is named, so that it can be forgotten.

use super::{Note, Scope, Trust};
use crate::{Cell, Row, StoreError, Tx};

/// Since which version notes have a seal, and since which there are notes.
const SEALED_SINCE: i64 = 5;
const SINCE: i64 = 2;

/// The columns before the seal, which comes after them.
const COLUMNS: &str = "id, namespace, scope, owner, text, source, trust, time, hash, replaced";
const SEAL: usize = 10;

pub(super) type Hash = [u8; 32];

/// The query for rows that [`read`] and the others understand.
pub(super) fn select(which: &str) -> String {
    format!("SELECT {COLUMNS}, seal FROM notes WHERE {which}")
}

pub(super) fn hash(text: &str) -> Hash {
    *blake3::hash(text.as_bytes()).as_bytes()
}

/// What the seal is made of. The text is in it by its hash, so that a long one is read only when
/// it is told.
pub(super) struct Parts<'a> {
    pub(super) id: i64,
    pub(super) namespace: &'a str,
    pub(super) scope: &'a str,
    pub(super) owner: &'a str,
    pub(super) source: Option<&'a str>,
    pub(super) trust: &'a str,
    pub(super) time: i64,
    pub(super) hash: &'a [u8],
    pub(super) replaced: Option<i64>,
}

impl<'a> Parts<'a> {
    /// None where a value is not of the kind that we write.
    fn of(row: &'a dyn Row) -> Result<Option<Parts<'a>>, StoreError> {
        let mut cells = [Cell::Null; SEAL];
        for (column, cell) in cells.iter_mut().enumerate() {
            // The text is looked at apart from the rest.
            if column != 4 {
                match row.cell(column) {
                    Ok(found) => *cell = found,
                    Err(StoreError::Damaged(_)) => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
        }
        let [
            id,
            namespace,
            scope,
            owner,
            _,
            source,
            trust,
            time,
            hash,
            replaced,
        ] = cells;
        let parts = || {
            Some(Parts {
                id: id.int()?,
                namespace: namespace.text()?,
                scope: scope.text()?,
                owner: owner.text()?,
                source: match source {
                    Cell::Null => None,
                    source => Some(source.text()?),
                },
                trust: trust.text()?,
                time: time.int()?,
                hash: hash.blob()?,
                replaced: match replaced {
                    Cell::Null => None,
                    replaced => Some(replaced.int()?),
                },
            })
        };
        Ok(parts())
    }

    /// The parts of a row, if its seal holds.
    pub(super) fn sealed(row: &'a dyn Row) -> Result<Option<Parts<'a>>, StoreError> {
        let Some(parts) = Parts::of(row)? else {
            return Ok(None);
        };
        let holds = row.cell(SEAL)?.blob() == Some(&parts.seal());
        Ok(holds.then_some(parts))
    }

    /// Every part is preceded by what it is and how long, so that no text can pass for two.
    pub(super) fn seal(&self) -> Hash {
        let mut hasher = blake3::Hasher::new_derive_key("haft 2026 note");
        let mut number = |value: Option<i64>| match value {
            None => drop(hasher.update(&[0])),
            Some(value) => drop(hasher.update(&[1]).update(&value.to_le_bytes())),
        };
        [Some(self.id), Some(self.time), self.replaced]
            .into_iter()
            .for_each(&mut number);
        for bytes in [
            Some(self.namespace.as_bytes()),
            Some(self.scope.as_bytes()),
            Some(self.owner.as_bytes()),
            self.source.map(str::as_bytes),
            Some(self.trust.as_bytes()),
            Some(self.hash),
        ] {
            match bytes {
                None => hasher.update(&[0]),
                Some(bytes) => hasher
                    .update(&[2])
                    .update(&(bytes.len() as u64).to_le_bytes())
                    .update(bytes),
            };
        }
        *hasher.finalize().as_bytes()
    }
}

/// The text of a row, if it is the one that the hash is of.
fn text<'a>(row: &'a dyn Row, of: &[u8]) -> Result<Option<&'a str>, StoreError> {
    match row.cell(4) {
        Ok(cell) => Ok(cell.text().filter(|text| hash(text) == of)),
        Err(StoreError::Damaged(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A row as it is told: none for one that was replaced, and in the place of one that is damaged
/// what it is.
pub(super) fn read(row: &dyn Row) -> Result<Option<Note>, StoreError> {
    let (note, replaced) = read_any(row)?;
    Ok((note.damaged || !replaced).then_some(note))
}

/// The same for every row, and whether it was replaced.
pub(super) fn read_any(row: &dyn Row) -> Result<(Note, bool), StoreError> {
    let Some(parts) = Parts::sealed(row)? else {
        return Ok((withheld(row)?, false));
    };
    let mut note = Note {
        id: parts.id,
        namespace: parts.namespace.to_owned(),
        scope: Scope::parse(parts.scope).unwrap_or(Scope::Session),
        owner: parts.owner.to_owned(),
        text: String::new(),
        source: parts.source.map(str::to_owned),
        trust: Trust::parse(parts.trust),
        time: parts.time,
        damaged: false,
        placeless: false,
    };
    match text(row, parts.hash)? {
        Some(text) => text.clone_into(&mut note.text),
        None => (note.text, note.damaged) = (told(note.id), true),
    }
    Ok((note, parts.replaced.is_some()))
}

/// Where it stands is told as far as that can be read; whether it ever stood there is not known.
fn withheld(row: &dyn Row) -> Result<Note, StoreError> {
    let id = row.cell(0)?.int().unwrap_or_default();
    let word = |column: usize| match row.cell(column) {
        Ok(cell) => cell.text().unwrap_or_default().to_owned(),
        Err(_) => String::new(),
    };
    Ok(Note {
        id,
        namespace: word(1),
        scope: Scope::parse(&word(2)).unwrap_or(Scope::User),
        owner: word(3),
        text: told(id),
        source: None,
        trust: Trust::Untrusted,
        time: 0,
        damaged: true,
        placeless: true,
    })
}

fn told(id: i64) -> String {
    format!(
        "(note {id} is damaged, so nothing of it is shown: forget it with `memory.forget`, or go back to a copy with `haft restore`)"
    )
}

/// The seal of a row once it is set aside at a moment, or brought back; none where its own does not
/// hold.
pub(super) fn marked(row: &dyn Row, replaced: Option<i64>) -> Result<Option<Hash>, StoreError> {
    Ok(Parts::sealed(row)?.map(|parts| Parts { replaced, ..parts }.seal()))
}

/// Seal the notes that an older haft has written, each if its text is what its hash says. One that
/// is damaged stays without, and is told as such.
pub(crate) fn seal_all(tx: &mut dyn Tx) -> Result<(), StoreError> {
    let mut ids = Vec::new();
    tx.each("SELECT id FROM notes", &[], &mut |row| {
        ids.extend(row.cell(0)?.int());
        Ok(true)
    })?;
    let sql = format!("SELECT {COLUMNS} FROM notes WHERE id = $1");
    for id in ids {
        let mut seal = None;
        tx.each(&sql, &[id.into()], &mut |row| {
            if let Some(parts) = Parts::of(row)?
                && text(row, parts.hash)?.is_some()
            {
                seal = Some(parts.seal());
            }
            Ok(false)
        })?;
        if let Some(seal) = seal {
            let values = [Cell::Blob(&seal), id.into()];
            tx.run("UPDATE notes SET seal = $1 WHERE id = $2", &values)?;
        }
    }
    Ok(())
}

/// Whether every note of a store of this version is as it was written.
pub(crate) fn sound(tx: &mut dyn Tx, version: i64) -> Result<(), StoreError> {
    if version < SINCE {
        return Ok(());
    }
    let sealed = version >= SEALED_SINCE;
    let sql = match sealed {
        true => select("true ORDER BY id"),
        false => format!("SELECT {COLUMNS} FROM notes ORDER BY id"),
    };
    tx.each(&sql, &[], &mut |row| {
        let parts = match sealed {
            true => Parts::sealed(row)?,
            false => Parts::of(row)?,
        };
        let text = match &parts {
            Some(parts) => text(row, parts.hash)?,
            None => None,
        };
        match text {
            Some(_) => Ok(true),
            None => Err(StoreError::Note(row.cell(0)?.int().unwrap_or_default())),
        }
    })
}
