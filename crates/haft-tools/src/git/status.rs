//! `git.status`: reads git's own machine format (porcelain v2) and gives it as data and in the
//! short form that people know.

use std::path::Path;

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{GitStatus, ReadGit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{failed, looks_at};
use crate::file::Target;

/// Entries answered with; the counts are of all.
const LIMIT: usize = 1_000;

/// Show the state of a git repository: branch, and which files are staged, changed, in conflict
/// or untracked. Changes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {
    /// Folder or file to look at, relative to the workspace; the workspace itself if not given
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["directory", "cwd", "repo"]))]
    path: Option<String>,
    #[serde(skip)]
    target: Target,
}

impl Tool for Status {
    const NAME: &'static str = "git.status";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ReadGit;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Show the state of a repository")
            .aliases(&["git_status", "GitStatus"])
            .tags(&[
                "git",
                "status",
                "repository",
                "changes",
                "branch",
                "version control",
            ])
            .risk(Risk::Low)
            .example(
                "What has changed",
                json!({"path": "repo"}),
                json!({
                    "clean": false,
                    "counts": {"staged": 0, "unstaged": 1, "conflicts": 0, "untracked": 1},
                    "entries": [
                        {"path": "repo/a.txt", "status": "modified", "code": " M"},
                        {"path": "repo/new.txt", "status": "untracked", "code": "??"},
                    ],
                }),
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
        let status = git.status(place, cx).await.map_err(failed("status"))?;
        let read = Read::from(&status, git.workspace());
        let (mut text, mut structured) = (read.text(), read.value(&status.top));
        if status.closed > 0 {
            text.push_str(&format!(
                "[left out, as rules close them: {}]\n",
                status.closed
            ));
            structured["closed"] = status.closed.into();
            structured["clean"] = false.into();
        }
        Ok(Output::text(text).and_structured(structured))
    }
}

/// One file that is not as it was committed.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// Two letters, as in the short format
    code: String,
    path: String,
    /// Name before a rename
    from: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    head: Option<String>,
    commit: Option<String>,
    upstream: Option<String>,
    ahead: u64,
    behind: u64,
    entries: Vec<Entry>,
    truncated: bool,
}

impl Read {
    fn from(status: &GitStatus, workspace: &Path) -> Self {
        let mut read = Read {
            truncated: status.truncated,
            ..Read::default()
        };
        let records = String::from_utf8_lossy(&status.records);
        // What was cut off in its middle says nothing reliable.
        let whole = match (status.truncated, records.rfind('\0')) {
            (true, Some(end)) => &records[..end],
            _ => &records,
        };
        let mut records = whole.split('\0').filter(|record| !record.is_empty());
        let seen = |path: &str| seen_from(workspace, &status.top, path);
        while let Some(record) = records.next() {
            if let Some(header) = record.strip_prefix("# ") {
                read.header(header);
                continue;
            }
            // Fields before the path: eight of a change, nine of a rename, ten of a conflict.
            let fields = match record.as_bytes().first() {
                Some(b'1') => 9,
                Some(b'2') => 10,
                Some(b'u') => 11,
                _ => 2,
            };
            let parts: Vec<&str> = record.splitn(fields, ' ').collect();
            let (Some(kind), Some(path)) = (parts.first(), parts.last()) else {
                continue;
            };
            let code = match *kind {
                "?" => "??".to_owned(),
                "!" => "!!".to_owned(),
                _ => parts.get(1).copied().unwrap_or_default().replace('.', " "),
            };
            let from = (*kind == "2").then(|| records.next()).flatten().map(&seen);
            read.entries.push(Entry {
                code,
                path: seen(path),
                from,
            });
        }
        read
    }

    fn header(&mut self, header: &str) {
        let Some((key, value)) = header.split_once(' ') else {
            return;
        };
        match key {
            "branch.head" => self.head = Some(value.to_owned()),
            "branch.oid" => self.commit = (value != "(initial)").then(|| value.to_owned()),
            "branch.upstream" => self.upstream = Some(value.to_owned()),
            "branch.ab" => {
                let mut numbers = value.split(' ').map(|n| n[1..].parse().unwrap_or(0));
                self.ahead = numbers.next().unwrap_or(0);
                self.behind = numbers.next().unwrap_or(0);
            }
            _ => {}
        }
    }

    fn count(&self, wanted: impl Fn(&Entry) -> bool) -> usize {
        self.entries.iter().filter(|entry| wanted(entry)).count()
    }

    fn value(&self, top: &Path) -> Value {
        let entries: Vec<Value> = self
            .entries
            .iter()
            .take(LIMIT)
            .map(|entry| {
                let mut value = json!({
                    "path": entry.path,
                    "status": entry.status(),
                    "code": entry.code,
                });
                if let Some(from) = &entry.from {
                    value["from"] = from.as_str().into();
                }
                value
            })
            .collect();
        json!({
            "root": top.to_string_lossy(),
            "branch": self.head,
            "commit": self.commit,
            "upstream": self.upstream,
            "ahead": self.ahead,
            "behind": self.behind,
            "clean": self.entries.is_empty() && !self.truncated,
            "counts": {
                "staged": self.count(Entry::staged),
                "unstaged": self.count(Entry::unstaged),
                "conflicts": self.count(Entry::conflict),
                "untracked": self.count(|entry| entry.code == "??"),
            },
            "entries": entries,
            "truncated": self.truncated || self.entries.len() > LIMIT,
        })
    }

    fn text(&self) -> String {
        let mut text = format!("## {}", self.head.as_deref().unwrap_or("(unknown)"));
        if let Some(upstream) = &self.upstream {
            text.push_str(&format!("...{upstream}"));
        }
        if self.ahead + self.behind > 0 {
            text.push_str(&format!(" [ahead {}, behind {}]", self.ahead, self.behind));
        }
        text.push('\n');
        for entry in self.entries.iter().take(LIMIT) {
            match &entry.from {
                Some(from) => text.push_str(&format!("{} {from} -> {}\n", entry.code, entry.path)),
                None => text.push_str(&format!("{} {}\n", entry.code, entry.path)),
            }
        }
        match self.entries.len() {
            0 if self.truncated => {}
            0 => text.push_str("No changes\n"),
            n if n > LIMIT => text.push_str(&format!("[{} more]\n", n - LIMIT)),
            _ => {}
        }
        if self.truncated {
            text.push_str("[there is more: look at a folder inside with `path`]\n");
        }
        text
    }
}

impl Entry {
    fn letters(&self) -> (char, char) {
        let mut letters = self.code.chars();
        (letters.next().unwrap_or(' '), letters.next().unwrap_or(' '))
    }

    fn conflict(&self) -> bool {
        matches!(
            self.letters(),
            ('U', _) | (_, 'U') | ('A', 'A') | ('D', 'D')
        )
    }

    fn staged(&self) -> bool {
        !self.conflict() && !matches!(self.letters().0, ' ' | '?' | '!')
    }

    fn unstaged(&self) -> bool {
        !self.conflict() && !matches!(self.letters().1, ' ' | '?' | '!')
    }

    fn status(&self) -> &'static str {
        if self.conflict() {
            return "conflict";
        }
        let (index, tree) = self.letters();
        let letter = if index == ' ' { tree } else { index };
        match letter {
            '?' => "untracked",
            '!' => "ignored",
            'A' => "added",
            'D' => "deleted",
            'R' => "renamed",
            'C' => "copied",
            'T' => "type changed",
            _ => "modified",
        }
    }
}

/// A path of the repository as seen from the workspace, where that is possible.
pub(super) fn seen_from(workspace: &Path, top: &Path, path: &str) -> String {
    let absolute = top.join(path);
    let seen = absolute.strip_prefix(workspace).unwrap_or(&absolute);
    let mut seen = seen.to_string_lossy().into_owned();
    if path.ends_with('/') && !seen.ends_with('/') {
        seen.push('/');
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_become_entries() {
        let records = "# branch.oid abc\0# branch.head main\0# branch.upstream origin/main\0\
            # branch.ab +2 -1\0\
            1 .M N... 100644 100644 100644 aa bb a b.txt\0\
            2 R. N... 100644 100644 100644 aa bb R100 new.txt\0old.txt\0\
            u UU N... 100644 100644 100644 100644 aa bb cc both.txt\0\
            ? un tracked/\0! ign\0";
        let status = GitStatus {
            records: records.as_bytes().to_vec(),
            truncated: false,
            closed: 0,
            top: "/w/repo".into(),
        };
        let read = Read::from(&status, Path::new("/w"));
        assert_eq!(
            read.text(),
            "## main...origin/main [ahead 2, behind 1]\n M repo/a b.txt\nR  repo/old.txt -> repo/new.txt\nUU repo/both.txt\n?? repo/un tracked/\n!! repo/ign\n"
        );
        let value = read.value(&status.top);
        assert_eq!(
            value["counts"],
            json!({"staged": 1, "unstaged": 1, "conflicts": 1, "untracked": 1})
        );
        assert_eq!(value["entries"][1]["from"], "repo/old.txt");
        assert_eq!((&value["ahead"], &value["behind"]), (&json!(2), &json!(1)));
    }
}
