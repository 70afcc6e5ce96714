//! A repository that a sandboxed command makes. A folder that is none yet may become one, but
//! the files in which a repository says what to run are not the command's to write. So the
//! command finds a folder of haft's in the place of `.git`, outside of everybody's sight; when
//! it has ended, what may run something is taken out, and only then the rest goes to its place.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, openat, renameat_with};

use super::git_config;

/// Where in haft's state such folders are kept while a command runs.
const NURSERY: &str = "newborn";

/// Top-level names that lead git to settings elsewhere.
const LEADS_AWAY: [&str; 3] = ["commondir", "config.worktree", "gitdir"];

/// More folders within each other than git makes.
const DEEPEST: usize = 64;

/// One that may come to be.
#[derive(Debug)]
pub(super) struct Newborn {
    /// Where it is to go: the `.git` of a writable folder
    pub(super) place: PathBuf,
    /// Where it is made
    pub(super) folder: PathBuf,
    /// While this is held, nobody takes the folder for a leftover
    _lock: OwnedFd,
}

/// Make room for one.
pub(super) fn expect(state: &Path, place: &Path) -> io::Result<Newborn> {
    let nursery = state.join(NURSERY);
    for _ in 0..100 {
        private_folder(&nursery)?;
        sweep(&nursery);
        let random = getrandom::u64().map_err(io::Error::other)?;
        let folder = nursery.join(format!("{random:016x}"));
        match fs::DirBuilder::new().mode(0o755).create(&folder) {
            Ok(()) => {}
            // Somebody took the empty nursery away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        }
        let Ok(lock) = lock(&folder, FlockOperation::NonBlockingLockShared) else {
            continue;
        };
        // Swept away before it was locked.
        if folder.is_dir() {
            return Ok(Newborn {
                place: place.to_owned(),
                folder,
                _lock: lock,
            });
        }
    }
    Err(io::Error::other(format!(
        "`{}` comes and goes",
        nursery.display()
    )))
}

impl Newborn {
    /// The command has ended: put what it made in its place. Says what was left out.
    pub(super) fn settle(self) -> Vec<String> {
        let told = self
            .bring()
            .unwrap_or_else(|error| vec![format!("the new `.git` could not be kept: {error}")]);
        remove(&self.folder);
        if let Some(nursery) = self.folder.parent() {
            // Stays while others have something in it.
            let _ = fs::remove_dir(nursery);
        }
        told
    }

    fn bring(&self) -> io::Result<Vec<String>> {
        if names(&self.folder)?.is_empty() {
            return Ok(Vec::new());
        }
        if !is_repository(&self.folder) {
            return Ok(vec![NO_REPOSITORY.to_owned()]);
        }
        let mut dropped = clean(&self.folder)?;
        if !self.publish()? {
            return Ok(vec![
                "the new repository was not kept: another one has come to be here".to_owned(),
            ]);
        }
        for name in &mut dropped {
            *name = format!("left out of the new repository: {name}");
        }
        Ok(dropped)
    }

    /// The objects first, so that only one of two can win, and last what makes it a repository.
    fn publish(&self) -> io::Result<bool> {
        let mut names = names(&self.folder)?;
        names.sort_by_key(|name| match name.as_str() {
            "objects" => 0,
            "HEAD" => 2,
            _ => 1,
        });
        let mode = fs::metadata(&self.folder)?.permissions().mode();
        fs::set_permissions(
            &self.place,
            fs::Permissions::from_mode(mode & 0o755 | 0o700),
        )?;
        for (done, name) in names.iter().enumerate() {
            match carry(&self.folder.join(name), &self.place.join(name)) {
                Ok(()) => {}
                Err(error) if done == 0 && error.kind() == io::ErrorKind::AlreadyExists => {
                    return Ok(false);
                }
                Err(error) => {
                    for name in names.iter().take(done) {
                        remove(&self.place.join(name));
                    }
                    return Err(error);
                }
            }
        }
        Ok(true)
    }
}

const NO_REPOSITORY: &str = "`.git` was not kept: it is no repository";

fn is_repository(git: &Path) -> bool {
    is_real(git, fs::Metadata::is_dir)
        && is_real(&git.join("HEAD"), fs::Metadata::is_file)
        && is_real(&git.join("objects"), fs::Metadata::is_dir)
        && is_real(&git.join("refs"), fs::Metadata::is_dir)
}

/// Whether a folder is no repository, so that a command may make it one.
pub(crate) fn may_be_born(folder: &Path) -> bool {
    let git = folder.join(".git");
    git.symlink_metadata().is_err() || super::placeholder::stands_at(&git)
}

/// Make a `.git` harmless that a command has made where nobody else sees it. The names of what was
/// left out, if need be of all of it.
pub(crate) fn sanitize(git: &Path) -> io::Result<Vec<String>> {
    if fs::symlink_metadata(git).is_err() {
        return Ok(Vec::new());
    }
    if is_repository(git) {
        return clean(git);
    }
    remove(git);
    match fs::symlink_metadata(git) {
        Ok(_) => Err(io::Error::other("`.git` cannot be removed")),
        Err(_) => Ok(vec!["`.git`".to_owned()]),
    }
}

/// Take out what git would run or obey, and all that is neither file nor folder. The names of
/// what was taken.
fn clean(git: &Path) -> io::Result<Vec<String>> {
    let mut dropped = Vec::new();
    let mut folders = vec![(git.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for name in all_names(&folder)? {
            let path = folder.join(&name);
            let found = fs::symlink_metadata(&path)?;
            let ours = name.to_str().map(str::to_ascii_lowercase);
            let plain = found.is_file() || (found.is_dir() && depth < DEEPEST);
            let top = |names: &[&str]| {
                depth == 0 && ours.as_deref().is_some_and(|name| names.contains(&name))
            };
            let hook = top_folder(git, &folder).is_some_and(|top| top == "hooks")
                && !ours
                    .as_deref()
                    .is_some_and(|name| name.ends_with(".sample"));
            if !plain || ours.is_none() || hook || top(&LEADS_AWAY) {
                remove(&path);
                if fs::symlink_metadata(&path).is_ok() {
                    return Err(io::Error::other("it cannot be cleaned"));
                }
                dropped.push(shown(git, &path));
            } else if found.is_dir() {
                folders.push((path, depth + 1));
            } else if top(&["config"]) {
                let sifted = git_config::sift(&String::from_utf8_lossy(&fs::read(&path)?));
                fs::write(&path, &sifted.kept)?;
                dropped.extend(sifted.dropped);
            }
        }
    }
    Ok(dropped)
}

/// The first name on the way from the repository to this folder, as no case would hide it.
fn top_folder(git: &Path, folder: &Path) -> Option<String> {
    let first = folder.strip_prefix(git).ok()?.components().next()?;
    Some(first.as_os_str().to_str()?.to_ascii_lowercase())
}

fn shown(git: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(git).unwrap_or(path);
    let text = format!(".git/{}", inside.display());
    format!("`{}`", text.escape_debug())
}

/// Move something to a name that is free; copy it where a move is impossible.
fn carry(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => return Ok(()),
        Err(rustix::io::Errno::XDEV | rustix::io::Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    let mut waiting = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = waiting.pop() {
        if fs::symlink_metadata(&from)?.is_dir() {
            fs::DirBuilder::new().mode(0o755).create(&to)?;
            for name in all_names(&from)? {
                waiting.push((from.join(&name), to.join(&name)));
            }
        } else {
            let mut target = fs::File::create_new(&to)?;
            io::copy(&mut fs::File::open(&from)?, &mut target)?;
            target.set_permissions(fs::metadata(&from)?.permissions())?;
        }
    }
    Ok(())
}

fn is_real(path: &Path, kind: fn(&fs::Metadata) -> bool) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| kind(&found))
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let all = all_names(folder)?;
    Ok(all
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .collect())
}

fn all_names(folder: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect()
}

fn remove(path: &Path) {
    let is_folder = is_real(path, fs::Metadata::is_dir);
    let _ = if is_folder {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
}

/// Remove what launchers that were killed have left.
fn sweep(nursery: &Path) {
    for name in names(nursery).unwrap_or_default() {
        let folder = nursery.join(name);
        if let Ok(_free) = lock(&folder, FlockOperation::NonBlockingLockExclusive) {
            remove(&folder);
        }
    }
}

fn lock(folder: &Path, how: FlockOperation) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(CWD, folder, flags, Mode::empty())?;
    flock(&handle, how)?;
    Ok(handle)
}

fn private_folder(path: &Path) -> io::Result<()> {
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    match made {
        Ok(()) => Ok(()),
        Err(_) if path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(folder: &Path) {
        for name in ["objects/pack", "refs/heads", "hooks", "info"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        for (name, text) in [
            ("HEAD", "ref: refs/heads/main\n"),
            ("config", "[core]\n\tbare = false\n\thooksPath = x\n"),
            ("config.worktree", "[core]\n\tfsmonitor = x\n"),
            ("commondir", "../evil"),
            ("hooks/pre-commit", "evil"),
            ("hooks/pre-push.sample", "# text"),
            ("info/exclude", ""),
        ] {
            fs::write(folder.join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", folder.join("info/link")).unwrap();
    }

    #[test]
    fn what_could_run_is_taken_out_before_anybody_sees_it() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join(".git");
        fs::create_dir(&place).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o555)).unwrap();
        let newborn = expect(&dir.path().join("state"), &place).unwrap();
        repository(&newborn.folder);
        let mut told = newborn.settle();
        told.sort();
        let left_out = |name: &str| format!("left out of the new repository: `{name}`");
        let expected = [
            ".git/commondir",
            ".git/config.worktree",
            ".git/hooks/pre-commit",
            ".git/info/link",
            "core.hookspath",
        ];
        assert_eq!(told, expected.map(left_out));
        let config = fs::read_to_string(place.join("config")).unwrap();
        assert_eq!(config, "[core]\n\tbare = \"false\"\n");
        assert!(place.join("hooks/pre-push.sample").is_file());
        assert!(!place.join("hooks/pre-commit").exists());
        assert!(!dir.path().join("state").join(NURSERY).exists());
    }

    #[test]
    fn what_is_no_repository_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join(".git");
        fs::create_dir(&place).unwrap();
        let newborn = expect(dir.path(), &place).unwrap();
        fs::create_dir(newborn.folder.join("hooks")).unwrap();
        fs::write(newborn.folder.join("hooks/pre-commit"), "evil").unwrap();
        assert_eq!(
            newborn.settle(),
            ["`.git` was not kept: it is no repository"]
        );
        assert!(names(&place).unwrap().is_empty());
        assert!(expect(dir.path(), &place).unwrap().settle().is_empty());
    }

    #[test]
    fn the_first_of_two_stays() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join(".git");
        fs::create_dir(&place).unwrap();
        let (first, second) = (
            expect(dir.path(), &place).unwrap(),
            expect(dir.path(), &place).unwrap(),
        );
        repository(&first.folder);
        repository(&second.folder);
        fs::write(second.folder.join("HEAD"), "ref: refs/heads/other\n").unwrap();
        first.settle();
        assert_eq!(
            second.settle(),
            ["the new repository was not kept: another one has come to be here"]
        );
        let head = fs::read_to_string(place.join("HEAD")).unwrap();
        assert_eq!(head, "ref: refs/heads/main\n");
    }

    #[test]
    fn leftovers_are_swept_away_and_what_is_in_use_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join(".git");
        let left = dir.path().join(NURSERY).join("0123");
        fs::create_dir_all(left.join("deep")).unwrap();
        let first = expect(dir.path(), &place).unwrap();
        assert!(!left.exists());
        let second = expect(dir.path(), &place).unwrap();
        assert!(first.folder.is_dir() && second.folder.is_dir());
    }
}
