//! What a shelf held before it was replaced: one state behind the other, so that every replacement
//! can be taken back, and made again.

use super::seal::{self, Parts, select};
use super::{NewNote, Notes, Shelf, count_removal, insert, on};
use crate::journal::now;
use crate::{Cell, Durability, StoreError, Tx};

/// So many states are kept however old they are; those before them for a month, in microseconds.
const STATES: usize = 20;
const MONTH: i64 = 30 * 86_400 * 1_000_000;

/// A note on a shelf. Notes that were replaced together bear the moment of that, and so does the note
/// that took their place, as its time. One that was taken back bears the same moment below zero.
struct Standing {
    id: i64,
    time: i64,
    replaced: Option<i64>,
}

impl Notes {
    /// Put one text in the place of everything on a shelf. What was there is kept for undo; a text
    /// that is all there is already stays, with what was kept before.
    pub async fn replace(&self, note: NewNote) -> Result<i64, StoreError> {
        let replaced = self.store.write(Durability::Power, move |tx| {
            if let Some(id) = only_note(tx, &note)? {
                return Ok(id);
            }
            let all = standing(tx, &note.shelf)?;
            let current = all.iter().filter(|one| one.replaced.is_none());
            let current: Vec<i64> = current.map(|one| one.id).collect();
            let moment = set_aside(tx, &all, &current)?;
            insert(tx, &note, moment).map(|(id, _)| id)
        });
        replaced.done().await
    }

    /// Put a text in the place of those notes of its shelf that somebody has seen, and leave what came
    /// since; an empty text is no note. Says how many came since; none where one of those that were
    /// seen is not there any more, and nothing happens then.
    pub async fn revise(&self, note: NewNote, seen: Vec<i64>) -> Result<Option<usize>, StoreError> {
        let revised = self.store.write(Durability::Power, move |tx| {
            let all = standing(tx, &note.shelf)?;
            let current = all.iter().filter(|one| one.replaced.is_none());
            let (known, since): (Vec<i64>, Vec<i64>) =
                current.map(|one| one.id).partition(|id| seen.contains(id));
            if known.len() != seen.len() {
                return Ok(None);
            }
            let moment = set_aside(tx, &all, &known)?;
            if !note.text.is_empty() {
                insert(tx, &note, moment)?;
            }
            Ok(Some(since.len()))
        });
        revised.done().await
    }

    /// Take the last replacement of a shelf back; what was stored since stays. False where there is
    /// nothing to go back to.
    pub async fn undo(&self, shelf: Shelf) -> Result<bool, StoreError> {
        let undone = self.store.write(Durability::Power, move |tx| {
            let all = standing(tx, &shelf)?;
            let moments = all.iter().filter_map(|one| one.replaced);
            let Some(last) = moments.max().filter(|moment| *moment > 0) else {
                return Ok(false);
            };
            for one in &all {
                if one.replaced == Some(last) {
                    mark(tx, one.id, None)?;
                } else if one.replaced.is_none() && one.time == last {
                    mark(tx, one.id, Some(-last))?;
                }
            }
            count_removal(tx)?;
            Ok(true)
        });
        undone.done().await
    }

    /// Make the replacement again that was taken back last. False where there is none, or another
    /// one was made since.
    pub async fn redo(&self, shelf: Shelf) -> Result<bool, StoreError> {
        let redone = self.store.write(Durability::Power, move |tx| {
            let all = standing(tx, &shelf)?;
            let undone = all
                .iter()
                .filter(|one| one.replaced.is_some_and(|moment| moment < 0));
            let Some(next) = undone.max_by_key(|one| one.replaced) else {
                return Ok(false);
            };
            for one in &all {
                // What came after it was not what it replaced.
                if one.replaced.is_none() && one.id < next.id {
                    mark(tx, one.id, next.replaced.map(|moment| -moment))?;
                }
            }
            mark(tx, next.id, None)?;
            count_removal(tx)?;
            Ok(true)
        });
        redone.done().await
    }
}

/// All notes of a shelf that are as they were written.
fn standing(tx: &mut dyn Tx, shelf: &Shelf) -> Result<Vec<Standing>, StoreError> {
    let mut all = Vec::new();
    let sql = select("namespace = $1 AND scope = $2 AND owner = $3 ORDER BY id");
    tx.each(&sql, &on(shelf), &mut |row| {
        all.extend(Parts::sealed(row)?.map(|parts| Standing {
            id: parts.id,
            time: parts.time,
            replaced: parts.replaced,
        }));
        Ok(true)
    })?;
    Ok(all)
}

/// Set some notes of a shelf aside, all at one moment, which is later than any other there.
fn set_aside(tx: &mut dyn Tx, all: &[Standing], ids: &[i64]) -> Result<i64, StoreError> {
    let latest = |one: &Standing| one.time.max(one.replaced.map_or(0, i64::abs));
    let latest = all.iter().map(latest).max().unwrap_or(0);
    let moment = now().max(latest + 1);
    drop_old(tx, all, moment)?;
    for id in ids {
        mark(tx, *id, Some(moment))?;
    }
    count_removal(tx)?;
    Ok(moment)
}

/// What was taken back cannot be had again once something else is written, and states do not add up
/// without end.
fn drop_old(tx: &mut dyn Tx, all: &[Standing], moment: i64) -> Result<(), StoreError> {
    let mut moments: Vec<i64> = all.iter().filter_map(|one| one.replaced).collect();
    moments.sort_unstable_by(|a, b| b.cmp(a));
    moments.dedup();
    let oldest = moments.get(STATES - 1).copied().unwrap_or(0);
    for one in all {
        let gone = |at: i64| at < 0 || (at < oldest && at < moment - MONTH);
        if one.replaced.is_some_and(gone) {
            tx.run("DELETE FROM notes WHERE id = $1", &[one.id.into()])?;
        }
    }
    Ok(())
}

/// Say of a note when it was replaced, or that it was not.
fn mark(tx: &mut dyn Tx, id: i64, replaced: Option<i64>) -> Result<(), StoreError> {
    let mut seal = None;
    tx.each(&select("id = $1"), &[id.into()], &mut |row| {
        seal = seal::marked(row, replaced)?;
        Ok(false)
    })?;
    if let Some(seal) = seal {
        tx.run(
            "UPDATE notes SET replaced = $1, seal = $2 WHERE id = $3",
            &[replaced.into(), Cell::Blob(&seal), id.into()],
        )?;
    }
    Ok(())
}

/// The note that says just this, if its shelf holds nothing else.
fn only_note(tx: &mut dyn Tx, note: &NewNote) -> Result<Option<i64>, StoreError> {
    let [namespace, scope, owner] = on(&note.shelf);
    let sql = "SELECT id, text, source, trust FROM notes WHERE namespace = $1 AND scope = $2 \
               AND owner = $3 AND replaced IS NULL";
    let mut found = Vec::new();
    tx.each(sql, &[namespace, scope, owner], &mut |row| {
        let same = row.cell(1)?.text() == Some(note.text.as_str())
            && row.cell(2)?.text() == note.source.as_deref()
            && row.cell(3)?.text() == Some(note.trust.as_str());
        found.push(row.cell(0)?.int().filter(|_| same));
        Ok(found.len() < 2)
    })?;
    Ok(match found[..] {
        [id] => id,
        _ => None,
    })
}
