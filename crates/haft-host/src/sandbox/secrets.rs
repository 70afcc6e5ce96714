//! What holds secrets, closed to a command that nobody was asked about and that reads whatever it
//! comes upon: who allows `grep` has not agreed to see keys. A name that is spelled out is asked
//! about before.

use std::path::{Path, PathBuf};

use haft_core::{ClosedPaths, ClosedStart, Mode};

use crate::holds_secrets;

/// What rules close, and what holds secrets besides.
#[derive(Debug)]
pub(super) struct WithSecrets<'a> {
    pub(super) rules: Option<&'a dyn ClosedPaths>,
    /// The folders in which it is looked for
    pub(super) roots: &'a [PathBuf],
}

impl WithSecrets<'_> {
    /// Whether this is closed for no other reason.
    pub(super) fn is_secret(&self, path: &Path) -> bool {
        let ruled = |rules: &dyn ClosedPaths| rules.closes(Mode::Read, path);
        self.holds(path) && !self.rules.is_some_and(ruled)
    }

    /// What lies in a folder of keys is not reached: the folder is closed.
    fn holds(&self, path: &Path) -> bool {
        let roots = self.roots.iter();
        let mut inside = roots.filter_map(|root| path.strip_prefix(root).ok());
        inside.any(|inside| {
            let names = inside.components().rev().take(2);
            let last: Vec<_> = names.collect();
            holds_secrets(&last.into_iter().rev().collect::<PathBuf>()).is_some()
        })
    }
}

impl ClosedPaths for WithSecrets<'_> {
    fn closes(&self, mode: Mode, path: &Path) -> bool {
        self.rules.is_some_and(|rules| rules.closes(mode, path))
            || (mode == Mode::Read && self.holds(path))
    }

    fn reaches(&self, mode: Mode, folder: &Path) -> bool {
        let inside = |root: &PathBuf| folder.starts_with(root);
        self.rules.is_some_and(|rules| rules.reaches(mode, folder))
            || (mode == Mode::Read && self.roots.iter().any(inside))
    }

    fn starts(&self, mode: Mode) -> Vec<ClosedStart> {
        self.rules.map_or(Vec::new(), |rules| rules.starts(mode))
    }
}
