//! The way from a writable folder to a guarded place. Every link on it says where the place is,
//! so each must stay as it is.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The kernel follows no more links than this either.
const MOST_LINKS: usize = 40;

/// Every link on the way to `path`, and at last the place itself if it is there: those that lie
/// in `root`, each as a path without links before its last name.
pub(super) fn trail(root: &Path, path: &Path) -> Vec<PathBuf> {
    let Ok(inside) = path.strip_prefix(root) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut at = root.to_owned();
    let mut left: VecDeque<OsString> = names(inside);
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(&name);
        let Ok(there) = fs::symlink_metadata(&at) else {
            return found;
        };
        if !there.is_symlink() {
            continue;
        }
        links += 1;
        let Ok(target) = fs::read_link(&at) else {
            return found;
        };
        if at.starts_with(root) {
            found.push(at.clone());
        }
        if links > MOST_LINKS {
            return found;
        }
        at.pop();
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        for name in names(&target).into_iter().rev() {
            left.push_front(name);
        }
    }
    if at.starts_with(root) && at != root {
        found.push(at);
    }
    found
}

fn names(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_link_on_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/deep")).unwrap();
        fs::write(root.join("real/deep/rc"), "").unwrap();
        symlink("real", root.join("dots")).unwrap();
        symlink("dots/./deep/../deep/rc", root.join(".rc")).unwrap();
        symlink(root.join(".rc"), root.join("again")).unwrap();
        symlink("/etc/passwd", root.join("out")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let check = |path: &str, expected: &[&str]| {
            let found = trail(&root, &root.join(path));
            let found: Vec<_> = found
                .iter()
                .map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap())
                .collect();
            assert_eq!(found, expected, "{path}");
        };
        check("real/deep/rc", &["real/deep/rc"]);
        check(".rc", &[".rc", "dots", "real/deep/rc"]);
        check("again", &["again", ".rc", "dots", "real/deep/rc"]);
        check("out", &["out"]);
        check("missing", &[]);
        check("real/missing", &[]);
        assert_eq!(trail(&root, &root.join("loop")).len(), MOST_LINKS + 1);
        assert!(trail(&root, Path::new("/etc")).is_empty());
    }
}
