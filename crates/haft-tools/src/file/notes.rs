//! What a search did not look at, in words and in fields.

use std::fmt::Write;

use haft_host::Notes;
use serde_json::{Map, Value};

pub(super) fn add(value: &mut Map<String, Value>, notes: &Notes) {
    if notes.unreadable_count > 0 {
        let named: Vec<Value> = notes
            .unreadable
            .iter()
            .map(|path| path.to_string_lossy().into())
            .collect();
        value.insert("unreadable".into(), named.into());
    }
    if notes.secrets > 0 {
        value.insert("protected".into(), notes.secrets.into());
    }
    if notes.closed > 0 {
        value.insert("closed".into(), notes.closed.into());
    }
    if notes.too_large > 0 {
        value.insert("tooLarge".into(), notes.too_large.into());
    }
}

pub(super) fn tell(text: &mut String, notes: &Notes) {
    // Writing to a string cannot fail.
    for path in &notes.unreadable {
        let _ = writeln!(text, "[cannot be opened: {}]", path.display());
    }
    let unnamed = notes.unreadable_count - notes.unreadable.len();
    if unnamed > 0 {
        let _ = writeln!(text, "[{unnamed} more cannot be opened]");
    }
    if notes.secrets > 0 {
        let _ = writeln!(
            text,
            "[not searched, as they hold keys: {}; name one as `path` to be asked]",
            notes.secrets
        );
    }
    if notes.closed > 0 {
        let _ = writeln!(text, "[left out, as rules close them: {}]", notes.closed);
    }
    if notes.too_large > 0 {
        let _ = writeln!(text, "[too large to be searched: {}]", notes.too_large);
    }
    if notes.stopped {
        text.push_str("[stopped before the end]\n");
    }
}
