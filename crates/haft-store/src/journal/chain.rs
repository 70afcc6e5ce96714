//! The chain: each record's hash covers every column of it and the hash of the record before.

use crate::{Row, StoreError};

pub(super) type Hash = [u8; 32];

/// The columns a record is made of, in the order they are hashed and read.
pub(super) const COLUMNS: &str =
    "seq, time, kind, intent, call_id, session, tool, verdict, state, duration_us, body, hash";

/// What stands before the first record.
pub(super) fn genesis() -> Hash {
    *blake3::hash(b"haft journal, version 1").as_bytes()
}

/// One record, borrowed from wherever it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link<'a> {
    pub(super) seq: i64,
    pub(super) time: i64,
    pub(super) kind: &'a str,
    pub(super) intent: Option<i64>,
    pub(super) call_id: &'a str,
    pub(super) session: &'a str,
    pub(super) tool: &'a str,
    pub(super) verdict: Option<&'a str>,
    pub(super) state: Option<&'a str>,
    pub(super) duration_us: Option<i64>,
    pub(super) body: &'a str,
}

impl<'a> Link<'a> {
    /// A record and its hash from a row of [`COLUMNS`]. A value of another type than we write is
    /// damage.
    pub(super) fn of(row: &'a dyn Row) -> Result<(Link<'a>, Hash), StoreError> {
        let text = |column: usize, name: &str| {
            let cell = row.cell(column)?;
            cell.text().ok_or_else(|| wrong(name))
        };
        let number = |column: usize, name: &str| {
            let cell = row.cell(column)?;
            cell.int().ok_or_else(|| wrong(name))
        };
        let maybe_text = |column: usize, name: &str| match row.cell(column)? {
            cell if cell.is_null() => Ok(None),
            _ => text(column, name).map(Some),
        };
        let maybe_number = |column: usize, name: &str| match row.cell(column)? {
            cell if cell.is_null() => Ok(None),
            _ => number(column, name).map(Some),
        };
        let link = Link {
            seq: number(0, "seq")?,
            time: number(1, "time")?,
            kind: text(2, "kind")?,
            intent: maybe_number(3, "intent")?,
            call_id: text(4, "call_id")?,
            session: text(5, "session")?,
            tool: text(6, "tool")?,
            verdict: maybe_text(7, "verdict")?,
            state: maybe_text(8, "state")?,
            duration_us: maybe_number(9, "duration_us")?,
            body: text(10, "body")?,
        };
        let hash = row.cell(11)?;
        let hash = hash.blob().and_then(|bytes| bytes.try_into().ok());
        Ok((link, hash.ok_or_else(|| wrong("hash"))?))
    }

    /// The hash of this record after that one. Every part is preceded by what it is and how long,
    /// so that no text can pass for two.
    pub(super) fn after(&self, before: &Hash) -> Hash {
        self.after_in(before, &mut Vec::with_capacity(256 + self.body.len()))
    }

    /// The same in a room that is used again.
    pub(super) fn after_in(&self, before: &Hash, bytes: &mut Vec<u8>) -> Hash {
        bytes.clear();
        bytes.extend_from_slice(before);
        let number = |bytes: &mut Vec<u8>, value: Option<i64>| match value {
            None => bytes.push(0),
            Some(value) => {
                bytes.push(1);
                bytes.extend_from_slice(&value.to_le_bytes());
            }
        };
        let text = |bytes: &mut Vec<u8>, value: Option<&str>| match value {
            None => bytes.push(0),
            Some(value) => {
                bytes.push(2);
                bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
                bytes.extend_from_slice(value.as_bytes());
            }
        };
        number(bytes, Some(self.seq));
        number(bytes, Some(self.time));
        text(bytes, Some(self.kind));
        number(bytes, self.intent);
        text(bytes, Some(self.call_id));
        text(bytes, Some(self.session));
        text(bytes, Some(self.tool));
        text(bytes, self.verdict);
        text(bytes, self.state);
        number(bytes, self.duration_us);
        text(bytes, Some(self.body));
        *blake3::hash(bytes).as_bytes()
    }
}

fn wrong(column: &str) -> StoreError {
    StoreError::Damaged(format!("a journal record has no valid `{column}`"))
}
