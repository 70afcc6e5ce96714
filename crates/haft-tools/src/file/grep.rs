//! Searches what files hold. Which files and lines those are is the host's part; here the answer
//! gets its two forms: objects for programs, `path:line: content` for models.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use haft_core::{
    Effects, Output, Repeat, Resource, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{
    Case, FileMatches, Kept, Match, Resolved, SearchText, Telling, TextFound, TextQuery,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::notes;
use super::target::Target;

/// Matches that fit an answer unless more are asked for.
const LIMIT: u64 = 100;

/// Search the content of files with a regular expression, line by line. Files that `.gitignore`
/// names, hidden files, binary files and files that hold keys are left out. Links inside the
/// workspace are followed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Grep {
    /// Regular expression, in the syntax of Rust's regex crate
    #[schemars(length(min = 1), extend("x-aliases" = ["regex", "query"]))]
    pattern: String,
    /// Folder or file to search, relative to the workspace; the workspace itself if not given
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["directory", "dir", "folder", "file_path"]))]
    path: Option<String>,
    /// Glob that file names must fit: `*.md`, `*.{rs,ts}`
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["glob", "file_pattern"]))]
    include: Option<String>,
    /// Type of files to search, as ripgrep names them: `rust`, `py`, `ts`
    #[serde(default, rename = "type")]
    #[schemars(extend("x-aliases" = ["file_type"]))]
    file_type: Option<String>,
    /// `matches` for lines, `count` for lines a file, `files` for the files alone
    #[serde(default)]
    mode: Mode,
    /// `sensitive`, `insensitive`, or `smart`: sensitive if the pattern has an upper case letter
    #[serde(default)]
    case: CaseArgument,
    /// Lines to show before and after each match
    #[serde(default)]
    #[schemars(range(max = 50))]
    context: u64,
    /// Let matches span lines
    #[serde(default)]
    multiline: bool,
    /// Leave out what `.gitignore` and `.ignore` files name
    #[serde(default = "yes")]
    ignore: bool,
    /// Search files and folders whose names start with a dot
    #[serde(default)]
    hidden: bool,
    /// Matches to answer with; above 1000 all of them are kept behind a handle
    #[serde(default = "limit")]
    #[schemars(range(min = 1), extend("x-aliases" = ["max_results", "head_limit"]))]
    limit: u64,
    #[serde(skip)]
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Matches,
    Count,
    Files,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CaseArgument {
    #[default]
    Sensitive,
    Insensitive,
    Smart,
}

fn yes() -> bool {
    true
}

fn limit() -> u64 {
    LIMIT
}

impl Tool for Grep {
    const NAME: &'static str = "file.grep";
    const REPEAT: Repeat = Repeat::Read;
    type Power = SearchText;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Search in files")
            .aliases(&["Grep", "grep", "search_files", "WsGrep"])
            .tags(&["file", "search", "regex", "text", "content", "find"])
            .risk(Risk::Low)
            .example(
                "Find a word in text files",
                json!({"pattern": "mil.", "include": "*.txt"}),
                json!({"pattern": "mil.", "count": 1}),
            )
            .example(
                "Count matching lines a file",
                json!({"pattern": "^fn ", "mode": "count", "type": "rust"}),
                json!({"count": 1}),
            )
    }

    fn effects(&self, power: &SearchText, _cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(tree(self.place(power)?))
    }

    async fn run(self, power: &SearchText, cx: &ToolContext) -> ToolResult {
        let place = self.place(power)?.clone();
        let query = TextQuery {
            pattern: self.pattern.clone(),
            case: match self.case {
                CaseArgument::Sensitive => Case::Sensitive,
                CaseArgument::Insensitive => Case::Insensitive,
                CaseArgument::Smart => Case::Smart,
            },
            multiline: self.multiline,
            include: self.include.clone(),
            file_type: self.file_type.clone(),
            telling: match self.mode {
                Mode::Matches => Telling::Matches,
                Mode::Count => Telling::Counts,
                Mode::Files => Telling::Files,
            },
            context: usize::try_from(self.context).unwrap_or(usize::MAX),
            ignore: self.ignore,
            hidden: self.hidden,
            limit: self.limit,
        };
        let found = power.search(&place, query, cx).await?;
        let text = self.as_text(&found, &place, &cx.caller.workspace);
        let structured = self.as_value(&found, &place);
        let mut output = Output::text(text).and_structured(structured);
        if let Some(Kept { handle, chars }) = found.kept {
            output.handle = Some(handle);
            output.total_chars = usize::try_from(chars).ok();
        }
        Ok(output)
    }
}

/// What reading everything below a place touches, or the file itself. The host leaves out what
/// rules close.
pub(super) fn tree(place: &Resolved) -> Effects {
    let mut effects = place.reads().skipping_closed();
    for access in &mut effects.accesses {
        if let Resource::File(path) = &access.resource {
            access.resource = Resource::Tree(path.clone());
        }
    }
    effects
}

impl Grep {
    fn place(&self, power: &SearchText) -> Result<&Resolved, ToolError> {
        self.target
            .get(|| power.resolve(self.path.as_deref().unwrap_or(".")))
    }

    fn as_value(&self, found: &TextFound, place: &Resolved) -> Value {
        let mut value = Map::new();
        value.insert("pattern".into(), self.pattern.as_str().into());
        value.insert("basePath".into(), place.path().to_string_lossy().into());
        let (name, list) = match self.mode {
            Mode::Matches => ("matches", matches(found, place)),
            Mode::Count => ("counts", counts(found, place)),
            Mode::Files => ("files", files(found, place)),
        };
        let shown = list.len() as u64;
        value.insert(name.into(), list.into());
        if found.more || found.notes.stopped || shown < found.found {
            value.insert("truncated".into(), true.into());
        } else if self.mode == Mode::Count {
            let total: u64 = found.files.iter().filter_map(|file| file.count).sum();
            value.insert("count".into(), total.into());
        } else {
            value.insert("count".into(), shown.into());
        }
        notes::add(&mut value, &found.notes);
        value.into()
    }

    fn as_text(&self, found: &TextFound, place: &Resolved, workspace: &Path) -> String {
        let mut text = String::new();
        // Whoever read along has seen them all.
        let files = if found.poured { &[] } else { &found.files[..] };
        for file in files {
            let path = joined(place.path(), &file.path);
            let path = path.strip_prefix(workspace).unwrap_or(&path).display();
            let path = path.to_string();
            // Writing to a string cannot fail.
            let _ = match (self.mode, file.count) {
                (Mode::Matches, _) if self.context > 0 => {
                    in_context(&mut text, &path, &file.matches);
                    Ok(())
                }
                (Mode::Matches, _) => file.matches.iter().try_for_each(|found| {
                    let content = found.content.replace('\n', "\\n");
                    writeln!(text, "{path}:{}: {content}", found.line)
                }),
                (Mode::Count, count) => writeln!(text, "{path}:{}", count.unwrap_or(0)),
                (Mode::Files, _) => writeln!(text, "{path}"),
            };
        }
        if text.is_empty() && !found.poured {
            text.push_str("[no match]\n");
        }
        self.add_ending(&mut text, found);
        text
    }

    fn add_ending(&self, text: &mut String, found: &TextFound) {
        let noun = match self.mode {
            Mode::Matches => "matches",
            Mode::Count | Mode::Files => "files",
        };
        let _ = match (&found.kept, found.more) {
            (Some(kept), _) => writeln!(
                text,
                "[{}{} {noun}, all behind the handle {}]",
                found.found,
                if found.more { "+" } else { "" },
                kept.handle
            ),
            (None, more) if found.poured => writeln!(
                text,
                "[{}{} {noun}]",
                found.found,
                if more { "+" } else { "" },
            ),
            (None, true) => writeln!(
                text,
                "[only the first {} {noun}; narrow the search or raise `limit`]",
                self.limit
            ),
            (None, false) => Ok(()),
        };
        notes::tell(text, &found.notes);
    }
}

fn matches(found: &TextFound, place: &Resolved) -> Vec<Value> {
    let mut list = Vec::new();
    for file in &found.files {
        let path = absolute(place, file);
        for found in &file.matches {
            let mut value = json!({
                "path": path,
                "line": found.line,
                "content": found.content,
            });
            if !found.before.is_empty() {
                value["before"] = json!(found.before);
            }
            if !found.after.is_empty() {
                value["after"] = json!(found.after);
            }
            list.push(value);
        }
    }
    list
}

fn counts(found: &TextFound, place: &Resolved) -> Vec<Value> {
    found
        .files
        .iter()
        .map(|file| json!({"path": absolute(place, file), "count": file.count}))
        .collect()
}

fn files(found: &TextFound, place: &Resolved) -> Vec<Value> {
    found
        .files
        .iter()
        .map(|file| absolute(place, file).into())
        .collect()
}

fn absolute(place: &Resolved, file: &FileMatches) -> String {
    let path = joined(place.path(), &file.path);
    path.to_string_lossy().into_owned()
}

fn joined(base: &Path, path: &[u8]) -> std::path::PathBuf {
    match path {
        b"" => base.to_owned(),
        _ => base.join(OsStr::from_bytes(path)),
    }
}

/// Matches with the lines around them, each line once, and a rule between groups.
fn in_context(text: &mut String, path: &str, matches: &[Match]) {
    let mut told = 0;
    for (n, found) in matches.iter().enumerate() {
        let next = matches.get(n + 1).map_or(u64::MAX, |next| next.line);
        let first = found.line - found.before.len() as u64;
        if told > 0 && first > told + 1 || (told == 0 && !text.is_empty()) {
            text.push_str("--\n");
        }
        for (number, line) in (first..).zip(&found.before) {
            if number > told {
                let _ = writeln!(text, "{path}-{number}- {line}");
            }
        }
        let height = found.content.matches('\n').count() as u64;
        let _ = writeln!(
            text,
            "{path}:{}: {}",
            found.line,
            found.content.replace('\n', "\\n")
        );
        told = found.line + height;
        for (number, line) in (told + 1..).zip(&found.after) {
            if number < next {
                let _ = writeln!(text, "{path}-{number}- {line}");
                told = number;
            }
        }
    }
}
