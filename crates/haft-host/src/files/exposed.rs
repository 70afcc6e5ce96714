//! Whether folders hold keys or passwords, for commands that would read whatever they come upon
//! and from which nothing can be hidden.

use std::fs;
use std::path::{Path, PathBuf};

use crate::holds_secrets;

/// Entries that are looked at before a call waits no longer.
const MOST_ENTRIES: usize = 20_000;

/// The first such file or folder, or the folder that has too many others to tell.
pub(super) fn exposed(folders: &[PathBuf]) -> Option<PathBuf> {
    let mut entries = 0;
    folders.iter().find_map(|root| look(root, &mut entries))
}

fn look(root: &Path, entries: &mut usize) -> Option<PathBuf> {
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        // What cannot be read here cannot be read by a command of ours either.
        let Ok(found) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in found.flatten() {
            *entries += 1;
            if *entries > MOST_ENTRIES {
                return Some(root.to_owned());
            }
            let path = entry.path();
            let names: Vec<_> = path.components().rev().take(2).collect();
            if holds_secrets(&names.into_iter().rev().collect::<PathBuf>()).is_some() {
                return Some(path);
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_however_deep_they_lie() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/open.txt"), "x").unwrap();
        let missing = root.join("missing");
        assert_eq!(exposed(&[missing.clone(), root.clone()]), None);
        fs::write(root.join("a/b/server.pem"), "x").unwrap();
        let key = root.join("a/b/server.pem");
        assert_eq!(exposed(&[missing, root.clone()]), Some(key));
        assert_eq!(exposed(&[root.join("a/b/open.txt")]), None);
    }
}
