//! Replaces exact text. Where the text is not there, the answer says where it nearly is; where
//! it is there more than once, how often. It never picks a place by itself.

use std::borrow::Cow;

use haft_core::{
    Effects, Output, Repeat, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{EditFiles, Resolved, Snapshot};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::diff;
use super::nearest::nearest;
use super::target::Target;
use crate::kept;

/// Replace exact text in a file. The text must occur exactly once, unless `replace_all` is set.
/// Several replacements go into `edits`: they are made in order, all or none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    /// File to edit, relative to the workspace
    #[schemars(extend("x-aliases" = ["file_path", "filePath", "file"]))]
    path: String,
    /// Exact text to find, with its whitespace and line ends
    #[serde(default)]
    #[schemars(length(min = 1))]
    #[schemars(extend("x-aliases" = ["oldString", "old_string", "find"]))]
    search: Option<String>,
    /// Text to put in its place
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["newString", "new_string", "replacement"]))]
    replace: Option<String>,
    /// Replace every occurrence
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["replaceAll"]))]
    replace_all: bool,
    /// Several replacements in one call, in place of `search` and `replace`
    #[serde(default)]
    #[schemars(length(min = 1))]
    edits: Option<Vec<Change>>,
    #[serde(skip)]
    target: Target,
}

/// One replacement
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Change {
    /// Exact text to find, with its whitespace and line ends
    #[schemars(length(min = 1))]
    #[schemars(extend("x-aliases" = ["oldString", "old_string", "find"]))]
    search: String,
    /// Text to put in its place
    #[schemars(extend("x-aliases" = ["newString", "new_string", "replacement"]))]
    replace: String,
    /// Replace every occurrence
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["replaceAll"]))]
    replace_all: bool,
}

impl Tool for Edit {
    const NAME: &'static str = "file.edit";
    const HAS_PREVIEW: bool = true;
    const REPEAT: Repeat = Repeat::Unsafe;
    type Power = EditFiles;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = spec
            .titled("Edit a file")
            .aliases(&["Edit", "edit_file", "str_replace", "WsEdit"])
            .tags(&["file", "edit", "replace", "change", "search"])
            .side_effects(&["replaces text in the file"])
            .risk(Risk::High)
            .example(
                "Replace one occurrence",
                json!({"path": "notes.txt", "search": "milk", "replace": "bread"}),
                json!({"replacements": 1}),
            )
            .example(
                "Make several replacements at once",
                json!({"path": "notes.txt", "edits": [
                    {"search": "todo", "replace": "done"},
                    {"search": "o", "replace": "0", "replace_all": true},
                ]}),
                json!({"replacements": 2}),
            );
        spec.eager_input_streaming = true;
        spec
    }

    fn effects(&self, files: &EditFiles, _cx: &ToolContext) -> Result<Effects, ToolError> {
        let place = self.place(files)?;
        let mut effects = place.reads();
        effects.accesses.extend(place.writes().accesses);
        Ok(effects)
    }

    async fn run(self, files: &EditFiles, cx: &ToolContext) -> ToolResult {
        let place = self.place(files)?;
        let changes = self.changes()?;
        let before = files.read(place, cx).await?;
        let (after, replacements) = changed(&before, &changes)?;
        let lost = files.replace(place, &before, after, cx).await?;
        let path = place.path().to_string_lossy();
        let noun = if replacements == 1 {
            "replacement"
        } else {
            "replacements"
        };
        let output = Output::text(format!("made {replacements} {noun} in {path}"))
            .and_structured(json!({"path": path, "replacements": replacements}));
        Ok(kept::with_lost(output, &lost))
    }

    async fn preview(self, files: &EditFiles, cx: &ToolContext) -> ToolResult {
        let place = self.place(files)?;
        let changes = self.changes()?;
        if let Some(output) = diff::withheld(place) {
            return Ok(output);
        }
        let before = files.read(place, cx).await?;
        let (after, _) = changed(&before, &changes)?;
        let shown = before.shown(&before.text);
        Ok(diff::preview(
            place,
            Some(shown.as_bytes()),
            &before.shown(&after),
        ))
    }
}

impl Edit {
    fn place(&self, files: &EditFiles) -> Result<&Resolved, ToolError> {
        self.target.get(|| files.resolve(&self.path))
    }

    fn changes(&self) -> Result<Vec<Change>, ToolError> {
        match (&self.search, &self.replace, &self.edits) {
            (Some(search), Some(replace), None) => Ok(vec![Change {
                search: search.clone(),
                replace: replace.clone(),
                replace_all: self.replace_all,
            }]),
            (None, None, Some(edits)) if !edits.is_empty() => Ok(edits.clone()),
            (None, None, Some(_)) => Err(ToolError::input_invalid("`edits` is empty")),
            (_, _, Some(_)) => Err(ToolError::input_invalid(
                "`edits` does not go with `search` and `replace`",
            )),
            (None, _, None) => Err(missing("search")),
            (_, None, None) => Err(missing("replace")),
        }
    }
}

fn missing(field: &str) -> ToolError {
    ToolError::input_invalid(format!("`{field}` is missing"))
        .hint("give `search` and `replace`, or a list of both in `edits`")
}

/// The same as [`apply`]; what is not found in a file that is not plain UTF-8 may be there in
/// other bytes.
fn changed(before: &Snapshot, changes: &[Change]) -> Result<(String, usize), ToolError> {
    apply(&before.text, changes).map_err(|mut error| {
        let missing = changes.iter().any(|one| !before.text.contains(&one.search));
        if let Some(why) = before.strangeness().filter(|_| missing) {
            let hint = error.hint.take().unwrap_or_default();
            error.hint = Some(format!("{why}; {}", before.shown(&hint)));
        }
        error
    })
}

/// The text after all changes, and how many replacements that took.
fn apply(text: &str, changes: &[Change]) -> Result<(String, usize), ToolError> {
    let crlf = has_crlf_only(text);
    let mut text = text.to_owned();
    let mut total = 0;
    for (index, change) in changes.iter().enumerate() {
        let replaced = apply_one(&text, change, crlf).map_err(|mut error| {
            if changes.len() > 1 {
                error.message =
                    format!("edit {} of {}: {}", index + 1, changes.len(), error.message);
            }
            error
        })?;
        text = replaced.0;
        total += replaced.1;
    }
    Ok((text, total))
}

fn apply_one(text: &str, change: &Change, crlf: bool) -> Result<(String, usize), ToolError> {
    let Change {
        search,
        replace,
        replace_all,
    } = change;
    if search.is_empty() {
        return Err(ToolError::input_invalid("the text to find is empty"));
    }
    if search == replace {
        return Err(ToolError::input_invalid(
            "the text to find and its replacement are the same",
        ));
    }
    let replace = with_line_ends(replace, crlf);
    let starts = starts_of(text, search);
    match starts.as_slice() {
        [] => Err(not_found(text, search)),
        [_] => Ok((text.replacen(search, &replace, 1), 1)),
        _ if *replace_all => {
            let count = text.matches(search.as_str()).count();
            Ok((text.replace(search.as_str(), &replace), count))
        }
        several => Err(ambiguous(text, search, several)),
    }
}

/// Every place where the text begins, even where one lies over the next.
fn starts_of(text: &str, search: &str) -> Vec<usize> {
    let step = search.chars().next().map_or(1, char::len_utf8);
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(found) = text[from..].find(search) {
        starts.push(from + found);
        from += found + step;
    }
    starts
}

fn not_found(text: &str, search: &str) -> ToolError {
    let error = ToolError::failed(format!("text not found: `{}`", first_line(search)));
    match nearest(text, search) {
        Some(places) => error.hint(places),
        None => error.hint("read the file with `file.read` and copy the text from there"),
    }
}

fn ambiguous(text: &str, search: &str, starts: &[usize]) -> ToolError {
    const SHOWN: usize = 10;
    let mut lines: Vec<String> = starts
        .iter()
        .take(SHOWN)
        .map(|&start| (text[..start].matches('\n').count() + 1).to_string())
        .collect();
    if starts.len() > SHOWN {
        lines.push("…".to_owned());
    }
    ToolError::failed(format!(
        "text occurs {} times, expected once: `{}`",
        starts.len(),
        first_line(search)
    ))
    .hint(format!(
        "set `replace_all: true` (`replaceAll: true`) to change all of them, or give more of the text around one; found at lines {}",
        lines.join(", ")
    ))
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let start: String = line.chars().take(60).collect();
    if start.len() < text.len() {
        format!("{start}…")
    } else {
        start
    }
}

/// New lines get the file's own line ends.
pub(super) fn with_line_ends(text: &str, crlf: bool) -> Cow<'_, str> {
    match crlf && !text.contains('\r') {
        true => text.replace('\n', "\r\n").into(),
        false => text.into(),
    }
}

pub(super) fn has_crlf_only(text: &str) -> bool {
    let all = text.matches('\n').count();
    all > 0 && text.matches("\r\n").count() == all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(search: &str, replace: &str, replace_all: bool) -> Change {
        Change {
            search: search.to_owned(),
            replace: replace.to_owned(),
            replace_all,
        }
    }

    #[test]
    fn replacing() {
        let check = |before: &str, changes: &[Change], expected: &str| {
            let shown = match apply(before, changes) {
                Ok((after, count)) => format!("{count}: {after}"),
                Err(error) => format!("{}: {}", error.code, error.message),
            };
            assert_eq!(shown, expected);
        };
        check("a b c", &[change("b", "x", false)], "1: a x c");
        check("a b b", &[change("b", "x", true)], "2: a x x");
        check("b", &[change("b", "bb", true)], "1: bb");
        check(
            "a b b",
            &[change("b", "x", false)],
            "execution_failed: text occurs 2 times, expected once: `b`",
        );
        check(
            "aaa",
            &[change("aa", "x", false)],
            "execution_failed: text occurs 2 times, expected once: `aa`",
        );
        check("äää", &[change("ää", "x", true)], "1: xä");
        check(
            "a",
            &[change("b", "c", true)],
            "execution_failed: text not found: `b`",
        );
        check(
            "a",
            &[change("a", "a", false)],
            "input_invalid: the text to find and its replacement are the same",
        );
        check(
            "a\r\nb\r\n",
            &[change("a", "a\nc", false)],
            "1: a\r\nc\r\nb\r\n",
        );
        check("a\r\nb\n", &[change("a", "a\nc", false)], "1: a\nc\r\nb\n");
        check("\u{feff}a", &[change("a", "b", false)], "1: \u{feff}b");
        check(
            "one two",
            &[change("one", "two", false), change("two", "x", true)],
            "3: x x",
        );
        check(
            "one two",
            &[change("one", "two", false), change("zzz", "x", true)],
            "execution_failed: edit 2 of 2: text not found: `zzz`",
        );
    }

    #[test]
    fn what_is_nearest() {
        let check = |text: &str, search: &str, reason: &str, line: &str| {
            let hint = apply(text, &[change(search, "", false)])
                .unwrap_err()
                .into_body()
                .hint
                .unwrap();
            assert!(hint.contains(reason), "{search:?}: {hint}");
            assert!(hint.contains(line), "{search:?}: {hint}");
        };
        let code = "fn main() {\r\n\tlet x = 1;  \r\n}\r\n";
        check(
            code,
            "main() {\n\tlet",
            "line ends differ",
            "1\tfn main() {\\r\n2\t\\tlet",
        );
        check(
            "a = 1;  \nb\n",
            "a = 1;\nb",
            "end of a line differs",
            "1\ta = 1;··",
        );
        check(
            "  if x {\n    y\n",
            "if x {\n  y",
            "indentation differs",
            "2\t    y",
        );
        check("let  x=1", "let x=1", "whitespace differs", "1\tlet  x=1");
        check(
            "Hello World",
            "hello world",
            "case differ",
            "1\tHello World",
        );
        check(
            "a\nlet total = sum(items);\n",
            "let totals = sum(item);",
            "only alike",
            "2\tlet total",
        );
        check("a\nb\n", "something else entirely", "file.read", "copy");
    }
}
