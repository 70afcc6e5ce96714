//! `file.move`: an entry gets another place. A link is moved itself, never what it leads to.

use std::sync::OnceLock;

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{ChangeFiles, EntryKind, FileChange, ListRequest, Resolved};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::delete::MOST;
use crate::kept;

/// Move or rename a file or folder, making folders on the way. Where `to` is a folder that is
/// there, it is moved into it. What is there is not replaced unless `overwrite` is set, and a
/// folder never is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Move {
    /// File or folder to move, relative to the workspace
    #[schemars(extend("x-aliases" = ["source", "src", "path", "old_path", "oldPath"]))]
    from: String,
    /// New place, relative to the workspace
    #[schemars(extend("x-aliases" = ["destination", "dest", "target", "new_path", "newPath"]))]
    to: String,
    /// Replace a file that is already there
    #[serde(default)]
    overwrite: bool,
    #[serde(skip)]
    plan: OnceLock<Plan>,
}

#[derive(Debug)]
struct Plan {
    from: Resolved,
    to: Resolved,
    kind: EntryKind,
    effects: Effects,
}

impl Tool for Move {
    const NAME: &'static str = "file.move";
    const HAS_PREVIEW: bool = true;
    const SURVEYS: bool = true;
    const HAS_VERIFY: bool = true;
    const REPEAT: Repeat = Repeat::Unsafe;
    type Power = ChangeFiles;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Move or rename")
            .aliases(&["Move", "move_file", "rename_file", "file.rename", "mv"])
            .tags(&["file", "folder", "move", "rename"])
            .side_effects(&[
                "creates missing parent folders",
                "replaces the target with `overwrite`",
            ])
            .risk(Risk::High)
            .example(
                "Rename a file",
                json!({"from": "notes.txt", "to": "docs/ideas.txt"}),
                json!({"kind": "file"}),
            )
            .example(
                "Move into a folder that is there",
                json!({"from": "notes.txt", "to": "src"}),
                json!({"kind": "file"}),
            )
    }

    fn effects(&self, files: &ChangeFiles, cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(self.plan(files, cx)?.effects.clone())
    }

    async fn run(self, files: &ChangeFiles, cx: &ToolContext) -> ToolResult {
        let overwrite = self.overwrite;
        let plan = self.plan(files, cx)?;
        let change = FileChange::Move {
            from: plan.from.clone(),
            to: plan.to.clone(),
            overwrite,
        };
        let lost = files.apply(vec![change], cx).await?;
        Ok(kept::with_lost(plan.told("moved"), &lost))
    }

    async fn preview(self, files: &ChangeFiles, cx: &ToolContext) -> ToolResult {
        let plan = self.plan(files, cx)?;
        let Some(there) = files.kind(&plan.to)? else {
            return Ok(plan.told("would move"));
        };
        let folder = [there, plan.kind].contains(&EntryKind::Directory);
        if self.overwrite && !folder {
            return Ok(plan.told("would move and replace what is there:"));
        }
        Err(ToolError::failed(format!(
            "something is already there: `{}`",
            plan.to.path().display()
        ))
        .hint("choose another name, or set `overwrite: true` to replace a file"))
    }

    /// The entry is either still where it was or at its new place.
    async fn verify(self, files: &ChangeFiles, _cx: &ToolContext) -> Result<bool, ToolError> {
        let from = files.resolve_entry(&self.from)?;
        Ok(files.kind(&from)?.is_none())
    }
}

impl Move {
    fn plan(&self, files: &ChangeFiles, cx: &ToolContext) -> Result<&Plan, ToolError> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan);
        }
        let plan = self.locate(files, cx)?;
        Ok(self.plan.get_or_init(|| plan))
    }

    fn locate(&self, files: &ChangeFiles, cx: &ToolContext) -> Result<Plan, ToolError> {
        let from = files.resolve_entry(&self.from)?;
        let kind = files.kind(&from)?.ok_or_else(|| {
            ToolError::not_found(format!(
                "no such file or directory: `{}`",
                from.path().display()
            ))
            .hint("see what is there with `file.list`")
        })?;
        let to = self.target(&from, files)?;
        if to.path() == from.path() {
            return Err(ToolError::input_invalid(format!(
                "it is already there: `{}`",
                to.path().display()
            )));
        }
        if to.path().starts_with(from.path()) {
            return Err(ToolError::input_invalid(format!(
                "a folder cannot be moved into itself: `{}`",
                to.path().display()
            )));
        }
        let effects = match kind {
            EntryKind::Directory => {
                let request = ListRequest {
                    recursive: true,
                    limit: MOST,
                    skip_ignored: false,
                };
                let listing = files.list_now(&from, request, cx)?;
                let inside = || listing.entries.iter().map(|entry| entry.path.as_path());
                let mut effects = from.writes_tree(inside());
                effects.accesses.extend(to.writes_tree(inside()).accesses);
                effects
            }
            _ => {
                let mut effects = from.writes();
                effects.accesses.extend(to.writes().accesses);
                effects
            }
        };
        Ok(Plan {
            from,
            to,
            kind,
            effects: effects.removing_if(self.overwrite),
        })
    }

    /// The new place, inside `to` where that is a folder already.
    fn target(&self, from: &Resolved, files: &ChangeFiles) -> Result<Resolved, ToolError> {
        let folder = files
            .resolve_folder(&self.to)
            .ok()
            .filter(|place| matches!(files.kind(place), Ok(Some(EntryKind::Directory))));
        match (folder, from.path().file_name()) {
            (Some(folder), Some(name)) => files.inside(&folder, name.as_ref()),
            _ => files.resolve_entry(&self.to),
        }
    }
}

impl Plan {
    fn told(&self, did: &str) -> Output {
        let (from, to) = (self.from.path(), self.to.path());
        Output::text(format!("{did} {} to {}", from.display(), to.display())).and_structured(
            json!({
                "from": from.to_string_lossy(),
                "to": to.to_string_lossy(),
                "kind": super::list::kind_name(self.kind),
            }),
        )
    }
}
