//! Shortens what reading and listing give back when nobody asked for a part: the first lines or
//! rows, how much there is, and how to get the rest.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_core::{Output, ReduceContext, Reducer};
use serde_json::Value;

use crate::lines::{Gaps, Lines, text_of};

/// Lines of a file that are shown, and error lines after them.
pub(super) const LINES: usize = 200;
const ERRORS: usize = 20;

/// Lists up to this length are left alone; of longer ones this many rows are shown.
const SHORT: usize = 200;
const ROWS: usize = 100;

pub(super) fn all() -> Vec<Arc<dyn Reducer>> {
    vec![
        Arc::new(ReadReducer),
        Arc::new(ListReducer("file.list", "entries")),
        Arc::new(ListReducer("file.glob", "matches")),
        Arc::new(ListReducer("file.grep", "matches")),
    ]
}

struct ReadReducer;

impl Reducer for ReadReducer {
    fn tool(&self) -> &str {
        "file.read"
    }

    fn reduce(&self, output: &Output, cx: ReduceContext<'_>) -> Option<Output> {
        let asked = |key: &str| cx.args.get(key).is_some_and(|value| !value.is_null());
        let base64 = cx
            .args
            .get("encoding")
            .is_some_and(|value| value == "base64");
        if asked("offset") || asked("limit") || base64 || output.error.is_some() {
            return None;
        }
        let mut structured = output.structured.clone()?;
        let content = structured.get("content")?.as_str()?.to_owned();
        let all = Lines::of(&content).count();
        if all <= LINES {
            return None;
        }
        let more = match structured.get("more") {
            Some(_) => " and more",
            None => "",
        };
        let hint = format!(
            "[{all} lines{more}, {} bytes with their numbers; shown are the first {LINES}: read on with `offset: {LINES}` and a `limit`, or search with `file.grep`]\n",
            content.len()
        );
        let text = format!("{hint}{}", first_lines(&text_of(output)));
        structured["content"] = first_lines(&content).trim_end().into();
        structured["shown"] = LINES.into();
        (text.len() < text_of(output).len()).then(|| Output::text(text).and_structured(structured))
    }
}

fn first_lines(text: &str) -> String {
    let mut lines = Lines::of(text);
    lines.keep_first(LINES);
    lines.keep_where(|line| {
        line.starts_with("[decoded from ") || line.starts_with("[stopped after ")
    });
    lines.keep_errors(ERRORS);
    lines.text(Gaps::Marked)
}

/// The tool, and where its rows are.
struct ListReducer(&'static str, &'static str);

impl Reducer for ListReducer {
    fn tool(&self) -> &str {
        self.0
    }

    fn reduce(&self, output: &Output, cx: ReduceContext<'_>) -> Option<Output> {
        // Whoever asks for a number of rows gets them.
        if cx.args.get("limit").is_some_and(|value| !value.is_null()) || output.error.is_some() {
            return None;
        }
        let mut structured = output.structured.clone()?;
        let rows = structured.get_mut(self.1)?.as_array_mut()?;
        if rows.len() <= SHORT {
            return None;
        }
        let hint = format!("[{}; shown are the first {ROWS}]\n", summary(rows));
        rows.truncate(ROWS);
        structured["shown"] = ROWS.into();
        let before = text_of(output);
        let mut lines = Lines::of(&before);
        lines.keep_first(ROWS);
        lines.keep_where(|line| line.starts_with('['));
        lines.keep_errors(ERRORS);
        let text = format!("{hint}{}", lines.text(Gaps::Marked));
        (text.len() < before.len()).then(|| Output::text(text).and_structured(structured))
    }
}

/// How many of what.
fn summary(rows: &[Value]) -> String {
    let kinds = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).count();
    if rows.iter().any(|row| row.get("kind").is_some()) {
        let size: u64 = rows.iter().filter_map(|row| row["size"].as_u64()).sum();
        return format!(
            "{} entries: {} files with {size} bytes, {} folders, {} links",
            rows.len(),
            kinds("file"),
            kinds("dir"),
            kinds("symlink")
        );
    }
    let files: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row.get("path").unwrap_or(row).as_str())
        .collect();
    format!("{} rows from {} files", rows.len(), files.len())
}
