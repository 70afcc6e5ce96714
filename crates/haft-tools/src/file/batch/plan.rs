//! What a batch would do: which files fit, and what becomes of each.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use haft_core::{ToolContext, ToolError};
use haft_host::{ChangeFiles, Entry, EntryKind, ListRequest, Listing, Resolved, holds_secrets};
use regex::Regex;

use super::names::Replacement;
use super::{Batch, Operation, missing};

/// Files above this size are not looked into.
const SIZE_LIMIT: u64 = 10 << 20;

/// Most entries looked at, and most files changed in one call.
const LOOKED_AT: usize = 200_000;
const CHANGED: usize = 10_000;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) directory: Resolved,
    /// It looks into the folders inside
    pub(super) deep: bool,
    pub(super) changes: Vec<Planned>,
    /// Files that fit and are left as they are, and why
    pub(super) skipped: Vec<(PathBuf, String)>,
    /// How many were left out because a `.gitignore` names them
    pub(super) ignored: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Planned {
    Move {
        from: Resolved,
        to: Resolved,
    },
    Transform {
        place: Resolved,
        /// None where the file may not be read before somebody has agreed
        replacements: Option<usize>,
    },
}

impl Plan {
    pub(super) fn make(
        batch: &Batch,
        files: &ChangeFiles,
        cx: &ToolContext,
    ) -> Result<Plan, ToolError> {
        let directory = files.resolve_folder(batch.directory.as_deref().unwrap_or("."))?;
        let matcher = Matcher::new(batch)?;
        let request = ListRequest {
            recursive: matcher.deep(),
            limit: LOOKED_AT,
            skip_ignored: batch.ignore.unwrap_or(true),
        };
        let listing = files.list_now(&directory, request, cx)?;
        if listing.truncated {
            return Err(ToolError::failed(format!(
                "the folder holds more than {LOOKED_AT} entries: `{}`",
                directory.path().display()
            ))
            .hint("name a folder inside as `directory`"));
        }
        let mut plan = Plan {
            deep: matcher.deep(),
            ignored: listing.ignored,
            directory,
            changes: Vec::new(),
            skipped: Vec::new(),
        };
        plan.fill(&matcher, batch, listing, files, cx)?;
        if plan.changes.len() > CHANGED {
            return Err(ToolError::failed(format!(
                "{} files fit, more than the {CHANGED} of one call",
                plan.changes.len()
            ))
            .hint("use a narrower `pattern`"));
        }
        plan.expect_free_names(files)?;
        Ok(plan)
    }

    fn fill(
        &mut self,
        matcher: &Matcher,
        batch: &Batch,
        listing: Listing,
        files: &ChangeFiles,
        cx: &ToolContext,
    ) -> Result<(), ToolError> {
        for entry in listing.entries {
            if entry.kind == EntryKind::Directory
                || (!batch.hidden && is_hidden(&entry.path))
                || !matcher.fits(&entry.path)
            {
                continue;
            }
            if entry.kind != EntryKind::File {
                let reason = match entry.kind {
                    EntryKind::Symlink => "a symbolic link",
                    _ => "not a regular file",
                };
                self.skip(&entry.path, reason.to_owned());
                continue;
            }
            let place = files.inside(&self.directory, &entry.path)?;
            match matcher {
                Matcher::Rename {
                    regex, replacement, ..
                } => {
                    self.rename(regex, replacement, place, &entry, files)?;
                }
                Matcher::Move(_, destination) => {
                    let folder = files.resolve_folder(destination)?;
                    let name = entry.path.file_name().unwrap_or_default();
                    let to = files.inside(&folder, Path::new(name))?;
                    if to != place {
                        self.changes.push(Planned::Move { from: place, to });
                    }
                }
                Matcher::Transform(_) => self.transform(batch, place, &entry, files, cx)?,
            }
        }
        Ok(())
    }

    fn rename(
        &mut self,
        regex: &Regex,
        replacement: &Replacement,
        from: Resolved,
        entry: &Entry,
        files: &ChangeFiles,
    ) -> Result<(), ToolError> {
        let Some(name) = entry.path.file_name().and_then(|name| name.to_str()) else {
            self.skip(&entry.path, "its name is not UTF-8".to_owned());
            return Ok(());
        };
        let new = replacement.put_into(regex, name);
        if new == name {
            return Ok(());
        }
        if new.is_empty() || new == "." || new == ".." || new.contains(['/', '\0']) {
            return Err(ToolError::input_invalid(format!(
                "not a file name: `{}`, for `{name}`",
                new.escape_debug()
            ))
            .hint("use `operation: \"move\"` to put files into another folder"));
        }
        let to = files.inside(&self.directory, &entry.path.with_file_name(&new))?;
        self.changes.push(Planned::Move { from, to });
        Ok(())
    }

    fn transform(
        &mut self,
        batch: &Batch,
        place: Resolved,
        entry: &Entry,
        files: &ChangeFiles,
        cx: &ToolContext,
    ) -> Result<(), ToolError> {
        let (find, _) = batch.texts()?;
        if entry.size.unwrap_or(0) > SIZE_LIMIT {
            let size = entry.size.unwrap_or(0);
            self.skip(&entry.path, format!("larger than 10 MB ({size} bytes)"));
            return Ok(());
        }
        if holds_secrets(place.relative()).is_some() {
            self.changes.push(Planned::Transform {
                place,
                replacements: None,
            });
            return Ok(());
        }
        match files.read_now(&place, cx) {
            Ok(snapshot) => {
                let count = snapshot.text.matches(find).count();
                if count > 0 {
                    self.changes.push(Planned::Transform {
                        place,
                        replacements: Some(count),
                    });
                }
                Ok(())
            }
            Err(error) if cx.cancel.is_cancelled() => Err(error),
            Err(error) => {
                self.skip(&entry.path, error.into_body().message);
                Ok(())
            }
        }
    }

    fn skip(&mut self, path: &Path, reason: String) {
        self.skipped
            .push((self.directory.relative().join(path), reason));
    }

    /// Two files never get one name, and what is there is never replaced.
    fn expect_free_names(&self, files: &ChangeFiles) -> Result<(), ToolError> {
        let moves = || {
            self.changes.iter().filter_map(|planned| match planned {
                Planned::Move { from, to } => Some((from, to)),
                Planned::Transform { .. } => None,
            })
        };
        let sources: HashMap<&Path, ()> = moves().map(|(from, _)| (from.path(), ())).collect();
        let mut targets: HashMap<&Path, &Resolved> = HashMap::new();
        for (from, to) in moves() {
            if let Some(other) = targets.insert(to.path(), from) {
                return Err(ToolError::failed(format!(
                    "two files would get one name: `{}` and `{}` become `{}`",
                    other.relative().display(),
                    from.relative().display(),
                    to.relative().display()
                ))
                .hint("nothing was changed; make the new names differ"));
            }
            // A name that another file of the batch gives up is free.
            if !sources.contains_key(to.path()) && files.kind(to)?.is_some() {
                return Err(ToolError::failed(format!(
                    "something is already there: `{}`, for `{}`",
                    to.relative().display(),
                    from.relative().display()
                ))
                .hint("nothing was changed; choose other names or move what is there"));
            }
        }
        Ok(())
    }
}

enum Matcher {
    Rename {
        regex: Regex,
        replacement: Replacement,
        deep: bool,
    },
    Move(Glob, String),
    Transform(Glob),
}

/// A glob, and whether it can fit anything in the folders inside.
struct Glob {
    matcher: GlobMatcher,
    deep: bool,
}

impl Matcher {
    fn new(batch: &Batch) -> Result<Self, ToolError> {
        match batch.operation {
            Operation::Rename => {
                let regex = Regex::new(&batch.pattern).map_err(|error| {
                    ToolError::input_invalid(format!(
                        "`pattern` is not a regular expression: {error}"
                    ))
                })?;
                let replacement = batch
                    .replacement
                    .as_deref()
                    .or(batch.replace.as_deref())
                    .ok_or_else(|| missing("replacement", "rename"))?;
                let replacement = Replacement::parse(replacement, &regex)?;
                Ok(Matcher::Rename {
                    regex,
                    replacement,
                    deep: batch.recursive,
                })
            }
            Operation::Move => {
                let destination = batch.destination.clone();
                let destination = destination.ok_or_else(|| missing("destination", "move"))?;
                Ok(Matcher::Move(Glob::new(&batch.pattern)?, destination))
            }
            Operation::Transform => {
                batch.texts()?;
                Ok(Matcher::Transform(Glob::new(&batch.pattern)?))
            }
        }
    }
}

impl Matcher {
    fn deep(&self) -> bool {
        match self {
            Matcher::Rename { deep, .. } => *deep,
            Matcher::Move(glob, _) | Matcher::Transform(glob) => glob.deep,
        }
    }

    /// Whether a path, seen from the folder that is worked in, is meant.
    fn fits(&self, path: &Path) -> bool {
        match self {
            Matcher::Rename { regex, .. } => path
                .file_name()
                .is_some_and(|name| regex.is_match(&name.to_string_lossy())),
            Matcher::Move(glob, _) | Matcher::Transform(glob) => glob.matcher.is_match(path),
        }
    }
}

impl Glob {
    fn new(pattern: &str) -> Result<Self, ToolError> {
        let plain = pattern.strip_prefix("./").unwrap_or(pattern);
        let leaves = |part: Component<'_>| !matches!(part, Component::Normal(_));
        if Path::new(plain).components().any(leaves) {
            return Err(ToolError::input_invalid(format!(
                "`pattern` leaves the folder it starts in: `{pattern}`"
            ))
            .hint("name the folder as `directory`, and what is in it as `pattern`"));
        }
        let glob = GlobBuilder::new(plain).literal_separator(true).build();
        let glob = glob.map_err(|error| {
            ToolError::input_invalid(format!("`pattern` is not a glob: {}", error.kind()))
        })?;
        Ok(Glob {
            matcher: glob.compile_matcher(),
            deep: plain.contains('/') || plain.contains("**"),
        })
    }
}

fn is_hidden(path: &Path) -> bool {
    path.iter()
        .any(|name| name.as_encoded_bytes().first() == Some(&b'.'))
}
