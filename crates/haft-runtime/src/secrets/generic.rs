//! Values that only their name gives away: `api_key = …`, `DB_PASSWORD=…`, `--token …`.
//!
//! The name must be telling and not about something harmless (`public_key_id`, `keyboard`), and
//! the value must look random, or, for a password, at least not like a word or code.

use std::ops::Range;

use super::assignment::{Slot, ends_value, name_around, skip, skip_back, slot_after, starts_word};
use super::judge::{entropy, is_stand_in, is_uuid, is_word, reads_as_code, reads_as_words};

const LONGEST_VALUE: usize = 256;

/// Words that, right after `key`, `token` and the like, make the name harmless.
#[rustfmt::skip]
const HARMLESS_AFTER: &[&str] = &[
    "id", "ids", "name", "names", "file", "path", "dir", "url", "uri", "host", "size", "length",
    "len", "bits", "version", "type", "kind", "word", "words", "board", "code", "codes", "frame",
    "frames", "mesh", "press", "pressed", "down", "up", "left", "right", "pair", "ring", "stone",
    "store", "storetype", "tab", "ing", "vault", "alias", "hash", "audience", "endpoint", "expiry",
    "expires", "expiration", "ttl", "count", "index", "format", "algorithm", "selector",
    "signature", "signatures", "ibility", "or", "ors", "results", "variable", "field", "column",
    "header", "prefix", "suffix", "label", "hint", "usage", "limit", "policy", "reset", "prompt",
    "placeholder", "strength", "less", "manager", "event", "binding", "map", "jar", "ref",
    "checksum", "digest", "fingerprint", "encryption",
];

/// Words that, right before it, do the same.
#[rustfmt::skip]
const HARMLESS_BEFORE: &[&str] = &[
    "pub", "public", "primary", "foreign", "sort", "partition", "hot", "schema", "sequence",
    "bucket", "natural", "idx", "issuer", "csrf", "xsrf", "mon", "tur", "don", "hoc", "whis",
    "cache", "lookup", "object", "row", "page", "sync", "continuation", "random", "idempotency",
    "dedup", "authenticity", "recv", "with", "no",
];

/// Names of which a random-looking identifier, even a UUID, is believed to be secret.
const STRONG: &[&str] = &[
    "secret", "token", "passw", "api_key", "apikey", "api-key", "api.key",
];

/// The value behind a telling name, if it looks random.
pub(super) fn find_key(text: &[u8], start: usize, end: usize) -> Option<Range<usize>> {
    let word = &text[start..end];
    // `rapid`, `capital`
    let inside = start > 0
        && text[start - 1].is_ascii_lowercase()
        && text.get(end).is_some_and(u8::is_ascii_lowercase);
    if word == b"api" && inside {
        return None;
    }
    let slot = slot_after(text, end, 20).or_else(|| flag_value(text, start, end))?;
    let value = key_value(text, &slot)?;
    let bytes = &text[value.clone()];
    let name = name_around(text, start, end);
    if is_harmless(words_before(text, name.start, start), &text[end..name.end]) {
        return None;
    }
    let lower = text[name].to_ascii_lowercase();
    let strong = STRONG.iter().any(|part| contains(&lower, part.as_bytes()));
    let code = !slot.is_quoted(text) && reads_as_code(bytes);
    (!code && looks_random(bytes, strong)).then_some(value)
}

fn key_value(text: &[u8], slot: &Slot) -> Option<Range<usize>> {
    let end = skip(text, slot.last, LONGEST_VALUE, |byte| {
        is_word(byte) || matches!(byte, b'.' | b'=' | b'+' | b'/' | b'~' | b'-')
    });
    let value = &text[slot.last..end];
    let mixed = value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic);
    (value.len() >= 10 && ends_value(text, end) && mixed).then_some(slot.last..end)
}

fn looks_random(value: &[u8], strong: bool) -> bool {
    let hex = value.iter().all(u8::is_ascii_hexdigit);
    let path = matches!(value, [b'/' | b'.', ..]) && value.contains(&b'/');
    let bits = if hex { 3.0 } else { 3.5 };
    !path
        && (strong || !is_uuid(value))
        && entropy(value) >= bits
        && !reads_as_words(value)
        && !is_stand_in(value)
}

/// The value behind `password`, `passwd`, `passphrase`, `pwd`, or a name that ends in `pass`.
pub(super) fn find_password(text: &[u8], start: usize, end: usize) -> Option<Range<usize>> {
    let needle = end;
    let end = password_word_end(text, start, end)?;
    // `pass` alone is a common verb: the operator must follow it.
    let reach = if needle == end { 0 } else { 20 };
    let slot = slot_after(text, end, reach)
        .or_else(|| flag_value(text, start, end))
        .or_else(|| netrc_value(text, start, end))?;
    let name = name_around(text, start, end);
    if is_harmless(words_before(text, name.start, start), &text[end..name.end]) {
        return None;
    }
    let quoted = slot.is_quoted(text);
    let value_end = skip(text, slot.last, LONGEST_VALUE, |byte| {
        !byte.is_ascii_whitespace()
            && !matches!(
                byte,
                b'"' | b'\'' | b'`' | b';' | b',' | b'&' | b'<' | b'>' | b'\\'
            )
    });
    let value = &text[slot.last..value_end];
    let shortest = if quoted { 5 } else { 6 };
    let assigned = match slot.operator {
        b',' => quoted && !value.contains(&b'/') && !reads_as_words(value),
        b'>' if text[slot.first - 2] != b'=' => quoted || text.get(value_end) == Some(&b'<'),
        _ => true,
    };
    (assigned
        && value.len() >= shortest
        && ends_value(text, value_end)
        && looks_chosen(value, quoted))
    .then_some(slot.last..value_end)
}

/// A password somebody chose has a digit or a sign in it, or cannot be read; code and prose mostly
/// can.
fn looks_chosen(value: &[u8], quoted: bool) -> bool {
    let sign = |byte: &u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'.' | b'-');
    let call = value
        .iter()
        .any(|byte| matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}'));
    let path = matches!(value, [b'/' | b'~', ..] | [b'.', b'/', ..]);
    let odd = quoted && value.len() >= 8 && !reads_as_words(value);
    let pointer = matches!(value, [b'*' | b'&' | b'@', ..]);
    let code = value.iter().any(|byte| matches!(byte, b'.' | b'_' | b':')) && reads_as_words(value);
    (odd || value.iter().any(u8::is_ascii_digit) || value.iter().any(sign))
        && (quoted || !(call || path || pointer || code || reads_as_code(value)))
        && !is_stand_in(value)
}

fn password_word_end(text: &[u8], start: usize, end: usize) -> Option<usize> {
    let rest = &text[end..text.len().min(end + 8)].to_ascii_lowercase();
    if text[start..end].eq_ignore_ascii_case(b"pwd") {
        // `PWD` alone is the working directory.
        let name = name_around(text, start, end);
        let alone = text[name].to_ascii_lowercase();
        return (alone != b"pwd" && alone != b"oldpwd").then_some(end);
    }
    for tail in ["word", "wd", "phrase", "wort"] {
        if rest.starts_with(tail.as_bytes()) {
            return Some(end + tail.len());
        }
    }
    let alone = !rest.first().is_some_and(|byte| is_word(*byte)) && starts_camel_word(text, start);
    alone.then_some(end)
}

/// `--password value`: a flag needs no operator.
fn flag_value(text: &[u8], start: usize, end: usize) -> Option<Slot> {
    let name_end = skip(text, end, 30, |byte| is_word(byte) || byte == b'-');
    if text.get(name_end) != Some(&b' ') {
        return None;
    }
    let name = name_around(text, start, end);
    let first = name_end + 1;
    (name.end == name_end && text[name].starts_with(b"--")).then(|| Slot {
        operator: b' ',
        first,
        last: skip(text, first, 2, |byte| matches!(byte, b'"' | b'\'')),
    })
}

/// `login me password value`, as a `.netrc` has it.
fn netrc_value(text: &[u8], start: usize, end: usize) -> Option<Slot> {
    if !matches!(text.get(end), Some(b' ' | b'\t')) {
        return None;
    }
    let before = &text[start.saturating_sub(80)..start];
    contains(before, b"login ").then(|| Slot {
        operator: b' ',
        first: end + 1,
        last: end + 1,
    })
}

/// Whether the parts of a name around its telling word are about something that is no secret.
fn is_harmless(before: &[u8], after: &[u8]) -> bool {
    let last = words(before).last().unwrap_or_default();
    let mut next = words(after);
    let listed = |list: &[&str], word: &[u8]| {
        list.iter()
            .any(|entry| word.eq_ignore_ascii_case(entry.as_bytes()))
    };
    listed(HARMLESS_BEFORE, last)
        || next
            .by_ref()
            .take(2)
            .any(|word| listed(HARMLESS_AFTER, word))
        || contains(&before.to_ascii_lowercase(), b"vault")
}

/// What stands before the telling word: the start of its name, or the word before (`public key`).
fn words_before(text: &[u8], name: usize, start: usize) -> &[u8] {
    let from = match text[..name] {
        [.., b' '] if name == start => skip_back(text, name - 1, 20, is_word),
        _ => name,
    };
    &text[from..start]
}

/// The words of `snake_case`, `camelCase` and `dotted.names`.
fn words(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    name.split(|byte| !byte.is_ascii_alphanumeric())
        .flat_map(|part| {
            part.chunk_by(|one, next| !(one.is_ascii_lowercase() && next.is_ascii_uppercase()))
        })
        .filter(|word| !word.is_empty())
}

/// Whether a word begins at `at`: `dbPass`, `DB_PASS`, not `bypass`.
fn starts_camel_word(text: &[u8], at: usize) -> bool {
    let camel = at > 0 && text[at - 1].is_ascii_lowercase() && text[at].is_ascii_uppercase();
    let joint = at > 0 && matches!(text[at - 1], b'_' | b'0'..=b'9');
    camel || joint || starts_word(text, at)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Whether a value under this name (of a JSON field) is to be hidden whole.
pub(super) fn is_telling_name(name: &str) -> bool {
    const TELLING: &[&str] = &[
        "password",
        "passwd",
        "passphrase",
        "secret",
        "apikey",
        "api_key",
        "api-key",
        "token",
        "credential",
        "private_key",
        "privatekey",
        "access_key",
        "accesskey",
        "authorization",
    ];
    let lower = name.to_ascii_lowercase();
    // Names are short: to get a search ready would cost more than it saves.
    let found = TELLING.iter().find_map(|word| {
        let mut windows = lower.as_bytes().windows(word.len());
        let at = windows.rposition(|window| window == word.as_bytes())?;
        Some((at, at + word.len()))
    });
    found.is_some_and(|(start, end)| {
        let bytes = name.as_bytes();
        !is_harmless(&bytes[..start], &bytes[end..])
    })
}

/// Whether a JSON value under a telling name is a secret: any string without blanks that is no
/// stand-in, if the name speaks of a password; otherwise one that looks random.
pub(super) fn is_telling_value(name: &str, value: &str) -> bool {
    let bytes = value.as_bytes();
    let spoken = bytes.iter().any(u8::is_ascii_whitespace);
    if spoken || bytes.len() < 4 || is_stand_in(bytes) {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    let chosen = ["pass", "secret"]
        .iter()
        .any(|word| contains(lower.as_bytes(), word.as_bytes()));
    let mixed = bytes.iter().any(u8::is_ascii_digit) && bytes.iter().any(u8::is_ascii_alphabetic);
    chosen || mixed && bytes.len() >= 10 && looks_random(bytes, true)
}
