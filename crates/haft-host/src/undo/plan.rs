//! What an undo would do: which calls are meant, and whether everything still is as they left it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use haft_core::{KeptChanges, ToolError};
use rustix::fs::{AtFlags, statat};

use super::conclude::is_same;
use super::log::{self, Lost};
use super::names::is_still;
use super::pack::Packed;
use super::restore::{LOOK, folder_again, unreadable};
use super::{Checkpoint, Checkpoints, Stored};
use crate::place::{Change, Kind, State, Tree, attributes, digest};

/// Conflicts that are named in one answer.
const NAMED: usize = 10;

/// Whose changes are to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The last call that changed files in this workspace
    Last,
    /// The call with this id
    Call(String),
    /// Every call of this session that has not been put back
    Session(String),
}

/// A call in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub call: String,
    pub session: String,
    pub tool: String,
    /// Milliseconds since 1970
    pub at_ms: u64,
    /// Places that it changed
    pub changes: usize,
    /// Another call has put it back since
    pub undone: bool,
}

/// One place that is to be as it was.
#[derive(Debug, Clone)]
pub struct Back {
    pub(super) root: usize,
    pub(super) change: Change,
    pub(super) content: Content,
    /// Another name of the same file, which has it still
    pub(super) shares: Option<PathBuf>,
}

/// Where the content of before is.
#[derive(Debug, Clone)]
pub(super) enum Content {
    None,
    /// In a file of its own, kept for this call
    Large(String, [u8; 32]),
    /// In the pack of this call, which has this digest
    Packed(String, String, Packed, [u8; 32]),
    /// In the workspace, under another name
    Lies(usize, PathBuf),
}

impl Back {
    /// Which root, and where in it.
    pub fn place(&self) -> (usize, &Path) {
        (self.root, &self.change.path)
    }

    /// What happens to it.
    pub fn change(&self) -> &Change {
        &self.change
    }
}

/// Everything that is to be put back, looked over and not yet done.
#[derive(Debug)]
pub struct UndoPlan {
    /// Newest first
    pub calls: Vec<Summary>,
    pub back: Vec<Back>,
    /// What cannot be put back, by absolute paths
    pub lost: Vec<Lost>,
    /// The haft of one of the calls died; what is there now was taken for its work
    pub interrupted: bool,
    pub(super) ids: Vec<String>,
}

/// What is known of one place over all calls.
struct Span {
    newest_after: Option<State>,
    oldest_before: Option<State>,
    content: Content,
    lost: Option<String>,
    linked: bool,
    shares: Option<PathBuf>,
}

impl Checkpoints {
    /// The last calls that changed files in this workspace, newest first.
    pub(crate) fn summaries(
        &self,
        workspace: &Path,
        most: usize,
    ) -> Result<Vec<Summary>, ToolError> {
        let mut found = Vec::new();
        let mut undone: Vec<String> = Vec::new();
        for stored in self.list(workspace).map_err(unreadable)? {
            if found.len() == most {
                break;
            }
            let entry = match stored {
                Stored::Over(entry) => entry,
                Stored::Begun(draft, _) => match self.close(&draft) {
                    Ok(Some(entry)) => entry,
                    _ => continue,
                },
            };
            let is_undone = undone.contains(&entry.id);
            found.push(summary(&entry, is_undone));
            if !is_undone {
                undone.extend(entry.undoes);
            }
        }
        Ok(found)
    }

    /// Look over what an undo would do. The roots are those that are open now.
    pub(crate) fn plan(
        &self,
        which: &Which,
        roots: &[(PathBuf, OwnedFd)],
    ) -> Result<UndoPlan, ToolError> {
        let workspace = roots.first().map_or(Path::new(""), |(path, _)| path);
        self.recover(roots)?;
        let meant = self.meant(which, workspace)?;
        let calls = meant.iter().map(|one| summary(&one.entry, false)).collect();
        let ids = meant.iter().map(|one| one.entry.id.clone()).collect();
        let interrupted = meant.iter().any(|one| one.interrupted);
        let mut lost = Vec::new();
        let mut back = Vec::new();
        let mut linked = Vec::new();
        let mut conflicts = Vec::new();
        let mut trees = Trees::new(roots).map_err(unreadable)?;
        for ((root, path), span) in spans(&meant, roots, &mut conflicts)? {
            let absolute = || roots[root].0.join(&path);
            let now = trees.state(root, &path).map_err(unreadable)?;
            if is_same(span.oldest_before.as_ref(), now.as_ref()) {
                continue;
            }
            if let Some(why) = span.lost {
                lost.push(Lost::for_good(absolute(), why));
                continue;
            }
            if !is_same(span.newest_after.as_ref(), now.as_ref()) {
                conflicts.push(absolute());
                continue;
            }
            let before = span.oldest_before.as_ref();
            let shares = match (&span.shares, before) {
                (Some(other), Some(before)) => {
                    let other = trees.state(root, other).map_err(unreadable)?;
                    other.is_some_and(|other| is_still(before, &other))
                }
                _ => true,
            };
            if span.linked || !shares {
                linked.push(absolute());
            }
            if let Some(why) = before.and_then(State::not_ours_to_give) {
                lost.push(Lost::for_good(absolute(), why));
            }
            back.push(Back {
                root,
                change: Change {
                    path,
                    before: now,
                    after: span.oldest_before,
                },
                content: span.content,
                shares: span.shares.filter(|_| shares),
            });
        }
        if !conflicts.is_empty() {
            return Err(changed_since(&conflicts));
        }
        back.sort_by(|a, b| a.place().cmp(&b.place()));
        linked.sort();
        lost.extend(log::told_links(linked.into_iter()));
        Ok(UndoPlan {
            calls,
            back,
            lost,
            interrupted,
            ids,
        })
    }

    /// The calls that are meant, newest first.
    fn meant(&self, which: &Which, workspace: &Path) -> Result<Vec<Checkpoint>, ToolError> {
        let mut found = Vec::new();
        let mut undone: Vec<String> = Vec::new();
        let all = self.list(workspace).map_err(unreadable)?;
        let put_back = put_back(&all);
        let mut spent = None;
        for stored in all {
            let (call, session) = stored.mark();
            let fits = match which {
                Which::Last => true,
                Which::Call(meant) => call == meant,
                Which::Session(meant) => session == meant,
            };
            if !fits {
                continue;
            }
            // Callers choose ids, and may use one again: the newest that is still there is meant.
            if matches!(which, Which::Call(_)) && put_back.iter().any(|id| id == stored.id()) {
                spent.get_or_insert(stored);
                continue;
            }
            let log = self.draft(stored.id().to_owned()).log();
            let Some(checkpoint) = self.load(stored).map_err(unreadable)? else {
                if log.exists() && *which != Which::Last {
                    return Err(ToolError::conflict("the call is still at work")
                        .hint("wait for its end, or end it with `process.kill`"));
                }
                continue;
            };
            if !matches!(which, Which::Session(_)) {
                return Ok(vec![checkpoint]);
            }
            // An undo and what it put back cancel each other out.
            if undone.contains(&checkpoint.entry.id) {
                continue;
            }
            if checkpoint.entry.undoes.is_empty() {
                found.push(checkpoint);
            } else {
                undone.extend(checkpoint.entry.undoes);
            }
        }
        if let Some(stored) = spent {
            found.extend(self.load(stored).map_err(unreadable)?);
        }
        match found.is_empty() {
            true => Err(nothing(which)),
            false => Ok(found),
        }
    }
}

/// Calls whose changes were put back, and not made again since. Newest first.
fn put_back(all: &[Stored]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for stored in all {
        if let Stored::Over(entry) = stored
            && !ids.contains(&entry.id)
        {
            ids.extend(entry.undoes.iter().cloned());
        }
    }
    ids
}

/// Join the changes of several calls, newest first, into one span a place.
fn spans(
    meant: &[Checkpoint],
    roots: &[(PathBuf, OwnedFd)],
    conflicts: &mut Vec<PathBuf>,
) -> Result<HashMap<(usize, PathBuf), Span>, ToolError> {
    let mut spans: HashMap<(usize, PathBuf), Span> = HashMap::new();
    for checkpoint in meant {
        let open = checkpoint.open_roots(roots);
        for done in &checkpoint.changes {
            let root = open.get(done.root).copied().flatten().ok_or_else(|| {
                ToolError::not_available("the call changed files in a place that is closed now")
                    .hint("a person can open it again with `files.roots` in the config")
            })?;
            let lies = done.lies.as_ref().and_then(|(root, path)| {
                let root = open.get(*root).copied().flatten()?;
                Some(Content::Lies(root, path.0.clone()))
            });
            let before = &done.change.before;
            let kept = before.as_ref().and_then(|state| state.digest);
            let (id, pack) = (&checkpoint.entry.id, &checkpoint.entry.pack);
            let kept = kept.map(|digest| match done.packed {
                Some(packed) => {
                    let pack = pack.clone().unwrap_or_default();
                    Content::Packed(id.clone(), pack, packed, digest)
                }
                None => Content::Large(id.clone(), digest),
            });
            let content = lies.or(kept).unwrap_or(Content::None);
            let key = (root, done.change.path.clone());
            match spans.get_mut(&key) {
                None => {
                    spans.insert(
                        key,
                        Span {
                            newest_after: done.change.after.clone(),
                            oldest_before: before.clone(),
                            content,
                            lost: done.lost.clone(),
                            linked: done.linked,
                            shares: done.shares.as_ref().map(|path| path.0.clone()),
                        },
                    );
                }
                Some(span) => {
                    // Somebody else was there between the two calls: that would be lost.
                    if !is_same(done.change.after.as_ref(), span.oldest_before.as_ref()) {
                        conflicts.push(roots[root].0.join(&key.1));
                    }
                    span.oldest_before = before.clone();
                    span.content = content;
                    span.lost = done.lost.clone();
                    span.linked = done.linked;
                    span.shares = done.shares.as_ref().map(|path| path.0.clone());
                }
            }
        }
    }
    Ok(spans)
}

fn summary(entry: &KeptChanges, undone: bool) -> Summary {
    Summary {
        call: entry.call.clone(),
        session: entry.session.clone(),
        tool: entry.tool.clone(),
        at_ms: entry.at_ms,
        changes: entry.places as usize,
        undone,
    }
}

impl Stored {
    /// Its call and its session.
    fn mark(&self) -> (&str, &str) {
        match self {
            Stored::Begun(_, mark) => (&mark.call, &mark.session),
            Stored::Over(entry) => (&entry.call, &entry.session),
        }
    }
}

impl Checkpoint {
    /// Where its roots stand among those that are open now.
    fn open_roots(&self, roots: &[(PathBuf, OwnedFd)]) -> Vec<Option<usize>> {
        let then = self.head.roots.iter();
        then.map(|root| roots.iter().position(|(path, _)| *path == root.0))
            .collect()
    }
}

/// The open roots, to look at places beneath them.
pub(super) struct Trees(pub(super) Vec<Tree>);

impl Trees {
    pub(super) fn new(roots: &[(PathBuf, OwnedFd)]) -> io::Result<Self> {
        let trees: io::Result<Vec<Tree>> = roots
            .iter()
            .map(|(_, handle)| folder_again(handle).map(Tree::of))
            .collect();
        Ok(Trees(trees?))
    }

    /// What is at a place now, with the digest of its content.
    fn state(&mut self, root: usize, path: &Path) -> io::Result<Option<State>> {
        Ok(self.0[root]
            .parent(path)
            .ok()
            .and_then(|(folder, name)| state(folder, name)))
    }
}

/// What has a name in a folder now, with the digest of its content.
pub(super) fn state(folder: &OwnedFd, name: &OsStr) -> Option<State> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let mut state = State::of(&stat);
    if matches!(state.kind, Kind::File | Kind::Link) {
        state.digest = digest(folder, name, state.kind).ok();
    }
    if state.kind != Kind::Other {
        state.attributes = attributes(folder, name);
    }
    Some(state)
}

fn changed_since(conflicts: &[PathBuf]) -> ToolError {
    let mut names: Vec<String> = conflicts
        .iter()
        .take(NAMED)
        .map(|path| format!("`{}`", path.display()))
        .collect();
    names.sort();
    let more = match conflicts.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    ToolError::conflict(format!(
        "changed since the call: {}{more}",
        names.join(", ")
    ))
    .hint(format!("nothing was changed; {LOOK}"))
}

fn nothing(which: &Which) -> ToolError {
    match which {
        Which::Last => ToolError::failed("no call has changed files in this workspace")
            .hint("only changes made through haft can be undone, for as long as they are kept"),
        Which::Call(call) => ToolError::input_invalid(format!(
            "no changes of this call are kept: `{}`",
            call.escape_debug()
        ))
        .hint("`haft undo --list` names the calls that changed files in this workspace"),
        Which::Session(_) => ToolError::failed("this session has nothing to be undone"),
    }
}
