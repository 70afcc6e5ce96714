//! What `.gitignore` files say about a tree, read on the way down through the root's handle.
//! The files above the starting folder count too, up to its root; the starting folder itself is
//! never left out, since somebody asked for it by name.

use std::io::Read;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::open::open_if_present;
use super::{Resolved, Workspace};

/// More rules than anyone writes by hand.
const LIMIT: u64 = 1 << 20;

/// The rules in force for a folder, the outermost first.
#[derive(Debug, Clone, Default)]
pub(super) struct Ignored {
    /// A folder seen from the root, and its own rules
    rules: Vec<(PathBuf, Gitignore)>,
}

impl Ignored {
    /// The rules of all folders above and including `place`.
    pub(super) fn above(workspace: &Workspace, place: &Resolved) -> Self {
        let mut ignored = Ignored::default();
        let mut folder = PathBuf::new();
        ignored.add(workspace, place, &folder, ".git/info/exclude");
        ignored.add(workspace, place, &folder, ".gitignore");
        for part in place.relative() {
            folder.push(part);
            ignored.add(workspace, place, &folder, ".gitignore");
        }
        ignored
    }

    /// The same with those of a folder inside, given as seen from the root.
    pub(super) fn inside(&self, workspace: &Workspace, place: &Resolved, folder: &Path) -> Self {
        let mut ignored = Ignored {
            rules: self
                .rules
                .iter()
                .filter(|(above, _)| folder.starts_with(above))
                .cloned()
                .collect(),
        };
        ignored.add(workspace, place, folder, ".gitignore");
        ignored
    }

    /// Whether an entry is to be left out. The path is seen from the root.
    pub(super) fn hides(&self, path: &Path, is_folder: bool) -> bool {
        if is_folder && path.file_name().is_some_and(|name| name == ".git") {
            return true;
        }
        // The innermost rule that says anything has the last word.
        for (_, rules) in self.rules.iter().rev() {
            let found = rules.matched(path, is_folder);
            if !found.is_none() {
                return found.is_ignore();
            }
        }
        false
    }

    fn add(&mut self, workspace: &Workspace, place: &Resolved, folder: &Path, name: &str) {
        let path = folder.join(name);
        // A file that cannot be read, or is none, has no rules.
        let Ok(Some(opened)) = open_if_present(workspace.handle(place), &path, &path) else {
            return;
        };
        let mut text = Vec::new();
        if opened.file.take(LIMIT).read_to_end(&mut text).is_err() {
            return;
        }
        let mut builder = GitignoreBuilder::new(folder);
        for line in String::from_utf8_lossy(&text).lines() {
            // A line that is no pattern says nothing, as with git itself.
            let _ = builder.add_line(None, line);
        }
        if let Ok(rules) = builder.build()
            && !rules.is_empty()
        {
            self.rules.push((folder.to_owned(), rules));
        }
    }
}
