//! Where whole results live while only a part of them is shown.

use std::io::{self, Read, Seek};

/// What handles of results begin with in which notes stand.
pub const FORGETTABLE: &str = "n_";

/// A kept result, open for reading.
pub trait KeptResult: Read + Seek + Send {}

impl<T: Read + Seek + Send> KeptResult for T {}

/// Keeps results behind handles. A handle belongs to the session that made it.
pub trait ResultStore: Send + Sync {
    /// Keep a text and answer with its handle.
    fn keep(&self, session: &str, text: &str) -> io::Result<String>;

    /// The same for a text in which notes stand: it goes when notes are forgotten. Its handle begins
    /// with [`FORGETTABLE`].
    fn keep_forgettable(&self, session: &str, text: &str) -> io::Result<String>;

    /// Open a kept result. `NotFound` for an unknown handle and for another session's alike, so
    /// that nothing is learned by guessing.
    fn open(&self, session: &str, handle: &str) -> io::Result<Box<dyn KeptResult>>;
}

/// The folder for what belongs to a session: a hash, so that a handle alone opens nothing and no
/// name of a session becomes a path.
pub fn session_folder(session: &str) -> String {
    let hash = blake3::hash(session.as_bytes()).to_hex();
    hash.as_str()[..16].to_owned()
}
