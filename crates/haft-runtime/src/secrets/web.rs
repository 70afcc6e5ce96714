//! Credentials on their way over the web: in addresses, in headers, on the command line of curl.

use std::ops::Range;

use super::Scan;
use super::assignment::{ends_value, skip, starts_word};
use super::judge::{entropy, is_stand_in, is_word, reads_as_code, reads_as_words};

/// How far behind `curl` its flags are looked for.
const COMMAND: usize = 4096;
/// The longest header value looked at; web tokens, which may be longer, have a rule of their own.
const LONGEST_HEADER: usize = 1024;

/// The password in `scheme://user:password@host`.
pub(super) fn find_url_password(text: &[u8], _start: usize, end: usize) -> Option<Range<usize>> {
    let stop = skip(text, end, 512, |byte| {
        !byte.is_ascii_whitespace()
            && !matches!(
                byte,
                b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\'
            )
    });
    // A password may hold an `@`; the host cannot.
    let at = end + text[end..stop].iter().rposition(|byte| *byte == b'@')?;
    let colon = end + text[end..at].iter().position(|byte| *byte == b':')?;
    let password = &text[colon + 1..at];
    (password.len() >= 3 && !is_stand_in(password)).then_some(colon + 1..at)
}

/// The value of an `Authorization` header, without its scheme.
pub(super) fn find_authorization(text: &[u8], _start: usize, end: usize) -> Option<Range<usize>> {
    let separator = |byte: u8| {
        matches!(
            byte,
            b':' | b'=' | b'"' | b'\'' | b' ' | b'\t' | b'\\' | b'>' | b','
        )
    };
    let at = skip(text, end, 8, separator);
    let name_end = &text[end..at];
    if !name_end
        .iter()
        .any(|byte| matches!(byte, b':' | b'=' | b'>' | b','))
    {
        return None;
    }
    header_value(text, at)
}

/// `Bearer …` where no header name stands before it.
pub(super) fn find_bearer(text: &[u8], start: usize, end: usize) -> Option<Range<usize>> {
    let value_end = skip(text, end, LONGEST_HEADER, is_header_byte);
    let value = &text[end..value_end];
    let random = value.len() >= 20
        && value.iter().any(u8::is_ascii_digit)
        && entropy(value) >= 3.5
        && !reads_as_words(value)
        && !is_stand_in(value);
    (random && starts_word(text, start)).then_some(end..value_end)
}

fn header_value(text: &[u8], at: usize) -> Option<Range<usize>> {
    const SCHEMES: &[&str] = &[
        "basic",
        "bearer",
        "token",
        "apikey",
        "api-key",
        "api-token",
        "key",
        "bot",
        "oauth",
        "genie-key",
        "ssws",
        "negotiate",
    ];
    let word_end = skip(text, at, 16, |byte| is_word(byte) || byte == b'-');
    let word = &text[at..word_end];
    let scheme = SCHEMES
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme.as_bytes()));
    let start = match scheme {
        true => skip(text, word_end, 4, |byte| matches!(byte, b' ' | b'\t')),
        false => at,
    };
    let end = skip(text, start, LONGEST_HEADER, is_header_byte);
    // The first part of a long value tells enough.
    let value = &text[start..end.min(start + 128)];
    let random = value.len() >= 8
        && entropy(value) >= 2.75
        && (value.iter().any(u8::is_ascii_digit) || !reads_as_words(value))
        && (scheme || !reads_as_code(value))
        && !is_stand_in(value)
        && (ends_value(text, end) || text[end] == b')');
    random.then_some(start..end)
}

fn is_header_byte(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'=' | b'~' | b'@' | b'.' | b'+' | b'/' | b'-')
}

/// `curl -u user:password` and `curl -H 'X-Api-Key: …'`. The flags are looked for up to the next
/// `curl`, so a page of commands is read once.
pub(super) fn find_curl(scan: &mut Scan<'_>, start: usize, end: usize) {
    let text = scan.text;
    if !starts_word(text, start) || text.get(end).is_some_and(|byte| is_word(*byte)) {
        return;
    }
    let stop = text.len().min(end + COMMAND);
    let mut at = end;
    while at < stop {
        let rest = &text[at..stop];
        if rest.starts_with(b"curl") {
            break;
        }
        if text[at - 1].is_ascii_whitespace() && rest[0] == b'-' {
            let found = match rest {
                [b'-', b'u', ..] => user_password(text, at + 2, true),
                [b'-', b'H', ..] => header(text, at + 2),
                _ if rest.starts_with(b"--user") => user_password(text, at + 6, false),
                _ if rest.starts_with(b"--header") => header(text, at + 8),
                _ => None,
            };
            if let Some(span) = found {
                at = span.end;
                scan.push(span);
                continue;
            }
        }
        at += 1;
    }
    scan.work += at - end;
}

/// What follows a flag: where its value starts, and the quote it stands in.
fn flag_value(text: &[u8], at: usize) -> Option<(usize, Option<u8>)> {
    let value = skip(text, at, 6, |byte| matches!(byte, b' ' | b'\t' | b'='));
    let quote = text
        .get(value)
        .copied()
        .filter(|byte| matches!(byte, b'"' | b'\''));
    let separated = value > at || quote.is_some();
    separated.then_some((value + usize::from(quote.is_some()), quote))
}

fn user_password(text: &[u8], at: usize, joined: bool) -> Option<Range<usize>> {
    let (start, quote) = flag_value(text, at).or(joined.then_some((at, None)))?;
    let end = skip(text, start, 1024, |byte| match quote {
        Some(quote) => byte != quote && byte != b'\n',
        None => !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\''),
    });
    let colon = start + text[start..end].iter().position(|byte| *byte == b':')?;
    let password = &text[colon + 1..end];
    // A closing bracket shows that the whole pair is a stand-in: `<user:password>`.
    let name = match password {
        [name @ .., b'>' | b']' | b'}'] => name,
        name => name,
    };
    let secret = name.len() >= 3 && !is_stand_in(password) && !is_stand_in(name);
    secret.then_some(colon + 1..end)
}

fn header(text: &[u8], at: usize) -> Option<Range<usize>> {
    const TELLING: &[&[u8]] = &[b"key", b"token", b"secret", b"authorization", b"password"];
    let (start, _) = flag_value(text, at)?;
    let name_end = skip(text, start, 64, |byte| is_word(byte) || byte == b'-');
    let name = text[start..name_end].to_ascii_lowercase();
    if text.get(name_end) != Some(&b':') || !TELLING.iter().any(|word| name.ends_with(word)) {
        return None;
    }
    let value = skip(text, name_end + 1, 6, |byte| matches!(byte, b' ' | b'\t'));
    header_value(text, value)
}
