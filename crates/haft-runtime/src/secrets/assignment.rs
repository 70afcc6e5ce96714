//! Reads `name = value` in all its spellings: `=`, `:`, `=>`, `:=`, `?=`, `||`, `,`, `>`, with or
//! without quotes, inside JSON, YAML, shell, XML, connection strings, and escaped once more.
//!
//! Every skip is bounded, so a needle costs at most some hundred bytes of reading.

use std::ops::Range;

use super::judge::is_word;

/// Where a value may start: after the operator and what quotes, blanks and `=` follow it.
pub(super) struct Slot {
    /// The last byte of the operator; a blank where none is needed.
    pub(super) operator: u8,
    /// Directly after the operator.
    pub(super) first: usize,
    /// After all quotes and blanks.
    pub(super) last: usize,
}

impl Slot {
    /// Whether the value is in quotes, so that its end is certain.
    pub(super) fn is_quoted(&self, text: &[u8]) -> bool {
        text[self.first..self.last]
            .iter()
            .any(|byte| matches!(byte, b'"' | b'\'' | b'`'))
    }
}

/// Finds the value that is assigned to the name which goes on at `at`, at most `reach` bytes ahead.
pub(super) fn slot_after(text: &[u8], at: usize, reach: usize) -> Option<Slot> {
    let at = skip(text, at, reach, |byte| {
        is_word(byte) || matches!(byte, b' ' | b'\t' | b'.' | b'-')
    });
    let at = skip(text, at, 6, |byte| is_blank(byte) || is_quote(byte));
    let first = after_operator(text, at)?;
    let last = skip(text, first, 8, |byte| {
        is_blank(byte) || is_quote(byte) || byte == b'='
    });
    Some(Slot {
        operator: text[first - 1],
        first,
        last,
    })
}

fn after_operator(text: &[u8], at: usize) -> Option<usize> {
    let length = match text.get(at..)? {
        [b'=', b'>', ..] | [b'|', b'|', ..] | [b'?', b'=', ..] => 2,
        [b'=' | b'>' | b',', ..] => 1,
        [b':', ..] => {
            let end = skip(text, at, 3, |byte| byte == b':');
            let equals = usize::from(text.get(end) == Some(&b'='));
            end + equals - at
        }
        _ => return None,
    };
    Some(at + length)
}

/// The longest run of bytes that `wanted` accepts, from `at`, at most `limit` long; gives its end.
pub(super) fn skip(text: &[u8], at: usize, limit: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest
        .iter()
        .take(limit)
        .take_while(|byte| wanted(**byte))
        .count()
}

/// The same towards the start of the text; gives the start of the run.
pub(super) fn skip_back(
    text: &[u8],
    at: usize,
    limit: usize,
    wanted: impl Fn(u8) -> bool,
) -> usize {
    at - text[..at]
        .iter()
        .rev()
        .take(limit)
        .take_while(|byte| wanted(**byte))
        .count()
}

/// The whole identifier, with dots and dashes, of which `start..end` is a part.
pub(super) fn name_around(text: &[u8], start: usize, end: usize) -> Range<usize> {
    let part = |byte| is_word(byte) || matches!(byte, b'.' | b'-');
    skip_back(text, start, 50, part)..skip(text, end, 50, part)
}

/// Whether a token may start at `at`: nothing that belongs to a longer word stands before it. The
/// `n` of an escaped line end is no such thing, nor are the last letters of `%3D` and of a colour.
pub(super) fn starts_word(text: &[u8], at: usize) -> bool {
    let before = &text[..at];
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', one, two] if one.is_ascii_hexdigit() && two.is_ascii_hexdigit() => true,
        [.., byte] => !is_word(*byte) || ends_colour(before),
        [] => true,
    }
}

/// Whether a text ends with what tells a terminal to change colours or to clear a line.
fn ends_colour(text: &[u8]) -> bool {
    const LONGEST: usize = 32;
    let [.., last] = text else {
        return false;
    };
    let inside = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b';' | b':' | b'?');
    let parameters = text.iter().rev().skip(1).take(LONGEST);
    let start = parameters.take_while(|byte| inside(byte)).count() + 1;
    last.is_ascii_alphabetic() && text[..text.len() - start].ends_with(b"\x1b[")
}

/// Whether a token may end at `at`: no word goes on, and no file ending or domain follows.
pub(super) fn ends_word(text: &[u8], at: usize) -> bool {
    match text.get(at..).unwrap_or_default() {
        [b'.', next, ..] => !next.is_ascii_alphanumeric(),
        [byte, ..] => !is_word(*byte),
        [] => true,
    }
}

/// Whether a token that carries its own mark may start at `at`: that shows it in a longer name too.
pub(super) fn starts_token(text: &[u8], at: usize) -> bool {
    text[..at].ends_with(b"_") || starts_word(text, at)
}

/// Whether such a token may end at `at`: a file ending may follow, as may the rest of a name.
pub(super) fn ends_token(text: &[u8], at: usize) -> bool {
    let next = text.get(at);
    !next.is_some_and(u8::is_ascii_alphanumeric)
}

/// Whether an assigned value may end at `at`.
pub(super) fn ends_value(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|byte| {
        is_blank(*byte)
            || is_quote(*byte)
            || matches!(byte, b'\n' | b';' | b',' | b'}' | b']' | b'&' | b'<' | b'|')
    })
}

/// White space within a line, and what generators of configuration write for it.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// Quotes, and the backslash that escapes them.
fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`' | b'\\')
}
