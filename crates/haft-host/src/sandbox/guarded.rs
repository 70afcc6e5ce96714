//! Places that a sandboxed command may not change even where it may write, and places it may
//! not see. The first are files that some program outside runs or obeys later: to write them
//! would be to leave the sandbox with a delay.

use std::path::{Path, PathBuf};

use super::spec::Spec;
use crate::files::{KEY_FILES, KEY_FOLDERS, KEY_PAIRS, PAIRS, START_UP};
use crate::{holds_secrets, is_protected};

/// A place to be kept read-only, and what stands there while nothing else does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Guarded {
    pub(super) path: PathBuf,
    /// The writable place it lies in
    pub(super) root: PathBuf,
    pub(super) if_missing: IfMissing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfMissing {
    /// It cannot become anything dangerous
    Leave,
    /// What appears there is taken away when the command has ended. For a file that counts for
    /// nothing until a person has agreed to it, and that would be in the way as a placeholder
    Unmake,
    /// It may come to be, but not as the command likes: see [`super::newborn`]
    Newborn,
    Folder,
    File(&'static str),
}

/// haft's own config in a workspace.
pub(crate) const PROJECT_CONFIG: &str = "haft.yaml";

/// Files of the system that only root can read, and that no command needs to.
const SYSTEM_KEYS: &[&str] = &[
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/shadow-",
    "/etc/gshadow-",
];

/// Windows into the kernel, of use to nobody here.
const KERNEL: &[&str] = &[
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/kernel/security",
    "/sys/fs/bpf",
    "/sys/firmware",
];

/// Temporary folders, private to the command.
pub(super) const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// What holds the data of people.
const DATA: &[&str] = &["/home", "/root", "/mnt", "/media", "/srv"];

/// Every place to be kept read-only, in this state of the file system. A place comes after those
/// it lies in.
pub(super) fn guarded(spec: &Spec) -> Vec<Guarded> {
    let mut all = Vec::new();
    for root in writable(spec) {
        let mut guard = |path: &str, if_missing| {
            all.push(Guarded {
                path: root.join(path),
                root: root.clone(),
                if_missing,
            });
        };
        // First, so that what a rule closes is not opened again by another reason.
        for (path, if_missing) in spec.closed.guards() {
            if let Ok(inside) = path.strip_prefix(&root)
                && inside != Path::new("")
            {
                guard(&inside.to_string_lossy(), if_missing);
            }
        }
        git(&root, spec.overlay.is_some(), &mut guard);
        if let Ok(inside) = spec.state.strip_prefix(&root) {
            guard(&inside.to_string_lossy(), IfMissing::Folder);
        }
        if root == spec.workspace {
            guard(PROJECT_CONFIG, IfMissing::Unmake);
        }
        for name in entries(&root) {
            if name != ".git" && is_obeyed(&name) {
                guard(&name, IfMissing::Leave);
            }
        }
        for (first, second) in PAIRS {
            guard(&format!("{first}/{second}"), IfMissing::Leave);
        }
        if let Some(home) = spec.home.as_deref()
            && let Ok(inside) = home.strip_prefix(&root)
        {
            for name in START_UP {
                guard(&inside.join(name).to_string_lossy(), IfMissing::File(""));
            }
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all.dedup_by(|a, b| a.path == b.path);
    all
}

/// Where a repository says what to run. A folder that is none yet may become one, but not with
/// such files of the command's making. On trial it is made out of everybody's sight anyway, and
/// looked through afterwards.
fn git(root: &Path, on_trial: bool, guard: &mut impl FnMut(&str, IfMissing)) {
    let git = root.join(".git");
    if super::newborn::may_be_born(root) {
        if !on_trial {
            guard(".git", IfMissing::Newborn);
        }
        return;
    }
    // A pointer to a repository elsewhere, or a folder that is none: nobody's to complete.
    if !git.join("HEAD").exists() {
        return guard(".git", IfMissing::Leave);
    }
    guard(".git/hooks", IfMissing::Folder);
    guard(".git/config", IfMissing::File(""));
    guard(".git/config.worktree", IfMissing::Leave);
    guard(".git/modules", IfMissing::Leave);
    // It could move the whole configuration to another place; `.` leaves it here.
    guard(".git/commondir", IfMissing::File("."));
}

/// Whether some program runs or obeys what has this name. Keys and backups are only asked about:
/// who writes them gains nothing.
fn is_obeyed(name: &str) -> bool {
    let path = Path::new(name);
    is_protected(path).is_some() && holds_secrets(path).is_none() && !name.ends_with('~')
}

fn entries(root: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// The places the command may write to besides temporary ones.
pub(super) fn writable(spec: &Spec) -> Vec<PathBuf> {
    match spec.level {
        super::Level::AirGapped => Vec::new(),
        _ if spec.overlay.is_some() => vec![spec.workspace.clone()],
        _ => {
            let mut all = vec![spec.workspace.clone()];
            all.extend(spec.roots.iter().cloned());
            all
        }
    }
}

/// Every place not to be seen.
pub(super) fn hidden(spec: &Spec) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = KERNEL
        .iter()
        .chain(SYSTEM_KEYS)
        .map(PathBuf::from)
        .collect();
    if let Some(home) = &spec.home {
        let names = KEY_FOLDERS.iter().chain(KEY_FILES);
        all.extend(names.map(|name| home.join(name)));
        let pairs = KEY_PAIRS.iter();
        all.extend(pairs.map(|(first, second)| home.join(first).join(second)));
    }
    all.push(spec.state.clone());
    all
}

/// Folders with people's data, of which an air-gapped command sees none.
pub(super) fn data(spec: &Spec) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = DATA.iter().map(PathBuf::from).collect();
    all.extend(spec.home.clone());
    all.extend(spec.roots.iter().cloned());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What file tools ask about in a home is what commands there can neither write nor read.
    #[test]
    fn files_and_sandbox_protect_the_same_places() {
        let home = tempfile::tempdir().unwrap();
        let mut spec = Spec::example(home.path().to_owned());
        spec.home = Some(home.path().to_owned());
        spec.state = home.path().join(".haft");
        let inside = |path: &Path| path.strip_prefix(home.path()).unwrap().to_owned();
        let guarded: Vec<PathBuf> = guarded(&spec).iter().map(|one| inside(&one.path)).collect();
        for name in START_UP {
            assert!(guarded.contains(&PathBuf::from(name)), "{name}");
        }
        for path in &guarded {
            assert!(is_protected(path).is_some(), "{path:?} is not asked about");
        }
        let hidden = hidden(&spec);
        let keys = KEY_FOLDERS.iter().chain(KEY_FILES).map(PathBuf::from);
        let pairs = KEY_PAIRS
            .iter()
            .map(|(first, second)| Path::new(first).join(second));
        for key in keys.chain(pairs) {
            assert!(hidden.contains(&home.path().join(&key)), "{key:?}");
            assert!(holds_secrets(&key).is_some(), "{key:?} is not asked about");
        }
    }
}
