use std::path::Path;

use haft_core::{Mode, ToolContext};

/// Whether a rule closes a file that git names, seen from the top of its repository.
pub(super) fn is_closed(top: &Path, name: &str, cx: &ToolContext) -> bool {
    let path = top.join(name.trim_end_matches('/'));
    cx.closed
        .as_ref()
        .is_some_and(|closed| closed.closes(Mode::Read, &path))
}

/// The records of `status --porcelain=v2 -z` without those of files that rules close, and how
/// many those were. A rename goes with either of its names.
pub(super) fn leave_out(records: Vec<u8>, top: &Path, cx: &ToolContext) -> (Vec<u8>, usize) {
    if cx.closed.is_none() {
        return (records, 0);
    }
    let text = String::from_utf8_lossy(&records);
    let mut kept = String::with_capacity(text.len());
    let mut closed = 0;
    let mut all = text.split_inclusive('\0');
    while let Some(record) = all.next() {
        let (kind, fields) = match record.as_bytes().first() {
            Some(b'1') => ('1', 9),
            Some(b'2') => ('2', 10),
            Some(b'u') => ('u', 11),
            Some(b'?' | b'!') => ('?', 2),
            _ => {
                kept.push_str(record);
                continue;
            }
        };
        let from = if kind == '2' { all.next() } else { None };
        let name = record.splitn(fields, ' ').last().unwrap_or_default();
        let is_closed = |name: &str| is_closed(top, name.trim_end_matches('\0'), cx);
        if is_closed(name) || from.is_some_and(is_closed) {
            closed += 1;
            continue;
        }
        kept.push_str(record);
        kept.push_str(from.unwrap_or_default());
    }
    (kept.into_bytes(), closed)
}
