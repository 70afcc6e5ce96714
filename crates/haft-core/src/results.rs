//! Where whole results live while only a part of them is shown.

use std::io::{self, Read, Seek};

/// What is known of a kept result besides its text. Its handle begins with it, so that whoever reads
/// it again knows as much.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Nature {
    /// Somebody else wrote it, or a part of it
    pub untrusted: bool,
    /// Notes stand in it: it goes when notes are forgotten
    pub forgettable: bool,
}

impl Nature {
    const ALL: [Nature; 4] = [
        Nature::new(false, false),
        Nature::new(true, false),
        Nature::new(false, true),
        Nature::new(true, true),
    ];

    const fn new(untrusted: bool, forgettable: bool) -> Self {
        Nature {
            untrusted,
            forgettable,
        }
    }

    /// What handles of such results begin with.
    pub fn prefix(self) -> &'static str {
        match (self.forgettable, self.untrusted) {
            (false, false) => "r_",
            (false, true) => "u_",
            (true, true) => "n_",
            (true, false) => "nr_",
        }
    }

    /// What a handle says of its result, and what comes after that.
    pub fn of(handle: &str) -> Option<(Nature, &str)> {
        let of = |nature: Nature| Some((nature, handle.strip_prefix(nature.prefix())?));
        Nature::ALL.into_iter().find_map(of)
    }

    /// The same for who needs no more; what is not known is not trusted.
    pub fn told_by(handle: &str) -> Nature {
        let unknown = Nature::new(true, false);
        Nature::of(handle).map_or(unknown, |(nature, _)| nature)
    }
}

/// A kept result, open for reading.
pub trait KeptResult: Read + Seek + Send {}

impl<T: Read + Seek + Send> KeptResult for T {}

/// Keeps results behind handles. A handle belongs to the session that made it.
pub trait ResultStore: Send + Sync {
    /// Keep a text and answer with its handle.
    fn keep(&self, session: &str, text: &str, nature: Nature) -> io::Result<String>;

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
