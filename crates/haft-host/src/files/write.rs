//! Writing: all or nothing. The new content goes to a file beside the old one, reaches the disk,
//! and then takes its name. Whatever fails on the way leaves the old content, no stray file and
//! no new folder behind.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};
use std::sync::Arc;

use haft_core::{CancelToken, Capability, Power, ToolContext, ToolError};
use rustix::fs::{Access, AtFlags, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use super::change::NewMode;
use super::error::{cancelled, failure, is_directory};
use super::open::{Stamp, expect_regular, open_dir, open_if_present};
use super::read::{TEXT_LIMIT, read_capped};
use super::seen::Version;
use super::{Resolved, Workspace};
use crate::blocking::blocking;
use crate::place::{Attribute, CAPABILITIES, SET_ID, attach, attributes};
use crate::undo::{Lost, Mark, Touch};
use crate::workers::{Bytes, Job, Workers};

/// The power to create and replace files.
#[derive(Debug, Clone)]
pub struct WriteFiles {
    workspace: Arc<Workspace>,
    workers: Option<Workers>,
}

impl Power for WriteFiles {
    const CAPABILITIES: &'static [Capability] = &[Capability::FilesystemWrite];
}

impl WriteFiles {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        WriteFiles {
            workspace,
            workers: None,
        }
    }

    /// Write in these workers, if there are any, and not in this process.
    #[must_use]
    pub fn through(mut self, workers: Option<&Workers>) -> Self {
        self.workers = workers.cloned();
        self
    }

    pub fn resolve(&self, path: &str) -> Result<Resolved, ToolError> {
        let place = self.workspace.resolve_for_writing(path)?;
        match place.relative() == Path::new("") {
            true => Err(is_directory(place.path())),
            false => Ok(place),
        }
    }

    /// Give a file this content, making folders on the way. A conflict if this session has read
    /// another state of it before. The answer is what cannot be put back.
    pub async fn write(
        &self,
        place: &Resolved,
        content: Vec<u8>,
        cx: &ToolContext,
    ) -> Result<Vec<Lost>, ToolError> {
        let Some(workers) = &self.workers else {
            return replace(&self.workspace, place, content, Expected::AsRead, cx).await;
        };
        as_read(&self.workspace, place, &cx.caller.session, &cx.cancel)?;
        let version = Version::Written(blake3::hash(&content));
        let job = Job::Write {
            place: place.clone(),
            content: Bytes(content),
            mark: Mark::of(cx),
        };
        let lost = workers.ask(&job, &cx.cancel, &mut |_| {}).await?;
        let seen = &self.workspace.seen;
        seen.note(&cx.caller.session, place.path(), version);
        Ok(lost)
    }

    /// What the file holds now, for telling what would change. None where there is no file.
    pub async fn present(
        &self,
        place: &Resolved,
        cx: &ToolContext,
    ) -> Result<Option<Vec<u8>>, ToolError> {
        let (place, cancel) = (place.clone(), cx.cancel.clone());
        if let Some(workers) = &self.workers {
            let job = Job::Present { place };
            let present: Option<Bytes> = workers.ask(&job, &cancel, &mut |_| {}).await?;
            return Ok(present.map(|bytes| bytes.0));
        }
        let workspace = self.workspace.clone();
        blocking(move || present_now(&workspace, &place, &cancel)).await
    }
}

/// What a file holds now, waiting for the disk. None where there is no file.
pub(crate) fn present_now(
    workspace: &Workspace,
    place: &Resolved,
    cancel: &CancelToken,
) -> Result<Option<Vec<u8>>, ToolError> {
    let handle = workspace.handle(place);
    let Some(opened) = open_if_present(handle, place.relative(), place.path())? else {
        return Ok(None);
    };
    read_capped(&opened.file, TEXT_LIMIT, cancel)
        .map(Some)
        .map_err(|error| error.told(place, opened.size))
}

/// What must be there for a replacement to go ahead.
#[derive(Debug, Clone, Copy)]
pub(super) enum Expected {
    /// What the session has read, if it has; else anything
    AsRead,
    Anything,
    /// This state of the file, or the answer is a conflict
    State(Stamp),
}

pub(super) async fn replace(
    workspace: &Arc<Workspace>,
    place: &Resolved,
    content: Vec<u8>,
    expected: Expected,
    cx: &ToolContext,
) -> Result<Vec<Lost>, ToolError> {
    let (workspace, place, mark) = (workspace.clone(), place.clone(), Mark::of(cx));
    let (session, cancel) = (cx.caller.session.clone(), cx.cancel.clone());
    blocking(move || {
        let expected = match expected {
            Expected::AsRead => as_read(&workspace, &place, &session, &cancel)?,
            other => other,
        };
        let lost = put(&workspace, &place, &content, expected, mark, &cancel)?;
        let version = Version::Written(blake3::hash(&content));
        workspace.seen.note(&session, place.path(), version);
        Ok(lost)
    })
    .await
}

/// Give a file this content, whatever it holds, waiting for the disk.
pub(crate) fn write_now(
    workspace: &Workspace,
    place: &Resolved,
    content: &[u8],
    mark: Mark,
    cancel: &CancelToken,
) -> Result<Vec<Lost>, ToolError> {
    put(workspace, place, content, Expected::Anything, mark, cancel)
}

fn put(
    workspace: &Workspace,
    place: &Resolved,
    content: &[u8],
    expected: Expected,
    mark: Mark,
    cancel: &CancelToken,
) -> Result<Vec<Lost>, ToolError> {
    let root = workspace.handle(place);
    let work = || replace_now(root, place, content, expected, cancel);
    let (unkept, mut lost) = workspace.kept(mark, &[(place, Touch::Here)], work)?;
    lost.extend(unkept);
    Ok(lost)
}

/// What must be there for what a session has read, and perhaps written since, to be still true. A
/// file that is gone cannot be overwritten.
fn as_read(
    workspace: &Workspace,
    place: &Resolved,
    session: &str,
    cancel: &CancelToken,
) -> Result<Expected, ToolError> {
    let Some(sight) = workspace.seen.last_known(session, place.path()) else {
        return Ok(Expected::Anything);
    };
    let handle = workspace.handle(place);
    let Some(opened) = open_if_present(handle, place.relative(), place.path())? else {
        return Ok(Expected::Anything);
    };
    let content = match sight.is_of_content() {
        true => read_capped(&opened.file, TEXT_LIMIT, cancel)
            .map_err(|error| error.told(place, opened.size))?,
        false => Vec::new(),
    };
    match sight.is_stale(opened.stamp, &content) {
        true => Err(changed(place.path())),
        false => Ok(Expected::State(opened.stamp)),
    }
}

/// The answer is what the new file has no more of the old one.
fn replace_now(
    root: &OwnedFd,
    place: &Resolved,
    content: &[u8],
    expected: Expected,
    cancel: &CancelToken,
) -> Result<Vec<Lost>, ToolError> {
    let told = |error: std::io::Error| failure("write to", place.path(), error);
    let name = place
        .relative()
        .file_name()
        .ok_or_else(|| is_directory(place.path()))?;
    let parent = place.relative().parent().unwrap_or(Path::new(""));
    let mut folders = NewFolders::default();
    let dir = open_or_make(root, parent, &mut folders).map_err(|error| told(error.into()))?;
    let old = present_state(&dir, name, place)?;
    let mut draft = Draft::create(&dir, old.as_ref()).map_err(|error| told(error.into()))?;
    draft.fill(content, cancel).map_err(|error| match error {
        Some(error) => told(error),
        None => cancelled(),
    })?;
    let unkept = draft
        .resemble(attributes(&dir, name), place.path())
        .map_err(|error| told(error.into()))?;
    draft.sync().map_err(told)?;
    if let Expected::State(stamp) = expected {
        match present_state(&dir, name, place)? {
            Some(stat) if Stamp::of(&stat) == stamp => {}
            _ => return Err(changed(place.path())),
        }
    }
    if cancel.is_cancelled() {
        return Err(cancelled());
    }
    draft.take_name(name).map_err(|error| told(error.into()))?;
    folders.keep();
    rustix::fs::fsync(&dir).map_err(|error| told(error.into()))?;
    Ok(unkept)
}

pub(super) fn changed(path: &Path) -> ToolError {
    ToolError::conflict(format!(
        "file changed since it was read: `{}`",
        path.display()
    ))
    .hint("read it again with `file.read`, then change it")
}

/// The file that is to be replaced, if there is one, and we may write to it.
pub(super) fn present_state(
    dir: &OwnedFd,
    name: &OsStr,
    place: &Resolved,
) -> Result<Option<Stat>, ToolError> {
    let told = |error: Errno| failure("write to", place.path(), error);
    let stat = match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(told(error)),
    };
    expect_regular(&stat, place.path())?;
    // Replacing needs only the folder's consent; a read-only file should still refuse.
    rustix::fs::accessat(dir, name, Access::WRITE_OK, AtFlags::EACCESS).map_err(told)?;
    Ok(Some(stat))
}

/// Open a folder beneath the root, making what is missing one step at a time.
pub(super) fn open_or_make(
    root: &OwnedFd,
    folder: &Path,
    made: &mut NewFolders,
) -> Result<OwnedFd, Errno> {
    match open_dir(root, folder) {
        Err(Errno::NOENT) => {}
        other => return other,
    }
    let mut dir = open_dir(root, Path::new(""))?;
    for component in folder.components() {
        let Component::Normal(name) = component else {
            return Err(Errno::INVAL);
        };
        let next = match open_dir(&dir, Path::new(name)) {
            Err(Errno::NOENT) => {
                match rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) => made.push(&dir, name)?,
                    Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
                rustix::fs::fsync(&dir)?;
                open_dir(&dir, Path::new(name))?
            }
            other => other?,
        };
        dir = next;
    }
    Ok(dir)
}

/// Folders made for a file that may never come; gone again unless kept.
#[derive(Default)]
pub(super) struct NewFolders(Vec<(OwnedFd, OsString)>);

impl NewFolders {
    fn push(&mut self, parent: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
        let parent = rustix::io::fcntl_dupfd_cloexec(parent, 0)?;
        self.0.push((parent, name.to_owned()));
        Ok(())
    }

    pub(super) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for (parent, name) in self.0.drain(..).rev() {
            // A folder that someone else has put something into stays.
            let _ = rustix::fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR);
        }
    }
}

/// A name that nobody else has.
pub(super) fn temporary_name() -> Result<OsString, Errno> {
    let random = getrandom::u64().map_err(|_| Errno::IO)?;
    Ok(OsString::from(format!(".haft-{random:016x}.tmp")))
}

/// The new content under a name of its own; gone again unless it takes the real name.
pub(super) struct Draft<'a> {
    dir: &'a OwnedFd,
    name: Option<OsString>,
    pub(super) file: File,
    old: Option<&'a Stat>,
}

impl<'a> Draft<'a> {
    pub(super) fn create(dir: &'a OwnedFd, old: Option<&'a Stat>) -> Result<Self, Errno> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A replaced file's mode is set at the end: until then nobody else may look.
        let mode = Mode::from_raw_mode(if old.is_some() { 0o600 } else { 0o644 });
        let name = temporary_name()?;
        let file = rustix::fs::openat(dir, &name, flags, mode)?;
        Ok(Draft {
            dir,
            name: Some(name),
            file: File::from(file),
            old,
        })
    }

    /// None as an error stands for a cancel.
    pub(super) fn fill(
        &mut self,
        content: &[u8],
        cancel: &CancelToken,
    ) -> Result<(), Option<std::io::Error>> {
        for chunk in content.chunks(1 << 20) {
            if cancel.is_cancelled() {
                return Err(None);
            }
            self.file.write_all(chunk)?;
        }
        Ok(())
    }

    /// Make it like the old file: owner, mode, and what is attached to that. A new content has no
    /// rights of its own. The answer is what is missing.
    pub(super) fn resemble(
        &self,
        mut attached: Vec<Attribute>,
        path: &Path,
    ) -> Result<Vec<Lost>, Errno> {
        let Some(old) = self.old else {
            return Ok(Vec::new());
        };
        let (user, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        let mut unkept = Vec::new();
        // Only root can give a file away; anyone else owns the new one.
        if rustix::fs::fchown(&self.file, Some(user), Some(group)).is_err() {
            unkept.push("its owner: only root can give a file away".to_owned());
        }
        let all = attached.len();
        attached.retain(|(name, _)| name != CAPABILITIES);
        if old.st_mode & SET_ID != 0 || attached.len() < all {
            unkept.push("that it runs with other rights than its user's".to_owned());
        }
        if old.st_nlink > 1 {
            let why = "its other names (hard links), which have the old content still";
            unkept.push(why.to_owned());
        }
        // Before the mode, which would open it to those that the folder has named.
        for name in attach(&self.file, &attached) {
            unkept.push(format!("`{}`", name.escape_debug()));
        }
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(old.st_mode & 0o777))?;
        let lost = |why| Lost {
            path: path.to_owned(),
            why,
            undoable: true,
        };
        Ok(unkept.into_iter().map(lost).collect())
    }

    /// Give it permission bits, where they are not simply those of the old file.
    pub(super) fn set_mode(&self, mode: NewMode) -> Result<(), Errno> {
        let bits = match (mode, self.old) {
            (NewMode::Kept, _) | (NewMode::Executable(false), None) => return Ok(()),
            (NewMode::Bits(bits), _) => bits,
            (NewMode::Executable(executable), Some(old)) => {
                let readable = (old.st_mode & 0o444) >> 2;
                match executable {
                    true => (old.st_mode & 0o777) | readable,
                    false => old.st_mode & 0o666,
                }
            }
            // As for the file itself, what the owner's mask forbids stays forbidden.
            (NewMode::Executable(true), None) => {
                let now = rustix::fs::fstat(&self.file)?.st_mode & 0o777;
                now | ((now & 0o444) >> 2)
            }
        };
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(bits))
    }

    /// Wait until the content has reached the disk.
    pub(super) fn sync(&self) -> std::io::Result<()> {
        self.file.sync_all()
    }

    /// Leave it under its own name, for somebody else to give it another.
    pub(super) fn keep(mut self) -> OsString {
        self.name.take().unwrap_or_default()
    }

    fn take_name(&mut self, name: &OsStr) -> Result<(), Errno> {
        if let Some(draft) = &self.name {
            rustix::fs::renameat(self.dir, draft, self.dir, name)?;
            self.name = None;
        }
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(self.dir, name, AtFlags::empty());
        }
    }
}
