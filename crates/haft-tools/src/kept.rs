//! Words for what did not come through a change, and for what cannot be put back.

use std::path::Path;

use haft_core::Output;
use haft_host::Lost;
use serde_json::{Value, json};

/// Names that are shown in text; the rest stands in the structured answer.
const SHOWN: usize = 20;

/// The answer of a call that changed files, with what they have no more, and with what an undo
/// could not put back.
pub(crate) fn with_lost(mut output: Output, lost: &[Lost]) -> Output {
    let (gone, for_good): (Vec<Lost>, Vec<Lost>) =
        lost.iter().cloned().partition(|one| one.undoable);
    let rows = [
        ("notKept", "not kept", gone),
        ("notUndoable", "cannot be undone", for_good),
    ];
    for (key, words, lost) in rows {
        if lost.is_empty() {
            continue;
        }
        if let Some(Value::Object(fields)) = &mut output.structured {
            fields.insert(key.to_owned(), listed(&lost));
        }
        output = output.and_text(told(words, &lost));
    }
    output
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
