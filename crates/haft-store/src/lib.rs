//! What must last: one SQLite file under haft's home, the journal of every call, blobs beside it.
//!
//! [`Store`] takes work as closures over a [`Tx`] and joins what waits into one commit. Callers
//! speak portable SQL with `$1` places and never name the engine, so another one needs a [`Tx`] of
//! its own and nothing else. [`Journal`] is the record of calls: chained, signed, append-only.
//! [`Blobs`] keeps bytes by their hash, [`Results`] whole results among them, [`Changes`] lists
//! what calls changed, [`Values`] keeps small things by name, [`Sights`] what sessions have seen of
//! files, [`Notes`] what agents and people want to know later.
//!
//! What the crate leaves to others: what is secret in a record (it is handed a function for that),
//! and what a call means.

mod backup;
mod blobs;
mod cell;
mod changes;
mod error;
mod journal;
mod long;
mod notes;
mod paths;
mod queue;
mod results;
mod retention;
mod schema;
mod sights;
mod sqlite;
mod store;
mod turn;
mod values;

pub use blobs::{BlobId, Blobs, Swept};
pub use cell::{Cell, Row, Tx};
pub use changes::Changes;
pub use error::StoreError;
pub use journal::{
    Economy, Fault, Filter, Journal, JournalConfig, JournalLimits, Line, Mask, Records, Restored,
    Settled, State, Stats, Verified, chart,
};
pub use long::tell_when_long;
pub use notes::{NewNote, Note, Notes, Revision, Scope, Shelf, Trust};
pub use results::Results;
pub use schema::VERSION;
pub use sights::Sights;
pub use store::{Durability, Store, Writing};
pub use values::{Sealed, Value, Values};
