//! Where whole results live while only a part of them is shown.

use std::io::{self, Read, Seek};

/// A kept result, open for reading.
pub trait KeptResult: Read + Seek + Send {}

impl<T: Read + Seek + Send> KeptResult for T {}

/// Keeps results behind handles. A handle belongs to the session that made it.
pub trait ResultStore: Send + Sync {
    /// Keep a text and answer with its handle.
    fn keep(&self, session: &str, text: &str) -> io::Result<String>;

    /// Open a kept result. `NotFound` for an unknown handle and for another session's alike, so
    /// that nothing is learned by guessing.
    fn open(&self, session: &str, handle: &str) -> io::Result<Box<dyn KeptResult>>;
}
