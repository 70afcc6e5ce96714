//! The query layer: values, rows and transactions, without a word of which engine is behind them.

use std::any::Any;

use crate::StoreError;

/// One value on its way into a statement or out of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
}

impl<'a> Cell<'a> {
    pub fn int(self) -> Option<i64> {
        match self {
            Cell::Int(value) => Some(value),
            _ => None,
        }
    }

    pub fn text(self) -> Option<&'a str> {
        match self {
            Cell::Text(value) => Some(value),
            _ => None,
        }
    }

    pub fn blob(self) -> Option<&'a [u8]> {
        match self {
            Cell::Blob(value) => Some(value),
            _ => None,
        }
    }

    pub fn is_null(self) -> bool {
        self == Cell::Null
    }
}

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Cell::Int(value)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Self {
        Cell::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Cell<'a> {
    fn from(value: &'a [u8]) -> Self {
        Cell::Blob(value)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

/// A row while it is being looked at.
pub trait Row {
    /// The value in a column, from 0. A column that is not there is a fault of ours.
    fn cell(&self, column: usize) -> Result<Cell<'_>, StoreError>;
}

/// One transaction. Statements are portable SQL; their places are `$1`, `$2`, … in the order in
/// which they first occur.
pub trait Tx {
    /// Run a statement and say how many rows it changed.
    fn run(&mut self, sql: &str, values: &[Cell<'_>]) -> Result<usize, StoreError>;

    /// Look at every row of a query, until the function says false.
    fn each(
        &mut self,
        sql: &str,
        values: &[Cell<'_>],
        look: &mut dyn FnMut(&dyn Row) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError>;

    /// What work of the same transaction leaves for the next; empty in a new one.
    fn scratch(&mut self) -> &mut Option<Box<dyn Any>>;

    /// Do something once this transaction stands; true where it is on the disk as well. A later
    /// function under the same name takes the place of an earlier one; without a name of nobody's.
    fn after_commit(&mut self, name: &'static str, work: Box<dyn FnOnce(bool)>);
}

impl dyn Tx + '_ {
    /// The first column of the first row.
    pub fn first_int(&mut self, sql: &str, values: &[Cell<'_>]) -> Result<Option<i64>, StoreError> {
        let mut found = None;
        self.each(sql, values, &mut |row| {
            found = row.cell(0)?.int();
            Ok(false)
        })?;
        Ok(found)
    }

    pub fn first_text(
        &mut self,
        sql: &str,
        values: &[Cell<'_>],
    ) -> Result<Option<String>, StoreError> {
        let mut found = None;
        self.each(sql, values, &mut |row| {
            found = row.cell(0)?.text().map(str::to_owned);
            Ok(false)
        })?;
        Ok(found)
    }
}
