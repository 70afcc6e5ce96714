//! `file.batch`: one operation on many files, all or none. What it would do is worked out before
//! anyone is asked, so that every path it writes is known to policy and to the person; what is
//! then done is exactly that.

mod names;
mod plan;

use std::sync::OnceLock;

use haft_core::{
    Effects, Output, Repeat, Resource, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{ChangeFiles, FileChange, NewMode, Resolved, Snapshot, holds_secrets};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::diff;
use super::edit::{has_crlf_only, with_line_ends};
use crate::kept;
use plan::{Plan, Planned};

/// Bytes of diffs after which a preview shows no more of them.
const SHOWN: usize = 200_000;

/// Most text that is changed in one call.
const TOTAL_LIMIT: usize = 256 << 20;

/// Change many files in one call, all or none. `rename` gives files of a folder new names by a
/// regular expression; `move` puts files that match a glob into another folder; `transform`
/// replaces text in files that match a glob. Two files never get one name, and what is there is
/// never replaced. Use a dry run to see what would happen.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    /// What to do
    operation: Operation,
    /// For `rename` a regular expression that is matched against file names; else a glob for
    /// paths seen from `directory`, such as `*.txt` or `**/*.{js,ts}`
    #[schemars(length(min = 1))]
    pattern: String,
    /// Folder to work in, relative to the workspace; the workspace itself if not given
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["path", "dir", "folder"]))]
    directory: Option<String>,
    /// For `rename`: what takes the place of the match; `$1` is the first group
    #[serde(default)]
    replacement: Option<String>,
    /// For `move`: folder to move to, relative to the workspace; made if it is not there
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["dest", "target", "to"]))]
    destination: Option<String>,
    /// For `transform`: exact text to find
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["search"]))]
    find: Option<String>,
    /// For `transform`: text to put in its place
    #[serde(default)]
    replace: Option<String>,
    /// For `rename`: also in the folders inside
    #[serde(default)]
    recursive: bool,
    /// Also files whose name, or whose folder's name, begins with a dot
    #[serde(default)]
    hidden: bool,
    /// Leave out what `.gitignore` files name; true if not given
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["gitignore", "respect_gitignore"]))]
    ignore: Option<bool>,
    #[serde(skip)]
    plan: OnceLock<Plan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Rename,
    Move,
    Transform,
}

impl Tool for Batch {
    const NAME: &'static str = "file.batch";
    const HAS_PREVIEW: bool = true;
    const SURVEYS: bool = true;
    const REPEAT: Repeat = Repeat::Unsafe;
    type Power = ChangeFiles;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Change many files")
            .aliases(&["batch_files", "BatchFiles"])
            .tags(&["file", "batch", "rename", "move", "replace", "many", "bulk"])
            .side_effects(&["renames, moves or changes every file that matches"])
            .risk(Risk::High)
            .example(
                "Give text files another ending",
                json!({"operation": "rename", "pattern": "(.*)\\.txt$", "replacement": "$1.md"}),
                json!({"changes": [{"from": "notes.txt", "to": "notes.md"}], "count": 1}),
            )
            .example(
                "Move files into a folder",
                json!({"operation": "move", "pattern": "**/*.rs", "destination": "old"}),
                json!({"changes": [{"from": "src/main.rs", "to": "old/main.rs"}], "count": 1}),
            )
            .example(
                "Replace text in files",
                json!({"operation": "transform", "pattern": "*.txt", "find": "milk", "replace": "bread"}),
                json!({"changes": [{"path": "notes.txt", "replacements": 1}], "count": 1}),
            )
    }

    fn effects(&self, files: &ChangeFiles, cx: &ToolContext) -> Result<Effects, ToolError> {
        let plan = self.plan(files, cx)?;
        let folder = plan.directory.path().to_owned();
        let mut effects = Effects::none().reads(match plan.deep {
            true => Resource::Tree(folder),
            false => Resource::File(folder),
        });
        for planned in &plan.changes {
            match planned {
                Planned::Move { from, to } => {
                    effects.accesses.extend(from.writes().accesses);
                    effects.accesses.extend(to.writes().accesses);
                }
                Planned::Transform { place, .. } => {
                    effects.accesses.extend(place.reads().accesses);
                    effects.accesses.extend(place.writes().accesses);
                }
            }
        }
        Ok(effects)
    }

    async fn run(self, files: &ChangeFiles, cx: &ToolContext) -> ToolResult {
        let judged = self.plan(files, cx)?;
        // Another call may have come in between; nobody has judged what that would mean.
        if Plan::make(&self, files, cx)?.changes != judged.changes {
            return Err(
                ToolError::conflict("the files changed while the call was judged")
                    .hint("call again"),
            );
        }
        let mut changes = Vec::with_capacity(judged.changes.len());
        let mut total = 0;
        for planned in &judged.changes {
            let change = self.change(planned, files, cx).await?;
            if let FileChange::Put { content, .. } = &change {
                total += content.len();
            }
            changes.push(change);
            if total > TOTAL_LIMIT {
                return Err(ToolError::failed("more text than one call can change")
                    .hint("use a narrower `pattern`, in several calls"));
            }
        }
        let lost = files.apply(changes, cx).await?;
        let output = Output::text(self.told(judged)).and_structured(self.value(judged));
        Ok(kept::with_lost(output, &lost))
    }

    async fn preview(self, files: &ChangeFiles, cx: &ToolContext) -> ToolResult {
        let plan = self.plan(files, cx)?;
        let mut text = self.told(plan);
        for planned in &plan.changes {
            let Planned::Transform { place, .. } = planned else {
                continue;
            };
            // Nobody has agreed yet, so what may be a secret is not even read.
            if let Some(reason) = holds_secrets(place.relative()) {
                let name = place.relative().display();
                text.push_str(&format!("[{name}: not shown: {reason}]\n"));
            } else if text.len() < SHOWN {
                let (before, after) = self.transformed(place, files, cx).await?;
                let old = before.text.as_bytes();
                text.push_str(&diff::unified(place.relative(), Some(old), &after));
            }
        }
        Ok(Output::text(text).and_structured(self.value(plan)))
    }
}

impl Batch {
    fn plan(&self, files: &ChangeFiles, cx: &ToolContext) -> Result<&Plan, ToolError> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan);
        }
        let plan = Plan::make(self, files, cx)?;
        Ok(self.plan.get_or_init(|| plan))
    }

    /// One file as it is, and its text after.
    async fn transformed(
        &self,
        place: &Resolved,
        files: &ChangeFiles,
        cx: &ToolContext,
    ) -> Result<(Snapshot, String), ToolError> {
        let before = files.read(place, cx).await?;
        let (find, replace) = self.texts()?;
        let replace = with_line_ends(replace, has_crlf_only(&before.text));
        let after = before.text.replace(find, &replace);
        Ok((before, after))
    }

    async fn change(
        &self,
        planned: &Planned,
        files: &ChangeFiles,
        cx: &ToolContext,
    ) -> Result<FileChange, ToolError> {
        Ok(match planned {
            Planned::Move { from, to } => FileChange::Move {
                from: from.clone(),
                to: to.clone(),
                overwrite: false,
            },
            Planned::Transform { place, .. } => {
                let (before, after) = self.transformed(place, files, cx).await?;
                FileChange::Put {
                    place: place.clone(),
                    content: before.encode(place, &after)?,
                    mode: NewMode::Kept,
                    like: None,
                    before: before.state(),
                }
            }
        })
    }

    /// What to find, and what to put in its place.
    fn texts(&self) -> Result<(&str, &str), ToolError> {
        let find = self
            .find
            .as_deref()
            .ok_or_else(|| missing("find", "transform"))?;
        let replace = self
            .replace
            .as_deref()
            .or(self.replacement.as_deref())
            .ok_or_else(|| missing("replace", "transform"))?;
        if find.is_empty() {
            return Err(ToolError::input_invalid("`find` is empty"));
        }
        if find == replace {
            return Err(ToolError::input_invalid(
                "`find` and `replace` are the same",
            ));
        }
        Ok((find, replace))
    }

    fn told(&self, plan: &Plan) -> String {
        let mut text = String::new();
        for planned in &plan.changes {
            text.push_str(&match planned {
                Planned::Move { from, to } => {
                    format!(
                        "{} -> {}\n",
                        from.relative().display(),
                        to.relative().display()
                    )
                }
                Planned::Transform {
                    place,
                    replacements,
                } => format!(
                    "{}: {}\n",
                    place.relative().display(),
                    replacements
                        .map_or("not looked at yet".to_owned(), |n| format!("{n} replaced"))
                ),
            });
        }
        if plan.changes.is_empty() {
            let holds = match self.operation {
                Operation::Transform => " and holds the text to find",
                Operation::Rename | Operation::Move => "",
            };
            let pattern = &self.pattern;
            text.push_str(&format!("nothing to do: no file fits `{pattern}`{holds}\n"));
        }
        for (path, reason) in &plan.skipped {
            text.push_str(&format!("[skipped {}: {reason}]\n", path.display()));
        }
        if plan.ignored > 0 {
            text.push_str(&format!("[left out as ignored: {}]\n", plan.ignored));
        }
        text
    }

    fn value(&self, plan: &Plan) -> Value {
        let shown = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let changes: Vec<Value> = plan
            .changes
            .iter()
            .map(|planned| match planned {
                Planned::Move { from, to } => {
                    json!({"from": shown(from.relative()), "to": shown(to.relative())})
                }
                Planned::Transform {
                    place,
                    replacements,
                } => {
                    json!({"path": shown(place.relative()), "replacements": replacements})
                }
            })
            .collect();
        let skipped: Vec<Value> = plan
            .skipped
            .iter()
            .map(|(path, reason)| json!({"path": shown(path), "reason": reason}))
            .collect();
        json!({
            "operation": match self.operation {
                Operation::Rename => "rename",
                Operation::Move => "move",
                Operation::Transform => "transform",
            },
            "directory": plan.directory.path().to_string_lossy(),
            "count": changes.len(),
            "changes": changes,
            "skipped": skipped,
            "ignored": plan.ignored,
        })
    }
}

fn missing(field: &str, operation: &str) -> ToolError {
    ToolError::input_invalid(format!("`{field}` is missing"))
        .hint(format!("`operation: \"{operation}\"` needs it"))
}
