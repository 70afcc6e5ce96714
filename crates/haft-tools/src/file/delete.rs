//! `file.delete`: an entry goes, a folder with all that is in it only if that was said. A link
//! goes itself; what it leads to stays.

use std::sync::OnceLock;

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{Before, ChangeFiles, EntryKind, FileChange, ListRequest, Listing, Resolved};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kept;

/// More entries than are looked over one by one before a folder is moved or deleted.
pub(super) const MOST: usize = 1_000_000;

/// Names that a preview shows.
const SHOWN: usize = 1_000;

/// Delete a file, a link or an empty folder; with `recursive` a folder and all that is in it.
/// A link is deleted itself, not what it leads to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Delete {
    /// File or folder to delete, relative to the workspace
    #[schemars(extend("x-aliases" = ["file_path", "filePath", "file"]))]
    path: String,
    /// Delete a folder with all that is in it
    #[serde(default)]
    recursive: bool,
    #[serde(skip)]
    plan: OnceLock<Plan>,
}

#[derive(Debug)]
struct Plan {
    place: Resolved,
    kind: EntryKind,
    /// What a folder holds
    inside: Listing,
}

impl Tool for Delete {
    const NAME: &'static str = "file.delete";
    const HAS_PREVIEW: bool = true;
    const SURVEYS: bool = true;
    const HAS_VERIFY: bool = true;
    const REPEAT: Repeat = Repeat::Unsafe;
    type Power = ChangeFiles;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Delete a file or folder")
            .aliases(&["Delete", "delete_file", "remove_file", "file.remove", "rm"])
            .tags(&["file", "folder", "delete", "remove"])
            .side_effects(&["deletes the file, or the folder with all that is in it"])
            .risk(Risk::High)
            .example(
                "Delete a file",
                json!({"path": "notes.txt"}),
                json!({"kind": "file", "deleted": 1}),
            )
            .example(
                "Delete a folder",
                json!({"path": "src", "recursive": true}),
                json!({"kind": "dir", "deleted": 2}),
            )
    }

    fn effects(&self, files: &ChangeFiles, cx: &ToolContext) -> Result<Effects, ToolError> {
        let plan = self.plan(files, cx)?;
        let effects = match plan.kind {
            EntryKind::Directory => {
                let inside = plan.inside.entries.iter();
                plan.place
                    .writes_tree(inside.map(|entry| entry.path.as_path()))
            }
            _ => plan.place.writes(),
        };
        Ok(effects.removing_if(true))
    }

    async fn run(self, files: &ChangeFiles, cx: &ToolContext) -> ToolResult {
        let plan = self.plan(files, cx)?;
        let change = FileChange::Remove {
            place: plan.place.clone(),
            before: Before::Anything,
        };
        let lost = files.apply(vec![change], cx).await?;
        let deleted = plan.inside.entries.len() + 1;
        let path = plan.place.path().to_string_lossy();
        let what = match plan.kind {
            EntryKind::Directory => format!("deleted {path} with {} entries", deleted - 1),
            _ => format!("deleted {path}"),
        };
        let output = Output::text(what).and_structured(plan.value());
        Ok(kept::with_lost(output, &lost))
    }

    async fn preview(self, files: &ChangeFiles, cx: &ToolContext) -> ToolResult {
        let plan = self.plan(files, cx)?;
        let mut text = format!("would delete {}\n", plan.place.path().display());
        for entry in plan.inside.entries.iter().take(SHOWN) {
            text.push_str(&format!("  {}\n", entry.path.display()));
        }
        let more = plan.inside.entries.len().saturating_sub(SHOWN);
        if more > 0 {
            text.push_str(&format!("  [and {more} more]\n"));
        }
        Ok(Output::text(text).and_structured(plan.value()))
    }

    async fn verify(self, files: &ChangeFiles, _cx: &ToolContext) -> Result<bool, ToolError> {
        let place = files.resolve_entry(&self.path)?;
        Ok(files.kind(&place)?.is_none())
    }
}

impl Delete {
    fn plan(&self, files: &ChangeFiles, cx: &ToolContext) -> Result<&Plan, ToolError> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan);
        }
        let plan = self.look_over(files, cx)?;
        Ok(self.plan.get_or_init(|| plan))
    }

    fn look_over(&self, files: &ChangeFiles, cx: &ToolContext) -> Result<Plan, ToolError> {
        let place = files.resolve_entry(&self.path)?;
        let shown = place.path().display();
        let kind = files.kind(&place)?.ok_or_else(|| {
            ToolError::not_found(format!("no such file or directory: `{shown}`"))
                .hint("see what is there with `file.list`")
        })?;
        let mut inside = Listing::default();
        if kind == EntryKind::Directory {
            let request = ListRequest {
                recursive: true,
                limit: MOST,
                skip_ignored: false,
            };
            inside = files.list_now(&place, request, cx)?;
        }
        if inside.truncated {
            return Err(ToolError::failed(format!(
                "the folder holds more than {MOST} entries: `{shown}`"
            ))
            .hint("delete the folders inside one by one"));
        }
        if !inside.entries.is_empty() && !self.recursive {
            return Err(ToolError::failed(format!(
                "the folder is not empty: `{shown}` ({} entries)",
                inside.entries.len()
            ))
            .hint("set `recursive: true` to delete it with all that is in it"));
        }
        Ok(Plan {
            place,
            kind,
            inside,
        })
    }
}

impl Plan {
    fn value(&self) -> Value {
        json!({
            "path": self.place.path().to_string_lossy(),
            "kind": super::list::kind_name(self.kind),
            "deleted": self.inside.entries.len() + 1,
        })
    }
}
