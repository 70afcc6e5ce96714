//! Whole results as tools and stages meet them: where they come in first, in the store after that;
//! and what is in the store alone: the list of calls that changed files, and what sessions have seen.

use std::io;
use std::sync::{Arc, Once};

use haft_core::{ChangesIndex, KeptChanges, KeptResult, Nature, ResultStore, Sightings};
use haft_host::FileResults;

use crate::recording::Recording;

pub(crate) struct Kept {
    pub(crate) coming_in: Arc<FileResults>,
    pub(crate) recording: Arc<Recording>,
}

impl ResultStore for Kept {
    fn keep(&self, session: &str, text: &str, nature: Nature) -> io::Result<String> {
        self.coming_in.keep(session, text, nature)
    }

    fn open(&self, session: &str, handle: &str) -> io::Result<Box<dyn KeptResult>> {
        match self.coming_in.open(session, handle) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other.inspect(|_| self.noted(handle)),
        }
        let results = self.recording.results().map_err(io::Error::other)?;
        match results.open(session, handle).map_err(io::Error::other)? {
            Some(file) => {
                self.noted(handle);
                Ok(Box::new(file))
            }
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Kept {
    /// A result that is looked up was shortened for nothing.
    fn noted(&self, handle: &str) {
        if let Ok(journal) = self.recording.journal() {
            journal.looked_up(handle);
        }
    }
}

/// The list of calls that changed files.
pub(crate) struct Listed(pub(crate) Arc<Recording>);

impl ChangesIndex for Listed {
    fn list(&self, place: &str) -> io::Result<Vec<KeptChanges>> {
        let changes = self.0.changes().map_err(io::Error::other)?;
        changes.list(place).map_err(io::Error::other)
    }

    fn open(&self, digest: &str) -> io::Result<Box<dyn KeptResult>> {
        let changes = self.0.changes().map_err(io::Error::other)?;
        Ok(Box::new(changes.open(digest)?))
    }
}

/// What sessions have seen of files.
pub(crate) struct Seen {
    recording: Arc<Recording>,
    taken_over: Once,
}

impl Seen {
    pub(crate) fn new(recording: Arc<Recording>) -> Self {
        Seen {
            recording,
            taken_over: Once::new(),
        }
    }
}

impl Sightings for Seen {
    fn keep(&self, name: &str, what: &[u8]) {
        if let Ok(sights) = self.recording.sights() {
            sights.keep(name, what);
        }
    }

    fn last(&self, name: &str) -> Option<Vec<u8>> {
        let sights = self.recording.sights().ok()?;
        // What cannot be taken over now stays where it is for the next one who looks.
        self.taken_over.call_once(|| drop(sights.take_over()));
        sights.last(name).ok().flatten()
    }
}
