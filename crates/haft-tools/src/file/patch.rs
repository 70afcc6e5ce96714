//! Applies unified diffs: every file of the patch or none. Reading the diff, finding where its
//! hunks go and changing the files together are done elsewhere; here is what a patch means for
//! the files it names.

use std::collections::HashSet;
use std::sync::OnceLock;

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{
    Before, ChangeFiles, EntryKind, FileChange, NewMode, Resolved, Snapshot, holds_secrets,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::diff;
use super::hunks::{self, Patched};
use super::unified::{self, FilePatch, Kind};
use crate::kept;

/// Apply a unified diff, as `git diff` writes it, to the files it names: all of it or nothing.
/// New files, deletions, renames and mode changes are understood. Where a hunk does not fit, the
/// answer says where it nearly would.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Patch {
    /// The diff: `--- a/file`, `+++ b/file`, `@@ … @@` and its lines
    #[schemars(length(min = 1), extend("x-aliases" = ["diff", "content"]))]
    patch: String,
    /// Folder that the diff's names start from; or, for a diff of one file, that file
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["file_path", "filePath", "directory", "cwd"]))]
    path: Option<String>,
    #[serde(skip)]
    plan: OnceLock<Vec<Item>>,
}

/// One file of the patch, with the places it is about.
#[derive(Debug)]
struct Item {
    patch: FilePatch,
    /// What is there now
    from: Option<Resolved>,
    /// Where it will be
    to: Option<Resolved>,
}

/// What becomes of one file.
struct Made<'a> {
    item: &'a Item,
    changes: Vec<FileChange>,
    before: Option<Snapshot>,
    patched: Patched,
}

impl Tool for Patch {
    const NAME: &'static str = "file.patch";
    const HAS_PREVIEW: bool = true;
    const REPEAT: Repeat = Repeat::Unsafe;
    type Power = ChangeFiles;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = spec
            .titled("Apply a patch")
            .aliases(&["Patch", "apply_patch", "patch_file"])
            .tags(&["file", "patch", "diff", "apply", "change", "edit", "git"])
            .side_effects(&["changes, creates, deletes and renames the files of the patch"])
            .risk(Risk::High)
            .example(
                "Change a line",
                json!({"patch": "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n todo\n-buy milk\n+buy bread\n"}),
                json!({"files": [{"path": "notes.txt", "action": "modified", "hunks": 1, "added": 1, "removed": 1}], "count": 1}),
            )
            .example(
                "Create a file and delete another",
                json!({"patch": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n--- a/notes.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-todo\n-buy milk\n"}),
                json!({"files": [
                    {"path": "new.txt", "action": "created", "hunks": 1, "added": 1, "removed": 0},
                    {"path": "notes.txt", "action": "deleted", "hunks": 1, "added": 0, "removed": 2},
                ], "count": 2}),
            );
        spec.eager_input_streaming = true;
        spec
    }

    fn effects(&self, files: &ChangeFiles, _cx: &ToolContext) -> Result<Effects, ToolError> {
        let mut effects = Effects::none();
        for item in self.plan(files)? {
            if let Some(from) = &item.from {
                effects.accesses.extend(from.reads().accesses);
            }
            let gone = matches!(item.patch.kind, Kind::Delete | Kind::Rename);
            let written = item.from.iter().filter(|_| gone).chain(&item.to);
            for place in written {
                effects.accesses.extend(place.writes().accesses);
            }
            effects.removes |= matches!(item.patch.kind, Kind::Delete);
        }
        Ok(effects)
    }

    async fn run(self, files: &ChangeFiles, cx: &ToolContext) -> ToolResult {
        let plan = self.plan(files)?;
        let mut made = Vec::with_capacity(plan.len());
        for item in plan {
            made.push(make(item, files, cx).await?);
        }
        let changes = made
            .iter_mut()
            .flat_map(|one| std::mem::take(&mut one.changes));
        let lost = files.apply(changes.collect(), cx).await?;
        let output = Output::text(told(&made)).and_structured(structured(&made));
        Ok(kept::with_lost(output, &lost))
    }

    async fn preview(self, files: &ChangeFiles, cx: &ToolContext) -> ToolResult {
        let mut made = Vec::new();
        for item in self.plan(files)? {
            // Nobody has agreed yet, so what may be a secret is not even read.
            made.push(match item.secret() {
                Some(_) => item.unread(),
                None => make(item, files, cx).await?,
            });
        }
        let mut text = told(&made);
        for one in &made {
            text.push('\n');
            text.push_str(&one.shown());
        }
        Ok(Output::text(text).and_structured(structured(&made)))
    }
}

impl Patch {
    fn plan(&self, files: &ChangeFiles) -> Result<&[Item], ToolError> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan);
        }
        let plan = self.locate(files)?;
        Ok(self.plan.get_or_init(|| plan))
    }

    /// Read the patch and find its files.
    fn locate(&self, files: &ChangeFiles) -> Result<Vec<Item>, ToolError> {
        let patches = unified::parse(&self.patch)?;
        let base = self.base(files, &patches)?;
        let mut items = Vec::with_capacity(patches.len());
        let mut taken = HashSet::new();
        for patch in patches {
            expect_text(&patch)?;
            let item = base.item(patch, files)?;
            let moves = matches!(item.patch.kind, Kind::Delete | Kind::Rename);
            let touched = item.from.iter().filter(|_| moves).chain(&item.to);
            for place in touched {
                if !taken.insert(place.path().to_owned()) {
                    return Err(ToolError::input_invalid(format!(
                        "the patch names a file twice: `{}`",
                        place.path().display()
                    ))
                    .hint("put all hunks of a file behind one pair of `---` and `+++`"));
                }
            }
            items.push(item);
        }
        Ok(items)
    }

    fn base(&self, files: &ChangeFiles, patches: &[FilePatch]) -> Result<Base, ToolError> {
        let Some(path) = &self.path else {
            return match patches {
                [only] if only.old.is_none() && only.new.is_none() => {
                    Err(ToolError::input_invalid("the patch does not name its file")
                        .hint("give `path`, or begin with `--- a/file` and `+++ b/file`"))
                }
                _ => Ok(Base::Folder(String::new())),
            };
        };
        let place = files.resolve_folder(path)?;
        if files.kind(&place)? == Some(EntryKind::Directory) {
            return Ok(Base::Folder(format!("{path}/")));
        }
        match patches {
            [_] => Ok(Base::File(path.clone())),
            several => Err(ToolError::input_invalid(format!(
                "`path` is not a folder, and the patch is about {} files: `{path}`",
                several.len()
            ))),
        }
    }
}

/// What the names of a patch start from.
enum Base {
    Folder(String),
    /// The one file it is about, whatever name it gives
    File(String),
}

impl Base {
    fn item(&self, patch: FilePatch, files: &ChangeFiles) -> Result<Item, ToolError> {
        let path = |name: &Option<String>| -> Result<String, ToolError> {
            match (self, name) {
                (Base::File(path), _) => Ok(path.clone()),
                (Base::Folder(folder), Some(name)) if !name.is_empty() => {
                    Ok(if name.starts_with('/') {
                        name.clone()
                    } else {
                        format!("{folder}{name}")
                    })
                }
                _ => Err(ToolError::input_invalid("the patch does not name a file")
                    .hint("begin each file with `--- a/file` and `+++ b/file`")),
            }
        };
        let (from, to) = match patch.kind {
            Kind::Create => (None, Some(files.resolve(&path(&patch.new)?)?)),
            Kind::Modify => {
                let place = files.resolve(&path(&patch.new)?)?;
                (Some(place.clone()), Some(place))
            }
            Kind::Delete => (Some(files.resolve_entry(&path(&patch.old)?)?), None),
            Kind::Rename if matches!(self, Base::File(_)) => {
                return Err(ToolError::input_invalid(
                    "the patch renames a file, so `path` must be a folder",
                ));
            }
            Kind::Rename => {
                let from = files.resolve_entry(&path(&patch.old)?)?;
                (Some(from), Some(files.resolve_entry(&path(&patch.new)?)?))
            }
            Kind::Copy => {
                let from = files.resolve(&path(&patch.old)?)?;
                (Some(from), Some(files.resolve(&path(&patch.new)?)?))
            }
        };
        Ok(Item { patch, from, to })
    }
}

/// Only text in regular files can be patched.
fn expect_text(patch: &FilePatch) -> Result<(), ToolError> {
    let name = patch.new.as_ref().or(patch.old.as_ref());
    let name = name.map_or("", String::as_str);
    if patch.binary {
        return Err(
            ToolError::input_invalid(format!("the patch changes a binary file: `{name}`"))
                .hint("leave that file out of the patch"),
        );
    }
    let regular = |mode: &u32| mode & 0o170_000 == 0o100_000;
    if !patch.old_mode.iter().chain(&patch.new_mode).all(regular) {
        return Err(ToolError::input_invalid(format!(
            "the patch is about a link or a submodule: `{name}`"
        ))
        .hint("leave it out of the patch"));
    }
    Ok(())
}

/// What one file becomes. Nothing is changed yet.
async fn make<'a>(
    item: &'a Item,
    files: &ChangeFiles,
    cx: &ToolContext,
) -> Result<Made<'a>, ToolError> {
    let patch = &item.patch;
    let untouched = patch.hunks.is_empty() && item.executable().is_none();
    if let (Kind::Rename, true, Some(from), Some(to)) =
        (patch.kind, untouched, &item.from, &item.to)
    {
        // Whatever it holds, it only gets another name.
        let (from, to) = (from.clone(), to.clone());
        let change = FileChange::Move {
            from,
            to,
            overwrite: false,
        };
        return Ok(Made {
            item,
            changes: vec![change],
            before: None,
            patched: unchanged(String::new()),
        });
    }
    let before = match &item.from {
        Some(from) => Some(files.read(from, cx).await?),
        None => None,
    };
    let old = before
        .as_ref()
        .map_or("", |snapshot| snapshot.text.as_str());
    // What does not fit is looked for where the text is, whatever name it gets.
    let held = shown(item.from.as_ref().or(item.to.as_ref()));
    let patched = hunks::apply(&held, old, &patch.hunks)?;
    let changes = changes(item, before.as_ref(), &patched)?;
    Ok(Made {
        item,
        changes,
        before,
        patched,
    })
}

/// What has to be done for a file to become what the patch makes of it.
fn changes(
    item: &Item,
    before: Option<&Snapshot>,
    patched: &Patched,
) -> Result<Vec<FileChange>, ToolError> {
    let patch = &item.patch;
    let mut changes = Vec::new();
    if let (Kind::Delete | Kind::Rename, Some(from), Some(before)) =
        (patch.kind, &item.from, before)
    {
        if patch.kind == Kind::Delete && !patched.text.is_empty() {
            return Err(ToolError::conflict(format!(
                "the file holds more than the patch deletes: `{}`",
                item.name()
            ))
            .hint("use `file.delete` to delete it whatever it holds"));
        }
        changes.push(FileChange::Remove {
            place: from.clone(),
            before: before.state(),
        });
    }
    if let Some(to) = &item.to {
        let content = match before {
            Some(before) => before.encode(to, &patched.text)?,
            None => patched.text.clone().into_bytes(),
        };
        let (mode, like, expected) = match (patch.kind, before, &item.from) {
            (Kind::Modify, Some(before), _) => (NewMode::Kept, None, before.state()),
            (Kind::Rename, Some(before), Some(from)) => {
                (NewMode::Kept, Some(before.like(from)), Before::Nothing)
            }
            (_, Some(before), _) => (before.mode(), None, Before::Nothing),
            (_, None, _) => (NewMode::Kept, None, Before::Nothing),
        };
        changes.push(FileChange::Put {
            place: to.clone(),
            content,
            mode: item.executable().map_or(mode, NewMode::Executable),
            like,
            before: expected,
        });
    }
    Ok(changes)
}

fn unchanged(text: String) -> Patched {
    Patched {
        text,
        added: 0,
        removed: 0,
        notes: Vec::new(),
    }
}

fn shown(place: Option<&Resolved>) -> String {
    place
        .map(|place| place.relative().to_string_lossy().into_owned())
        .unwrap_or_default()
}

impl Item {
    fn place(&self) -> Option<&Resolved> {
        self.to.as_ref().or(self.from.as_ref())
    }

    /// The file as seen from its root.
    fn name(&self) -> String {
        shown(self.place())
    }

    /// Whether the patch says that the file may be run.
    fn executable(&self) -> Option<bool> {
        self.patch.new_mode.map(|mode| mode & 0o100 != 0)
    }

    /// Why its content is nobody's business before a person has agreed.
    fn secret(&self) -> Option<&'static str> {
        let mut places = self.from.iter().chain(&self.to);
        places.find_map(|place| holds_secrets(place.relative()))
    }

    /// What the patch alone tells.
    fn unread(&self) -> Made<'_> {
        let lines = || self.patch.hunks.iter().flat_map(|hunk| &hunk.lines);
        let mut patched = unchanged(String::new());
        patched.added = lines().filter(|line| !line.is_old()).count();
        patched.removed = lines().filter(|line| !line.is_new()).count();
        Made {
            item: self,
            changes: Vec::new(),
            before: None,
            patched,
        }
    }

    fn action(&self) -> &'static str {
        match self.patch.kind {
            Kind::Create => "created",
            Kind::Delete => "deleted",
            Kind::Rename => "renamed",
            Kind::Copy => "copied",
            Kind::Modify if self.patch.hunks.is_empty() => "mode changed",
            Kind::Modify => "modified",
        }
    }
}

impl Made<'_> {
    /// The change as a diff, for people to look at.
    fn shown(&self) -> String {
        let Some(place) = self.item.place() else {
            return String::new();
        };
        if let Some(reason) = self.item.secret() {
            return format!("[{}: not shown: {reason}]\n", self.item.name());
        }
        let before = self.before.as_ref().map(|before| before.text.as_bytes());
        diff::unified(place.relative(), before, &self.patched.text)
    }

    fn value(&self) -> Value {
        let item = self.item;
        let mut value = json!({
            "path": item.name(),
            "action": item.action(),
            "hunks": item.patch.hunks.len(),
            "added": self.patched.added,
            "removed": self.patched.removed,
        });
        if let (Kind::Rename | Kind::Copy, Some(from)) = (item.patch.kind, &item.from) {
            value["from"] = from.relative().to_string_lossy().into();
        }
        if !self.patched.notes.is_empty() {
            value["notes"] = self.patched.notes.clone().into();
        }
        value
    }
}

fn structured(made: &[Made<'_>]) -> Value {
    json!({
        "files": made.iter().map(Made::value).collect::<Vec<Value>>(),
        "count": made.len(),
    })
}

fn told(made: &[Made<'_>]) -> String {
    let mut text = String::new();
    for one in made {
        let (added, removed) = (one.patched.added, one.patched.removed);
        let from = match (one.item.patch.kind, &one.item.from) {
            (Kind::Rename | Kind::Copy, Some(from)) => {
                format!(" from {}", from.relative().display())
            }
            _ => String::new(),
        };
        text.push_str(&format!(
            "{} {}{from} (+{added} -{removed})\n",
            one.item.action(),
            one.item.name()
        ));
        for note in &one.patched.notes {
            text.push_str(&format!("  note: {note}\n"));
        }
    }
    text
}
