//! What sessions have seen of files, as it outlives a process.

/// Keeps what sessions have seen, each under a name.
pub trait Sightings: Send + Sync {
    /// Keep what was seen in the place of what was seen before. Nobody waits for that.
    fn keep(&self, name: &str, what: &[u8]);

    /// What was seen last, by whichever process. None also where nothing can be kept.
    fn last(&self, name: &str) -> Option<Vec<u8>>;
}
