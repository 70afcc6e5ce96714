//! Follows a path the way the kernel would, link by link, without opening anything. What comes
//! out is only a plan: the opening that follows goes through a directory handle and refuses
//! links, so a path that is swapped in between is caught there.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// Why a walk ended early, and where it stood.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) at: PathBuf,
    pub(super) why: Why,
    rest: VecDeque<Step>,
}

/// What to do with links that name an open file or a process's root rather than a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MagicLinks {
    Refuse,
    Follow,
}

#[derive(Debug)]
pub(super) enum Why {
    /// `..` after a name that does not exist
    Missing,
    NotDirectory,
    TooManyLinks,
    MagicLink,
    /// A link that was none any more a moment later
    Swapped,
    Io(io::Error),
}

#[derive(Debug)]
enum Step {
    Up,
    Into(OsString),
}

/// The real path behind `path`, which is taken relative to `start`, itself a real path. Names
/// that do not exist yet stay as they are.
pub(super) fn real_path(start: &Path, path: &Path) -> Result<PathBuf, Stopped> {
    walk(start, path, MagicLinks::Refuse)
}

/// Where a path leads as far as can be seen, for judging what someone else will do with it. The
/// part behind an obstacle is taken by its letters.
pub(super) fn likely_path(start: &Path, path: &Path) -> PathBuf {
    walk(start, path, MagicLinks::Follow).unwrap_or_else(|stopped| {
        let mut at = stopped.at;
        for step in stopped.rest {
            match step {
                Step::Into(name) => at.push(name),
                Step::Up => {
                    at.pop();
                }
            }
        }
        at
    })
}

fn walk(start: &Path, path: &Path, magic_links: MagicLinks) -> Result<PathBuf, Stopped> {
    let mut at = start.to_owned();
    let mut steps = VecDeque::new();
    enter(path, &mut at, &mut steps);
    let mut links = 0;
    while let Some(step) = steps.pop_front() {
        let name = match step {
            Step::Up => {
                at.pop();
                continue;
            }
            Step::Into(name) => name,
        };
        at.push(name);
        let metadata = match std::fs::symlink_metadata(&at) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return append(at, steps),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(stop(at, Why::NotDirectory, steps));
            }
            Err(error) => return Err(stop(at, Why::Io(error), steps)),
        };
        if metadata.is_symlink() {
            links += 1;
            if links > MAX_LINKS {
                return Err(stop(at, Why::TooManyLinks, steps));
            }
            let link = match read_link(&at, magic_links) {
                Ok(link) => link,
                Err(why) => return Err(stop(at, why, steps)),
            };
            at.pop();
            enter(&link, &mut at, &mut steps);
        } else if !metadata.is_dir() && !steps.is_empty() {
            return Err(stop(at, Why::NotDirectory, steps));
        }
    }
    Ok(at)
}

/// Put the parts of `path` before the steps still to take.
fn enter(path: &Path, at: &mut PathBuf, steps: &mut VecDeque<Step>) {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::RootDir => *at = PathBuf::from("/"),
            Component::ParentDir => parts.push(Step::Up),
            Component::Normal(name) => parts.push(Step::Into(name.to_owned())),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    for part in parts.into_iter().rev() {
        steps.push_front(part);
    }
}

fn append(mut at: PathBuf, mut steps: VecDeque<Step>) -> Result<PathBuf, Stopped> {
    while let Some(step) = steps.pop_front() {
        match step {
            Step::Into(name) => at.push(name),
            Step::Up => {
                steps.push_front(Step::Up);
                return Err(stop(at, Why::Missing, steps));
            }
        }
    }
    Ok(at)
}

fn read_link(link: &Path, magic_links: MagicLinks) -> Result<PathBuf, Why> {
    if magic_links == MagicLinks::Refuse {
        let parent = link.parent().unwrap_or(Path::new("/"));
        let file_system = rustix::fs::statfs(parent).map_err(|error| Why::Io(error.into()))?;
        if file_system.f_type == rustix::fs::PROC_SUPER_MAGIC {
            return Err(Why::MagicLink);
        }
    }
    std::fs::read_link(link).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => Why::Swapped,
        _ => Why::Io(error),
    })
}

fn stop(at: PathBuf, why: Why, rest: VecDeque<Step>) -> Stopped {
    Stopped { at, why, rest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn paths_lead_where_the_kernel_would_go() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/f"), "").unwrap();
        symlink("a/b", root.join("rel")).unwrap();
        symlink(root.join("a"), root.join("abs")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("nowhere/x", root.join("dangling")).unwrap();
        symlink("/proc/self/root", root.join("magic")).unwrap();
        let check = |path: &str, expected: &str| {
            let shown = match real_path(&root, Path::new(path)) {
                Ok(real) => real
                    .strip_prefix(&root)
                    .unwrap_or(&real)
                    .display()
                    .to_string(),
                Err(stopped) => format!("{:?}", stopped.why),
            };
            assert_eq!(shown, expected, "{path}");
        };
        check("a/f", "a/f");
        check("./a//./f", "a/f");
        check("rel/../f", "a/f");
        check("abs/b/../f", "a/f");
        check("new/deep/file", "new/deep/file");
        check("new/../a", "Missing");
        check("dangling", "nowhere/x");
        check("a/f/g", "NotDirectory");
        check("a/f/..", "NotDirectory");
        check("loop", "TooManyLinks");
        check("magic/etc", "MagicLink");
        check("/../../etc", "/etc");
        check(".", "");
        let likely = |path: &str| likely_path(&root, Path::new(path));
        assert_eq!(likely("magic/etc"), Path::new("/etc"));
        assert_eq!(likely("new/../a/f"), root.join("a/f"));
        assert_eq!(likely("a/f/../x"), root.join("a/x"));
        assert_eq!(likely("rel/x"), root.join("a/b/x"));
    }
}
