//! Words for what a call has changed that cannot be put back.

use std::path::Path;

use haft_core::Output;
use haft_host::Lost;
use serde_json::{Value, json};

/// Names that are shown in text; the rest stands in the structured answer.
const SHOWN: usize = 20;

/// The answer of a call that changed files, with what an undo could not put back.
pub(crate) fn with_lost(mut output: Output, lost: &[Lost]) -> Output {
    if lost.is_empty() {
        return output;
    }
    if let Some(Value::Object(fields)) = &mut output.structured {
        fields.insert("notUndoable".to_owned(), listed(lost));
    }
    output.and_text(told("cannot be undone", lost))
}

/// One line a place.
pub(crate) fn told(what: &str, lost: &[Lost]) -> String {
    let mut lines: Vec<String> = lost
        .iter()
        .take(SHOWN)
        .map(|one| format!("[{what}: {}: {}]", one.path.display(), one.why))
        .collect();
    let more = lost.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("[{what}: {more} more]"));
    }
    lines.join("\n")
}

pub(crate) fn listed(lost: &[Lost]) -> Value {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    lost.iter()
        .map(|one| json!({"path": text(&one.path), "why": one.why}))
        .collect()
}
