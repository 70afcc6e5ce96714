use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{FindFiles, GlobPlan};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::grep::tree;
use super::notes;

/// More files than anyone reads; the answer says when there are more.
const LIMIT: u64 = 1_000;

/// Find files by a glob on their paths, newest first. `*` stays within one folder, `**` goes
/// through all. Files that `.gitignore` names and hidden files are left out. Links inside the
/// workspace are followed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Glob {
    /// Glob for paths, seen from `path`: `**/*.md`, `src/**/*.{rs,toml}`
    #[schemars(length(min = 1), extend("x-aliases" = ["glob"]))]
    pattern: String,
    /// Folder to search in, relative to the workspace; the workspace itself if not given
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["directory", "dir", "folder"]))]
    path: Option<String>,
    /// Leave out what `.gitignore` and `.ignore` files name
    #[serde(default = "yes")]
    ignore: bool,
    /// Find names that start with a dot, also where the pattern does not say so
    #[serde(default)]
    hidden: bool,
    /// Files to answer with
    #[serde(default = "limit")]
    #[schemars(range(min = 1), extend("x-aliases" = ["max_results", "head_limit"]))]
    limit: u64,
    #[serde(skip)]
    plan: OnceLock<Arc<GlobPlan>>,
}

fn yes() -> bool {
    true
}

fn limit() -> u64 {
    LIMIT
}

impl Tool for Glob {
    const NAME: &'static str = "file.glob";
    const REPEAT: Repeat = Repeat::Read;
    type Power = FindFiles;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Find files by name")
            .aliases(&["Glob", "glob", "find_files", "WsGlob"])
            .tags(&["file", "find", "glob", "path", "name", "search"])
            .risk(Risk::Low)
            .example(
                "Find all Rust files",
                json!({"pattern": "**/*.rs"}),
                json!({"pattern": "**/*.rs", "count": 1}),
            )
    }

    fn effects(&self, power: &FindFiles, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(tree(self.plan(power)?.start()))
    }

    async fn run(self, power: &FindFiles, cx: &ToolContext) -> ToolResult {
        let plan = self.plan(power)?.clone();
        let found = power
            .find(plan.clone(), self.ignore, self.hidden, cx)
            .await?;
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let count = found.paths.len();
        let workspace = cx.caller.workspace.as_path();
        let mut text = String::new();
        let mut matches: Vec<Value> = Vec::with_capacity(count.min(limit));
        for path in found.paths.iter().take(limit) {
            let path = plan.start().path().join(path);
            let short = path.strip_prefix(workspace).unwrap_or(&path);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", short.display());
            matches.push(path.to_string_lossy().into());
        }
        if text.is_empty() {
            text.push_str("[no file fits]\n");
        }
        let mut value = Map::new();
        value.insert("pattern".into(), self.pattern.into());
        let base = plan.base().path().to_string_lossy();
        value.insert("basePath".into(), base.into());
        value.insert("matches".into(), matches.into());
        value.insert("count".into(), count.into());
        if count > limit || found.notes.stopped {
            value.insert("truncated".into(), true.into());
            let _ = writeln!(text, "[only the newest {limit} of {count} files]");
        }
        notes::add(&mut value, &found.notes);
        notes::tell(&mut text, &found.notes);
        Ok(Output::text(text).and_structured(value.into()))
    }
}

impl Glob {
    /// Planned once: what policy has judged is what is gone through.
    fn plan(&self, power: &FindFiles) -> Result<&Arc<GlobPlan>, ToolError> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan);
        }
        let plan = power.plan(self.path.as_deref().unwrap_or("."), &self.pattern)?;
        Ok(self.plan.get_or_init(|| Arc::new(plan)))
    }
}
