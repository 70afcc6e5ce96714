//! trim: the answer fits the call's share of the budget. What does not fit stays readable behind
//! a handle, error lines are kept, and the notice says how much there was.

use std::sync::LazyLock;

use haft_core::{Block, Nature, Output};
use regex::Regex;
use serde_json::Value;

use super::{structured, untrusted};
use crate::flight::Flight;
use crate::visible::shortened;

/// Characters an error message or its hint may take.
const ERROR: usize = 4_000;
/// Error lines saved from the part that is cut, and how long each may be.
const ERROR_LINES: usize = 12;
const ERROR_LINE: usize = 300;

static ERROR_LINE_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:error|failed|failure|panicked|exception|fatal|traceback)\b").ok()
});

pub(crate) fn output(flight: &mut Flight<'_>, output: &mut Output) {
    if let Some(error) = &mut output.error {
        error.message = shortened(&error.message, ERROR).into_owned();
        error.hint = error
            .hint
            .take()
            .map(|hint| shortened(&hint, ERROR).into_owned());
    }
    // The same call under the same key is answered with it.
    if flight.cx.key.is_some() && output.error.is_none() && !flight.cx.dry_run {
        keep_whole(flight, output);
    }
    let budget = flight.cx.result_budget;
    let is_untrusted = flight.meta.untrusted;
    let room = if is_untrusted {
        budget.saturating_sub(untrusted::ROOM)
    } else {
        budget
    };
    let shown = chars(output);
    let total = output.total_chars.unwrap_or(shown).max(shown);
    flight.meta.total_chars = total;
    let unreduced = flight.note.as_mut().and_then(|note| note.unreduced.take());
    let told = unreduced.map_or_else(String::new, |told| format!("\n{told}"));
    // What a reducer or the tool itself left out is stated too.
    let notice = (total > shown).then(|| {
        flight.meta.handle = flight.meta.handle.take().or(output.handle.take());
        notice(total, flight.meta.handle.as_deref())
    });
    let is_part = notice.is_some();
    let notice = told.clone() + &notice.unwrap_or_default();
    if shown + notice.chars().count() > room {
        keep_whole(flight, output);
        flight.meta.truncated = true;
        let whole = joined(output);
        let room = room.saturating_sub(told.chars().count());
        let cut = fit(&whole, room, total, flight.meta.handle.as_deref(), &told);
        replace_text(output, cut);
    } else if !notice.is_empty() {
        flight.meta.truncated |= is_part;
        output.content.push(Block::text(notice.trim_start()));
    }
    if let Some(value) = &mut output.structured {
        flight.meta.truncated |= structured::fit(value, budget, flight.meta.handle.as_deref());
    }
    if is_untrusted {
        let ours = output.ours;
        for block in output.content.iter_mut().skip(ours) {
            let text = match block {
                Block::Text { text, .. } => text,
                Block::Resource { resource, .. } => match resource.get_mut("text") {
                    Some(Value::String(text)) => text,
                    _ => continue,
                },
                _ => continue,
            };
            *text = untrusted::seal(text, &flight.cx.tool);
        }
    }
}

/// Characters of the text blocks.
pub(super) fn chars(output: &Output) -> usize {
    chars_of(&output.content)
}

pub(super) fn chars_of(content: &[Block]) -> usize {
    content
        .iter()
        .map(|block| match block {
            Block::Text { text, .. } => text.chars().count(),
            _ => 0,
        })
        .sum()
}

/// Put the whole text behind a handle, unless it is there already. A store that fails costs the
/// handle, not the answer.
pub(super) fn keep_whole(flight: &mut Flight<'_>, output: &Output) {
    if flight.meta.handle.is_some() {
        return;
    }
    flight.meta.handle = output.handle.clone().or_else(|| {
        let results = flight.cx.caller.results.as_ref()?;
        let (session, text) = (&flight.cx.caller.session, joined(output));
        let nature = Nature {
            untrusted: flight.meta.untrusted,
            forgettable: flight.meta.forgettable,
        };
        results.keep(session, &text, nature).ok()
    });
}

fn texts(output: &Output) -> impl Iterator<Item = &str> {
    output.content.iter().filter_map(Block::as_text)
}

fn joined(output: &Output) -> String {
    texts(output).collect::<Vec<_>>().join("\n")
}

/// One text block in the place of all; images stay.
fn replace_text(output: &mut Output, text: String) {
    output.ours = 0;
    output
        .content
        .retain(|block| !matches!(block, Block::Text { .. }));
    output.content.insert(0, Block::text(text));
}

fn notice(total: usize, handle: Option<&str>) -> String {
    match handle {
        Some(handle) => format!(
            "\n[the rest: result.read {{\"handle\": \"{handle}\", \"regex\": \"…\"}} or \"lines\": \"from-to\"]\n[truncated — {total} chars total]"
        ),
        None => format!("\n[truncated — {total} chars total]"),
    }
}

/// Head and tail of a text, the error lines between them, and the notice, within `room`; what else is
/// told of it comes on top.
fn fit(whole: &str, room: usize, total: usize, handle: Option<&str>, told: &str) -> String {
    let notice = notice(total, handle);
    let room = room.saturating_sub(notice.chars().count());
    // Four fifths for head and tail, the rest for error lines and the gap's own line.
    let (head, tail) = (room * 48 / 100, room * 32 / 100);
    let head_end = whole
        .char_indices()
        .nth(head)
        .map_or(whole.len(), |(at, _)| at);
    let tail_start = match tail {
        0 => whole.len(),
        _ => whole
            .char_indices()
            .rev()
            .nth(tail - 1)
            .map_or(0, |(at, _)| at),
    };
    let gap = &whole[head_end..tail_start.max(head_end)];
    let between = between(gap, room - head - tail);
    format!(
        "{}{between}{}{told}{notice}",
        &whole[..head_end],
        &whole[tail_start.max(head_end)..]
    )
}

fn between(gap: &str, room: usize) -> String {
    let dots = "\n[…]\n";
    let mut text = String::from(dots);
    let mut used = dots.chars().count() * 2;
    if used > room {
        return String::new();
    }
    let mut found = false;
    for line in error_lines(gap) {
        let line = shortened(line.trim_end(), ERROR_LINE);
        let long = line.chars().count() + 1;
        if used + long > room {
            break;
        }
        used += long;
        found = true;
        text.push_str(&line);
        text.push('\n');
    }
    if found {
        text.push_str("[…]\n");
    }
    text
}

fn error_lines(gap: &str) -> impl Iterator<Item = &str> {
    let mut until = 0;
    ERROR_LINE_PATTERN
        .iter()
        .flat_map(move |pattern| pattern.find_iter(gap))
        .filter_map(move |hit| {
            if hit.start() < until {
                return None;
            }
            let start = gap[..hit.start()].rfind('\n').map_or(0, |at| at + 1);
            let end = gap[hit.end()..]
                .find('\n')
                .map_or(gap.len(), |at| hit.end() + at);
            until = end;
            Some(&gap[start..end])
        })
        .take(ERROR_LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_fits_and_says_so() {
        let whole = format!(
            "head\n{}\nerror: it broke\n{}\ntail",
            "ü".repeat(50_000),
            "漢".repeat(50_000)
        );
        let total = whole.chars().count();
        for room in [0, 10, 60, 200, 1_000, 10_000] {
            let cut = fit(&whole, room, total, None, "");
            let notice = format!("[truncated — {total} chars total]");
            assert!(cut.ends_with(&notice), "{cut}");
            assert!(
                cut.chars().count() <= room.max(notice.chars().count() + 1),
                "{room}"
            );
        }
        let cut = fit(&whole, 1_000, total, Some("r_1"), "\n[told]");
        assert!(cut.starts_with("head\n") && cut.contains("\ntail\n"));
        assert!(cut.contains("error: it broke") && cut.contains("r_1"));
        assert!(cut.contains("\ntail\n[told]\n[the rest"), "{cut}");
    }

    #[test]
    fn error_lines_are_found_once_each() {
        let gap = "ok\nerror: a error b\nfine\n  FAILED x\n";
        assert_eq!(
            error_lines(gap).collect::<Vec<_>>(),
            ["error: a error b", "  FAILED x"]
        );
    }
}
