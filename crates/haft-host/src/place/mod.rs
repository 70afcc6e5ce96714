//! Places beneath a folder: what is there, what is different from before, and putting changes in
//! place all at once. Trials and undo both stand on it.

mod apply;
mod lay;
mod state;
mod stopped;
mod tree;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use state::{Kind, State};

pub(crate) use apply::{JOURNAL, Source, apply, recover};
pub(crate) use lay::{attach, lay_file, lay_link};
pub(crate) use state::{
    Attribute, CAPABILITIES, Moved, SET_ID, attributes, attributes_of, digest, path_bytes,
};
pub(crate) use stopped::Stopped;
pub(crate) use tree::{Tree, names, open_file, open_folder};

/// One place that is different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Seen from the workspace
    #[serde(with = "path_bytes")]
    pub path: PathBuf,
    /// None when it is new
    pub before: Option<State>,
    /// None when it is gone
    pub after: Option<State>,
}

/// How a place is different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Added,
    Changed,
    Deleted,
}

impl Change {
    /// The names of what is attached to it before and after and is not the same.
    pub fn attributes(&self) -> Vec<&str> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else {
            return Vec::new();
        };
        let (before, after) = (&before.attributes, &after.attributes);
        let gone = before.iter().filter(|one| !after.contains(one));
        let new = after.iter().filter(|one| !before.contains(one));
        let mut names: Vec<&str> = gone.chain(new).map(|(name, _)| name.as_str()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// When it would have been changed, in seconds since 1970, where that is all that is new.
    pub fn time(&self) -> Option<i64> {
        let (before, after) = (self.before.as_ref()?, self.after.as_ref()?);
        let content = |state: &State| (state.kind, state.digest);
        let set = content(before) == content(after)
            && after.kind != Kind::Link
            && before.modified() != after.modified();
        set.then(|| after.modified().0)
    }

    pub fn verb(&self) -> Verb {
        match (&self.before, &self.after) {
            (None, _) => Verb::Added,
            (_, None) => Verb::Deleted,
            _ => Verb::Changed,
        }
    }
}
