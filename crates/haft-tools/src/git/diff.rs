//! `git.diff`: what has changed, as git shows it and in numbers.

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{DiffRequest, GIT_OUTPUT, GitDiff, ReadGit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{failed, looks_at};
use crate::file::Target;

/// Show differences in a git repository: what is not staged yet, what is staged, or what differs
/// from a commit. New files that are not staged are not part of it. Changes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Diff {
    /// Folder or file to look at, relative to the workspace; the workspace itself if not given
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["directory", "cwd", "file"]))]
    path: Option<String>,
    /// What is to be committed, instead of what is not staged
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["cached"]))]
    staged: bool,
    /// A commit, branch or tag to compare with, or two of them as `a..b`
    #[serde(default)]
    #[schemars(length(min = 1), extend("x-aliases" = ["ref", "revision", "base"]))]
    commit: Option<String>,
    #[serde(skip)]
    target: Target,
}

impl Tool for Diff {
    const NAME: &'static str = "git.diff";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ReadGit;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Show differences in a repository")
            .aliases(&["git_diff", "GitDiff"])
            .tags(&["git", "diff", "changes", "compare", "repository", "version control"])
            .risk(Risk::Low)
            .example(
                "What has changed since the last commit",
                json!({"path": "repo", "commit": "HEAD"}),
                json!({"files": [{"path": "a.txt", "added": 1, "deleted": 0}], "added": 1, "deleted": 0}),
            )
    }

    fn effects(&self, git: &ReadGit, _cx: &ToolContext) -> Result<Effects, ToolError> {
        let place = self
            .target
            .get(|| git.resolve(self.path.as_deref().unwrap_or(".")))?;
        Ok(looks_at(place))
    }

    async fn run(self, git: &ReadGit, cx: &ToolContext) -> ToolResult {
        let place = self
            .target
            .get(|| git.resolve(self.path.as_deref().unwrap_or(".")))?;
        let request = DiffRequest {
            staged: self.staged,
            commit: self.commit.clone(),
        };
        let diff = git
            .diff(place, &request, cx)
            .await
            .map_err(failed("diff"))?;
        Ok(answer(&diff))
    }
}

fn answer(diff: &GitDiff) -> Output {
    let files = numbers(&diff.numbers);
    let total = |key: &str| -> u64 { files.iter().filter_map(|file| file[key].as_u64()).sum() };
    let patch = String::from_utf8_lossy(&diff.patch).into_owned();
    let mut text = match patch.is_empty() {
        true => "No differences\n".to_owned(),
        false => patch.clone(),
    };
    for name in &diff.withheld {
        text.push_str(&format!(
            "[{name} changed and is not shown, since it may hold secrets; ask for it by `path`]\n"
        ));
    }
    if diff.closed > 0 {
        text.push_str(&format!(
            "[left out, as rules close them: {}]\n",
            diff.closed
        ));
    }
    if diff.truncated {
        text.push_str(&format!(
            "[cut at {GIT_OUTPUT} bytes; look at a part of it with `path`]\n"
        ));
    }
    let mut structured = json!({
        "root": diff.top.to_string_lossy(),
        "added": total("added"),
        "deleted": total("deleted"),
        "files": files,
        "diff": patch,
        "withheld": diff.withheld,
        "truncated": diff.truncated,
    });
    if diff.closed > 0 {
        structured["closed"] = diff.closed.into();
    }
    Output::text(text).and_structured(structured)
}

/// Lines added and deleted in each file; none where it is binary.
fn numbers(records: &[u8]) -> Vec<Value> {
    let records = String::from_utf8_lossy(records);
    let mut records = records.split('\0').filter(|record| !record.is_empty());
    let mut files = Vec::new();
    while let Some(record) = records.next() {
        let parts: Vec<&str> = record.splitn(3, '\t').collect();
        let [added, deleted, path] = parts.as_slice() else {
            continue;
        };
        let number = |text: &str| text.parse::<u64>().ok();
        // Of a rename, both names come as records of their own.
        let (from, path) = match path.is_empty() {
            true => (records.next(), records.next().unwrap_or_default()),
            false => (None, *path),
        };
        let mut file = json!({"path": path, "added": number(added), "deleted": number(deleted)});
        if let Some(from) = from {
            file["from"] = from.into();
        }
        if *added == "-" {
            file["binary"] = true.into();
        }
        files.push(file);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_files() {
        let records = b"1\t2\ta b.txt\0-\t-\timage.png\0" as &[u8];
        let renamed = b"3\t0\t\0old.txt\0new.txt\0" as &[u8];
        assert_eq!(
            numbers(&[records, renamed].concat()),
            [
                json!({"path": "a b.txt", "added": 1, "deleted": 2}),
                json!({"path": "image.png", "added": null, "deleted": null, "binary": true}),
                json!({"path": "new.txt", "added": 3, "deleted": 0, "from": "old.txt"}),
            ]
        );
    }
}
