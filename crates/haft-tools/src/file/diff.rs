//! What a change would look like, for previews.

use std::path::Path;
use std::time::Duration;

use haft_core::Output;
use haft_host::{Resolved, holds_secrets};
use serde_json::json;
use similar::TextDiff;

/// Above this a diff helps nobody and takes long to make.
const LIMIT: usize = 1 << 20;

/// The preview of a file that would go from `before` to `after`.
pub(super) fn preview(place: &Resolved, before: Option<&[u8]>, after: &str) -> Output {
    let diff = unified(place.relative(), before, after);
    let text = if diff.is_empty() {
        "no change".to_owned()
    } else {
        diff.clone()
    };
    Output::text(text).and_structured(json!({
        "path": place.path().to_string_lossy(),
        "diff": diff,
        "bytes": after.len(),
    }))
}

/// The preview of a file whose content is nobody's business before a person has agreed.
pub(super) fn withheld(place: &Resolved) -> Option<Output> {
    let reason = holds_secrets(place.relative())?;
    let path = place.path().to_string_lossy();
    Some(
        Output::text(format!("would change `{path}`; not shown: {reason}"))
            .and_structured(json!({"path": path})),
    )
}

pub(super) fn unified(path: &Path, before: Option<&[u8]>, after: &str) -> String {
    let name = path.display();
    let (old_name, before) = match before {
        Some(content) => (format!("a/{name}"), content),
        None => ("/dev/null".to_owned(), &b""[..]),
    };
    let sizes = || {
        format!(
            "{name}: {} bytes become {} bytes\n",
            before.len(),
            after.len()
        )
    };
    let Ok(text) = std::str::from_utf8(before) else {
        return sizes();
    };
    if text.len() + after.len() > LIMIT {
        return if text == after {
            String::new()
        } else {
            sizes()
        };
    }
    difference((&old_name, text), (&format!("b/{name}"), after))
}

/// What became of a text, line by line, each side with its name. Empty where nothing did.
pub fn difference((old_name, old): (&str, &str), (new_name, new): (&str, &str)) -> String {
    let diff = TextDiff::configure()
        .timeout(Duration::from_millis(500))
        .diff_lines(old, new);
    let mut unified = diff.unified_diff();
    unified.header(old_name, new_name).to_string()
}
