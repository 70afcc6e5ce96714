//! Calls that changed files, as they are listed once they are over. Whoever keeps the changes hands
//! them over in these words; a store lists them and has their contents.

use std::io;

use serde::{Deserialize, Serialize};

use crate::KeptResult;

/// A call that changed files, and where what was there before is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptChanges {
    pub id: String,
    /// The workspace, as [`changes_place`] has it
    pub place: String,
    /// The same for people
    pub workspace: String,
    pub call: String,
    pub session: String,
    pub tool: String,
    /// Milliseconds since 1970
    pub at_ms: u64,
    /// Places that it changed
    pub places: u64,
    /// The calls that this one has put back
    #[serde(default)]
    pub undoes: Vec<String>,
    /// Bytes of all contents below
    pub bytes: u64,
    /// What was changed, place by place: the digest of that record, in hex
    pub log: String,
    /// Small contents, one after the other
    pub pack: Option<String>,
    /// Large contents
    #[serde(default)]
    pub contents: Vec<String>,
}

impl KeptChanges {
    pub const LOG: &'static str = "log";
    pub const PACK: &'static str = "pack";
    /// The file with these words themselves
    pub const DONE: &'static str = "done";

    /// Where the files of a call lie under haft's home until it is listed.
    pub const FOLDER: &'static str = "undo/calls";

    /// The name of one of its files there; a large content ends in its digest.
    pub fn file_name(id: &str, ending: &str) -> String {
        format!("{id}.{ending}")
    }

    /// Every content with the ending that its file has there.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        let pack = self.pack.iter().map(|digest| (Self::PACK, digest.as_str()));
        let contents = self.contents.iter().map(|digest| (&**digest, &**digest));
        std::iter::once((Self::LOG, &*self.log))
            .chain(pack)
            .chain(contents)
    }
}

/// A workspace as its changes are looked up by.
pub fn changes_place(workspace: &std::path::Path) -> String {
    let hash = blake3::hash(workspace.as_os_str().as_encoded_bytes()).to_hex();
    hash.as_str()[..16].to_owned()
}

/// Lists calls that changed files.
pub trait ChangesIndex: Send + Sync {
    /// Those of a place, newest first, without their large contents.
    fn list(&self, place: &str) -> io::Result<Vec<KeptChanges>>;

    /// A content by its digest. Whoever reads it compares.
    fn open(&self, digest: &str) -> io::Result<Box<dyn KeptResult>>;
}
