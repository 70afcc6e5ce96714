//! A command tried out: it runs on a layer over the workspace that takes every write, and what
//! it would have changed is kept under an id until somebody puts it in place or drops it.

mod changes;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_core::ToolError;
use rustix::fs::{AtFlags, FlockOperation, flock, linkat, readlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use changes::Link;
#[cfg(test)]
pub(crate) use changes::find;

use crate::place::{
    self, Change, JOURNAL, Kind, Source, State, Tree, attributes, digest, lay_file, lay_link,
    open_file, path_bytes,
};
use crate::sandbox::{OverlayDirs, may_become_repository, sanitize_repository};

/// How long a trial is kept that nobody decides on.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

const RECORD: &str = "trial.json";
const UPPER: &str = "upper";
const WORK: &str = "work";
const LOCK: &str = "lock";
const REPOSITORY: &str = ".git";

/// Where trials are kept: in haft's own state.
#[derive(Debug, Clone)]
pub(crate) struct Trials {
    place: PathBuf,
}

/// A trial that has been run.
#[derive(Debug)]
pub struct Trial {
    pub id: String,
    pub workspace: PathBuf,
    /// Every place that would be different, in order
    pub changes: Vec<Change>,
    /// Pipes, sockets, devices, a new config of haft's, what a new repository would run, and that a
    /// program runs as its owner or with capabilities: they stay behind
    pub left_out: Vec<PathBuf>,
    links: Vec<Link>,
    dir: PathBuf,
    _lock: File,
}

/// A trial about to run.
#[derive(Debug)]
pub(crate) struct Begun {
    id: String,
    dir: PathBuf,
    lock: File,
    at: (i64, i64),
    /// The workspace was none, so that a new one is the command's
    no_repository: bool,
    kept: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    session: String,
    #[serde(with = "path_bytes")]
    workspace: PathBuf,
    changes: Vec<Change>,
    left_out: Vec<String>,
    #[serde(default)]
    links: Vec<Link>,
}

impl Trials {
    /// `state` is haft's own folder.
    pub(crate) fn in_state(state: &Path) -> Self {
        Trials {
            place: state.join("overlays"),
        }
    }

    /// Make room for a trial, and drop those that nobody came for.
    pub(crate) fn begin(&self, workspace: &Path) -> io::Result<Begun> {
        private_folder(&self.place)?;
        self.sweep();
        let mut bytes = [0u8; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let id = format!("{:032x}", u128::from_le_bytes(bytes));
        let dir = self.place.join(&id);
        private_folder(&dir)?;
        private_folder(&dir.join(WORK))?;
        DirBuilder::new().mode(0o755).create(dir.join(UPPER))?;
        let lock = File::create(dir.join(LOCK))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        // By the clock of the file system, which is the one that changes are stamped with.
        let made = lock.metadata()?;
        Ok(Begun {
            id,
            dir,
            lock,
            at: (made.ctime(), made.ctime_nsec()),
            no_repository: may_become_repository(workspace),
            kept: false,
        })
    }

    /// A trial of this session's on this workspace.
    pub(crate) fn load(
        &self,
        id: &str,
        session: &str,
        workspace: &Path,
    ) -> Result<Trial, ToolError> {
        let unknown = || {
            ToolError::input_invalid(format!("no such trial: `{}`", id.escape_debug()))
                .hint("take the `id` that a dry run answered with; it is good once, for a day")
        };
        if id.len() != 32
            || !id
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        {
            return Err(unknown());
        }
        let dir = self.place.join(id);
        let lock = File::open(dir.join(LOCK)).map_err(|_| unknown())?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(ToolError::conflict("this trial is being worked on")
                .hint("wait for the other call"));
        }
        let record = fs::read(dir.join(RECORD)).map_err(|_| unknown())?;
        let record: Record = serde_json::from_slice(&record)
            .map_err(|error| ToolError::failed("the trial's record is broken").caused_by(error))?;
        if record.session != session || record.workspace != workspace {
            return Err(unknown());
        }
        let mut links = record.links;
        changes::in_order(&mut links);
        Ok(Trial {
            id: id.to_owned(),
            workspace: record.workspace,
            changes: record.changes,
            left_out: record.left_out.into_iter().map(PathBuf::from).collect(),
            links,
            dir,
            _lock: lock,
        })
    }

    /// Remove trials that are old and that nobody works on.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.place) else {
            return;
        };
        for entry in entries.flatten() {
            let old = entry
                .metadata()
                .and_then(|found| found.modified())
                .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > KEPT));
            let free = || {
                File::open(entry.path().join(LOCK))
                    .is_ok_and(|lock| flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok())
            };
            // One that was being put in place when its haft died is not thrown away.
            if old && free() && !entry.path().join(JOURNAL).exists() {
                remove(&entry.path());
            }
        }
    }
}

impl Begun {
    pub(crate) fn dirs(&self) -> OverlayDirs {
        OverlayDirs {
            upper: self.dir.join(UPPER),
            work: self.dir.join(WORK),
        }
    }

    /// The command has ended: find out what it changed, and keep that.
    pub(crate) fn conclude(mut self, session: &str, workspace: &Path) -> io::Result<Trial> {
        let upper = Tree::open(&self.dir.join(UPPER))?;
        let lower = Tree::open(workspace)?;
        let dropped = match self.no_repository {
            true => sanitize_repository(&self.dir.join(UPPER).join(REPOSITORY))?,
            false => Vec::new(),
        };
        let mut found = changes::find(upper.root(), lower.root())?;
        let names = dropped.iter().map(|name| name.trim_matches('`'));
        found.left_out.extend(names.map(PathBuf::from));
        for change in &mut found.changes {
            // Somebody else wrote there while the command ran, so what it saw is not known.
            if let Some(before) = &mut change.before
                && before.changed_after(self.at)
            {
                before.forget();
            }
        }
        let record = Record {
            session: session.to_owned(),
            workspace: workspace.to_owned(),
            left_out: found
                .left_out
                .iter()
                .map(|path| path.to_string_lossy().into_owned())
                .collect(),
            changes: found.changes,
            links: found.links,
        };
        fs::write(self.dir.join(RECORD), serde_json::to_vec(&record)?)?;
        self.kept = true;
        Ok(Trial {
            id: self.id.clone(),
            workspace: record.workspace,
            changes: record.changes,
            left_out: found.left_out,
            links: record.links,
            dir: self.dir.clone(),
            _lock: self.lock.try_clone()?,
        })
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if !self.kept {
            remove(&self.dir);
        }
    }
}

impl Trial {
    /// The file that a changed name would be another name of.
    pub fn link_to(&self, change: &Change) -> Option<&Path> {
        changes::link_to(&self.links, change)
    }

    /// Put every change in place, or none. The trial is used up by that.
    pub(crate) fn commit(&self) -> Result<(), ToolError> {
        let broken = |error: io::Error| {
            ToolError::failed(format!("the trial cannot be applied: {error}")).caused_by(error)
        };
        let tree = Tree::open(&self.workspace).map_err(broken)?;
        let upper = Tree::open(&self.dir.join(UPPER)).map_err(broken)?;
        let lower = tree.again().map_err(broken)?;
        let mut upper = Upper::new(upper, lower, &self.links);
        place::apply(tree, &self.dir, &self.changes, &mut upper)
            .map_err(|stopped| stopped.told("the trial", AGAIN))?;
        remove(&self.dir);
        Ok(())
    }

    /// Forget it.
    pub(crate) fn discard(self) -> Result<(), ToolError> {
        Tree::open(&self.workspace)
            .and_then(|tree| place::recover(tree, &self.dir))
            .map_err(|error| {
                ToolError::failed("an interrupted commit cannot be undone").caused_by(error)
            })?;
        remove(&self.dir);
        Ok(())
    }

    /// What a file holds and would hold, up to this many bytes each; none where there is no file
    /// or it is longer.
    pub fn contents(&self, change: &Change, most: u64) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let read = |root: &Path, state: &Option<State>| {
            let state = state.as_ref()?;
            if state.kind != Kind::File || state.size > most {
                return None;
            }
            let mut tree = Tree::open(root).ok()?;
            let (folder, name) = tree.parent(&change.path).ok()?;
            let mut content = Vec::new();
            let file = File::from(open_file(folder, name).ok()?);
            file.take(most + 1).read_to_end(&mut content).ok()?;
            (content.len() as u64 <= most).then_some(content)
        };
        (
            read(&self.workspace, &change.before),
            read(&self.dir.join(UPPER), &change.after),
        )
    }
}

impl Trial {
    /// Where a link would lead that it would make.
    pub fn target(&self, change: &Change) -> Option<PathBuf> {
        change.after.as_ref().filter(|one| one.kind == Kind::Link)?;
        let mut tree = Tree::open(&self.dir.join(UPPER)).ok()?;
        let (folder, name) = tree.parent(&change.path).ok()?;
        let target = readlinkat(folder, name, Vec::new()).ok()?;
        Some(OsStr::from_bytes(target.as_bytes()).into())
    }
}

/// What to do when the workspace is no longer as a trial saw it.
const AGAIN: &str = "run the command again to see what it does now";

/// The layer that took a trial's writes.
pub(crate) struct Upper<'a> {
    upper: Tree,
    /// The workspace beneath it
    lower: Tree,
    links: &'a [Link],
    /// What lies beside already, by its place
    laid: HashMap<PathBuf, String>,
}

impl<'a> Upper<'a> {
    pub(crate) fn new(upper: Tree, lower: Tree, links: &'a [Link]) -> Self {
        Upper {
            upper,
            lower,
            links,
            laid: HashMap::new(),
        }
    }

    /// Another name of a file that lies beside already, or that is in the workspace as the trial
    /// saw it. Anything else there is a conflict.
    fn lay_link_to(
        &mut self,
        of: &Path,
        after: &State,
        to: &OwnedFd,
        name: &str,
    ) -> io::Result<()> {
        if let Some(laid) = self.laid.get(of) {
            return linkat(to, laid.as_str(), to, name, AtFlags::empty()).map_err(io::Error::from);
        }
        let (folder, other) = self.lower.parent(of)?;
        linkat(folder, other, to, name, AtFlags::empty())?;
        let name = OsStr::new(name);
        let now = State::at(to, name)?;
        let same = now.is_some_and(|now| {
            (now.kind, now.mode) == (after.kind, after.mode)
                && digest(to, name, now.kind).ok() == after.digest
                && attributes(to, name) == after.attributes
        });
        match same {
            true => Ok(()),
            false => Err(Errno::EXIST.into()),
        }
    }
}

impl Source for Upper<'_> {
    fn lay(&mut self, _: usize, change: &Change, to: &OwnedFd, name: &str) -> io::Result<()> {
        let Some(after) = &change.after else {
            return Ok(());
        };
        if let Some(of) = changes::link_to(self.links, change) {
            return self.lay_link_to(of, after, to, name);
        }
        if after.links > 1 {
            self.laid.insert(change.path.clone(), name.to_owned());
        }
        let (folder, own_name) = self.upper.parent(&change.path)?;
        if after.kind == Kind::Link {
            let target = readlinkat(folder, own_name, Vec::new())?;
            return lay_link(target.as_bytes(), to, name);
        }
        let mut file = File::from(open_file(folder, own_name)?);
        lay_file(&mut file, after, to, name)
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Remove a trial's folder. The command may have left folders in it that not even their owner
/// may look into.
fn remove(dir: &Path) {
    if fs::remove_dir_all(dir).is_ok() {
        return;
    }
    open_up(dir);
    // What still resists is swept later.
    let _ = fs::remove_dir_all(dir);
}

fn open_up(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(dir, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}
