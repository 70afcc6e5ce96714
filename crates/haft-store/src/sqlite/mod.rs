//! The one engine there is today. Everything that knows SQLite by name is in here.

mod connection;
mod log;
mod open;
mod writer;

pub(crate) use connection::Connection;
pub(crate) use open::{MARKER, checked};
pub(crate) use writer::Writer;
