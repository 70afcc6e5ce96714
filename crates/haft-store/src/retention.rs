//! Counting towards limits: newest first, so that the oldest goes.

use crate::Swept;

/// How much there is, and what of it is older than a time or beyond so many bytes.
pub(crate) struct Counted {
    since: i64,
    bytes: u64,
    pub(crate) all: Swept,
    pub(crate) gone: Swept,
    /// What has to go
    pub(crate) names: Vec<String>,
}

impl Counted {
    pub(crate) fn new(since: i64, bytes: u64) -> Self {
        Counted {
            since,
            bytes,
            all: Swept::default(),
            gone: Swept::default(),
            names: Vec::new(),
        }
    }

    /// Count the next older one.
    pub(crate) fn add(&mut self, name: String, size: u64, time: i64) {
        self.all.add(size);
        if time < self.since || self.all.bytes > self.bytes {
            self.gone.add(size);
            self.names.push(name);
        }
    }
}
