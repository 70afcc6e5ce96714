//! What must last: one SQLite file under haft's home, the journal of every call, blobs beside it.
//!
//! [`Store`] takes work as closures over a [`Tx`] and joins what waits into one commit. Callers
//! speak portable SQL with `$1` places and never name the engine, so another one needs a [`Tx`] of
//! its own and nothing else. [`Journal`] is the record of calls: chained, signed, append-only.
//! [`Blobs`] keeps bytes by their hash, [`Notes`] what agents and people want to know later.
//!
//! What the crate leaves to others: what is secret in a record (it is handed a function for that),
//! and what a call means.

mod backup;
mod blobs;
mod cell;
mod error;
mod journal;
mod notes;
mod paths;
mod schema;
mod sqlite;
mod store;

pub use blobs::{BlobId, Blobs, Swept};
pub use cell::{Cell, Row, Tx};
pub use error::StoreError;
pub use journal::{
    Fault, Filter, Journal, JournalConfig, Line, Mask, Settled, State, Stats, Verified, chart,
};
pub use notes::{NewNote, Note, Notes, Scope, Shelf, Trust};
pub use schema::VERSION;
pub use store::{Durability, Store, Writing};
