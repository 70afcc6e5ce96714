//! Searching files by what they hold and by their paths, as tools may do it: beneath the
//! workspace and the extra roots only. Files that hold keys are not searched, and haft's own
//! state is neither searched nor listed.

mod content;
mod entries;
mod find;
mod gather;
mod grep;
mod hint;
mod lines;
mod names;
mod order;
mod pattern;
mod queue;
mod report;
mod rules;
mod start;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use haft_core::{CancelToken, Capability, ClosedPaths, Power, ToolContext, ToolError};
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use crate::blocking::blocking;
use crate::files::{Resolved, Workspace, failure, not_regular};
use crate::results::FileResults;

pub use gather::{Kept, Outlet};
pub use grep::Telling;
pub use pattern::Case;
pub use report::{FileMatches, Match};

use find::{Find, Fitting, PathGlob};
use gather::{Destination, Gather, Gathered, SHOWN};
use grep::{Grep, Job};
use names::Names;
use pattern::Pattern;
use walk::{Choice, Met, Unseen, Visitor, Walk};

/// The power to search the content of files.
#[derive(Debug, Clone)]
pub struct SearchText {
    workspace: Arc<Workspace>,
    results: Option<Arc<FileResults>>,
    outlet: Option<Outlet>,
}

impl Power for SearchText {
    const CAPABILITIES: &'static [Capability] = &[Capability::TextSearch];
}

/// The power to find files by their paths.
#[derive(Debug, Clone)]
pub struct FindFiles(Arc<Workspace>);

impl Power for FindFiles {
    const CAPABILITIES: &'static [Capability] = &[Capability::FilesystemList];
}

/// What to search for, and where not to look.
#[derive(Debug, Clone, Default)]
pub struct TextQuery {
    /// In the syntax of the regex crate
    pub pattern: String,
    pub case: Case,
    /// Matches may span lines
    pub multiline: bool,
    /// A glob that file names must fit
    pub include: Option<String>,
    /// A file type as ripgrep names them
    pub file_type: Option<String>,
    pub telling: Telling,
    /// Lines to tell around each match
    pub context: usize,
    /// Leave out what `.gitignore` and `.ignore` files name
    pub ignore: bool,
    /// Search names that start with a dot
    pub hidden: bool,
    /// Matches, or files where only those are told
    pub limit: u64,
}

/// What was found.
#[derive(Debug, Default)]
pub struct TextFound {
    /// In the order of paths, what a folder holds itself before what its folders hold
    pub files: Vec<FileMatches>,
    /// Matches, or files where only those are told; at most the limit
    pub found: u64,
    /// There is more than the limit
    pub more: bool,
    /// All of it as text, where it is more than `files` can hold
    pub kept: Option<Kept>,
    /// All of it went to someone who read along
    pub poured: bool,
    pub notes: Notes,
}

/// What a search did not look at.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Folders and files that could not be opened, seen from where the search began
    pub unreadable: Vec<PathBuf>,
    /// How many of them there were
    pub unreadable_count: usize,
    /// Files and folders left alone because they hold keys
    pub secrets: u64,
    /// Files and folders left out because rules close them
    pub closed: u64,
    /// Files too large for a search across lines, or with endless lines
    pub too_large: u64,
    /// It was told to stop before the end
    pub stopped: bool,
}

/// Files by path, newest first.
#[derive(Debug, Default)]
pub struct FilesFound {
    /// Seen from where the search began
    pub paths: Vec<PathBuf>,
    pub notes: Notes,
}

/// Where a glob looks, resolved.
#[derive(Debug)]
pub struct GlobPlan {
    glob: PathGlob,
    base: Resolved,
    start: Resolved,
}

impl GlobPlan {
    /// The folder that the search was asked for.
    pub fn base(&self) -> &Resolved {
        &self.base
    }

    /// The folder that is really gone through: the part of the pattern without wildcards is taken.
    pub fn start(&self) -> &Resolved {
        &self.start
    }
}

impl SearchText {
    /// Answers too long to be held are kept in `results`.
    pub fn new(workspace: Arc<Workspace>, results: Option<Arc<FileResults>>) -> Self {
        SearchText {
            workspace,
            results,
            outlet: None,
        }
    }

    /// The same, with answers too long to be held going straight to someone who reads along.
    #[must_use]
    pub fn pouring(mut self, outlet: Outlet) -> Self {
        self.outlet = Some(outlet);
        self
    }

    pub fn resolve(&self, path: &str) -> Result<Resolved, ToolError> {
        self.workspace.resolve(path)
    }

    /// Search a folder and all below it, or one file.
    pub async fn search(
        &self,
        base: &Resolved,
        query: TextQuery,
        cx: &ToolContext,
    ) -> Result<TextFound, ToolError> {
        let (power, base, cancel) = (self.clone(), base.clone(), cx.cancel.clone());
        let (session, closed) = (cx.caller.session.clone(), cx.closed.clone());
        blocking(move || power.search_now(&base, &query, &session, &cancel, closed.as_deref()))
            .await
    }

    fn search_now(
        &self,
        base: &Resolved,
        query: &TextQuery,
        session: &str,
        cancel: &CancelToken,
        closed: Option<&dyn ClosedPaths>,
    ) -> Result<TextFound, ToolError> {
        let pattern = Pattern::new(&query.pattern, query.case, query.multiline)?;
        let include = query.include.as_deref().map(Names::fitting).transpose()?;
        let file_type = query.file_type.as_deref().map(Names::of_type).transpose()?;
        let is_folder = is_folder(&self.workspace, base)?;
        let keep = |error: std::io::Error| {
            ToolError::failed(format!("cannot keep the result: {error}")).caused_by(error)
        };
        let destination = match (&self.outlet, &self.results) {
            _ if query.limit <= SHOWN => None,
            (Some(outlet), _) => Some(Destination::Poured(outlet)),
            (None, Some(results)) => Some(Destination::Kept(Box::new(|| results.create(session)))),
            (None, None) => None,
        };
        let gather = Gather::new(query.limit, destination);
        let (secrets, too_large) = (AtomicU64::new(0), AtomicU64::new(0));
        let prefix = shown_prefix(&self.workspace, base, is_folder);
        let job = Job {
            pattern: &pattern,
            include: include.as_ref(),
            file_type: file_type.as_ref(),
            telling: query.telling,
            context: query.context,
            prefix: &prefix,
            gather: &gather,
            cancel,
            secrets: &secrets,
            too_large: &too_large,
        };
        let unseen = if is_folder {
            let choice = Choice {
                ignore: query.ignore,
                hidden: query.hidden,
                sorted: !gather.is_long(),
            };
            let walk = Walk::new(&self.workspace, base, choice, cancel, closed);
            let (threads, unseen) = walk.run(|| Grep::new(&job));
            threads.into_iter().for_each(|mut thread| thread.flush());
            unseen
        } else {
            search_one(&self.workspace, base, &job)?;
            Unseen::default()
        };
        let Gathered {
            files,
            found,
            more,
            kept,
            poured,
        } = gather.finish().map_err(keep)?;
        let mut notes = Notes::of(unseen, cancel);
        notes.secrets = secrets.into_inner();
        notes.too_large = too_large.into_inner();
        Ok(TextFound {
            files,
            found,
            more,
            kept,
            poured,
            notes,
        })
    }
}

impl FindFiles {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        FindFiles(workspace)
    }

    /// Where a pattern leads that is to be looked for in a folder.
    pub fn plan(&self, path: &str, pattern: &str) -> Result<GlobPlan, ToolError> {
        let glob = PathGlob::new(pattern)?;
        let base = self.0.resolve(path)?;
        let start = match glob.folder.as_str() {
            "" => base.clone(),
            folder => {
                let place = base.path().join(folder);
                self.0.resolve(place.to_str().unwrap_or_default())?
            }
        };
        Ok(GlobPlan { glob, base, start })
    }

    /// The files that fit, newest first.
    pub async fn find(
        &self,
        plan: Arc<GlobPlan>,
        ignore: bool,
        hidden: bool,
        cx: &ToolContext,
    ) -> Result<FilesFound, ToolError> {
        let (workspace, cancel) = (self.0.clone(), cx.cancel.clone());
        let closed = cx.closed.clone();
        blocking(move || {
            find_now(
                &workspace,
                &plan,
                ignore,
                hidden,
                &cancel,
                closed.as_deref(),
            )
        })
        .await
    }
}

fn find_now(
    workspace: &Workspace,
    plan: &GlobPlan,
    ignore: bool,
    hidden: bool,
    cancel: &CancelToken,
    closed: Option<&dyn ClosedPaths>,
) -> Result<FilesFound, ToolError> {
    let GlobPlan { glob, base, start } = plan;
    if !is_folder(workspace, base)? {
        return Err(failure("search", base.path(), Errno::NOTDIR));
    }
    // A folder that the pattern names and that is not there holds nothing.
    if start != base && !is_folder(workspace, start).unwrap_or(false) {
        return Ok(FilesFound::default());
    }
    let choice = Choice {
        ignore,
        hidden: hidden || glob.names_hidden(),
        sorted: false,
    };
    let walk = Walk::new(workspace, start, choice, cancel, closed);
    let (threads, unseen) = walk.run(|| Find {
        glob,
        found: Vec::new(),
    });
    let mut found: Vec<Fitting> = threads
        .into_iter()
        .flat_map(|thread| thread.found)
        .collect();
    found.sort_unstable_by(|a, b| {
        b.modified
            .cmp(&a.modified)
            .then_with(|| a.path.cmp(&b.path))
    });
    Ok(FilesFound {
        paths: found.into_iter().map(|file| as_path(file.path)).collect(),
        notes: Notes::of(unseen, cancel),
    })
}

impl Notes {
    fn of(unseen: Unseen, cancel: &CancelToken) -> Self {
        Notes {
            unreadable: unseen.named,
            unreadable_count: unseen.count,
            closed: unseen.closed,
            stopped: cancel.is_cancelled(),
            ..Notes::default()
        }
    }
}

fn as_path(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes).into()
}

/// Whether a search begins in a folder; a file will do too, anything else will not.
fn is_folder(workspace: &Workspace, base: &Resolved) -> Result<bool, ToolError> {
    let relative = match base.relative().as_os_str().is_empty() {
        true => Path::new("."),
        false => base.relative(),
    };
    let told = |error: Errno| failure("search", base.path(), error);
    let handle = workspace.handle(base);
    let stat = rustix::fs::statat(handle, relative, AtFlags::SYMLINK_NOFOLLOW).map_err(told)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Ok(true),
        FileType::RegularFile => Ok(false),
        FileType::Symlink => Err(told(Errno::LOOP)),
        FileType::Fifo => Err(not_regular(base.path(), "named pipe")),
        FileType::Socket => Err(not_regular(base.path(), "socket")),
        _ => Err(not_regular(base.path(), "device")),
    }
}

/// A file that was named is searched whatever its name: whoever may read it was asked before.
fn search_one(workspace: &Workspace, base: &Resolved, job: &Job<'_>) -> Result<(), ToolError> {
    let told = |error: Errno| failure("search", base.path(), error);
    let parent = base.relative().parent().unwrap_or(Path::new(""));
    let folder = crate::files::open_dir(workspace.handle(base), parent).map_err(told)?;
    let name = base.relative().file_name().unwrap_or_default();
    let name = std::ffi::CString::new(name.as_encoded_bytes()).map_err(|_| told(Errno::INVAL))?;
    let mut grep = Grep::new(job);
    grep.file(Met {
        folder: &folder,
        name: &name,
        path: b"",
    })
    .map_err(told)?;
    grep.flush();
    Ok(())
}

/// What stands before a path in a long answer, so that it starts at the workspace.
fn shown_prefix(workspace: &Workspace, base: &Resolved, is_folder: bool) -> String {
    let from_workspace = base.path().strip_prefix(workspace.path());
    let shown = from_workspace.unwrap_or(base.path());
    let mut prefix = shown.to_string_lossy().into_owned();
    if is_folder && !prefix.is_empty() {
        prefix.push('/');
    }
    prefix
}

#[cfg(test)]
mod tests;
