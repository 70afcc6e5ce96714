//! Secrets that are more than one word: private keys, web tokens, Kubernetes secrets.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::assignment::{skip, skip_back, starts_word};
use super::judge::{entropy, is_stand_in, is_word};
use super::{Scan, compile};

/// The longest private key looked for, and the longest web token.
const LONGEST: usize = 64 * 1024;

/// The body between `-----BEGIN … PRIVATE KEY-----` and its end line. A block cut off before its
/// end is hidden as far as it goes.
pub(super) fn find_private_key(scan: &mut Scan<'_>, _start: usize, end: usize) {
    let text = scan.text;
    let header = &text[end..text.len().min(end + 160)];
    let Some(name) = find(header, b"PRIVATE KEY") else {
        return;
    };
    let plain = |byte: &u8| is_word(*byte) || matches!(byte, b' ' | b'-');
    let tail = &header[name + 11..];
    let tail_length = match tail {
        [b' ', b'B', b'L', b'O', b'C', b'K', b'-', ..] => 11,
        [b'-', ..] => 5,
        _ => return,
    };
    if !header[..name].iter().all(plain) || tail.len() < tail_length {
        return;
    }
    let body = end + name + 11 + tail_length;
    // The search ends at the next header, so many headers cost no more than one pass.
    let rest = &text[body..text.len().min(body + LONGEST)];
    let rest = &rest[..find(rest, b"-----BEGIN").unwrap_or(rest.len())];
    scan.work += rest.len();
    let length = match find(rest, b"-----END").or_else(|| find_key_end(rest)) {
        Some(length) => length,
        None => skip(rest, 0, rest.len(), |byte| {
            byte.is_ascii_alphanumeric()
                || byte.is_ascii_whitespace()
                || matches!(byte, b'+' | b'/' | b'=' | b'\\' | b':' | b',' | b'-')
        }),
    };
    if length >= 40 && !rest[..length].starts_with(b"***") {
        scan.push_whole(body..body + length);
    }
}

fn find_key_end(rest: &[u8]) -> Option<usize> {
    let ends = [b"KEY-----".as_slice(), b"KEY BLOCK-----"];
    ends.iter().filter_map(|end| find(rest, end)).min()
}

/// A web token, found by the dot before its second part: `ey….ey….signature`.
pub(super) fn find_jwt(text: &[u8], start: usize, _end: usize) -> Option<Range<usize>> {
    let part = |byte| is_word(byte) || matches!(byte, b'-' | b'/' | b'\\' | b'+');
    let head = skip_back(text, start, LONGEST, |byte| is_word(byte) || byte == b'-');
    let body_end = skip(text, start + 1, LONGEST, part);
    let long = start - head >= 19 && body_end - start >= 20;
    if !long || !text[head..].starts_with(b"ey") || text.get(body_end) != Some(&b'.') {
        return None;
    }
    let end = skip(text, body_end + 1, LONGEST, part);
    let end = skip(text, end, 2, |byte| byte == b'=');
    let token = &text[head..end];
    let end = end
        - token
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
    (entropy(token) >= 3.0 && !is_stand_in(&token[..token.len().min(200)])).then_some(head..end)
}

/// A web token in base64 once more; it may be broken into lines.
pub(super) fn find_wrapped_jwt(text: &[u8], start: usize, _end: usize) -> Option<Range<usize>> {
    let part = |byte| is_word(byte) || matches!(byte, b'-' | b'/' | b'\\' | b'+' | b'=');
    let line = skip(text, start, LONGEST, part);
    let all = skip(text, line, LONGEST, |byte| {
        part(byte) || matches!(byte, b'\r' | b'\n')
    });
    let value = &text[start..line];
    let long = all - start >= 40 && value.len() >= 12;
    (starts_word(text, start) && long && entropy(value) >= 2.0 && !is_stand_in(value))
        .then_some(start..line)
}

/// The values under `data` and `stringData` of a Kubernetes `Secret`, before or after its `kind`.
pub(super) fn find_kubernetes(scan: &mut Scan<'_>, start: usize, end: usize) {
    let text = scan.text;
    let colon = skip(text, end, 3, |byte| matches!(byte, b'"' | b'\\'));
    if text.get(colon) != Some(&b':') || !starts_word(text, start) {
        return;
    }
    let kind = skip(text, colon + 1, 200, |byte| {
        matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\')
    });
    let kind_end = skip(text, kind, 8, is_word);
    if !text[kind..kind_end].eq_ignore_ascii_case(b"secret") {
        return;
    }
    let after = &text[kind_end..text.len().min(kind_end + LONGEST)];
    let after = kind_end..kind_end + document_end(after);
    // No further back than the last `Secret`, so that each part is read once.
    let from = start.saturating_sub(4096).max(scan.kinds_read).min(start);
    let before = &text[from..start];
    let before = start - document_start(before)..start;
    scan.kinds_read = kind_end;
    for region in [before, after] {
        scan.work += region.len();
        data_values(scan, region);
    }
}

/// A document ends where the next one starts: at `---` or at another `kind:`.
fn document_end(rest: &[u8]) -> usize {
    let ends = [b"kind:".as_slice(), b"kind\":", b"\n---"];
    ends.iter().fold(rest.len(), |end, mark| {
        find(&rest[..end], mark).unwrap_or(end)
    })
}

fn document_start(before: &[u8]) -> usize {
    let starts = [b"\n---".as_slice(), b"kind:", b"kind\":"];
    starts
        .iter()
        .filter_map(|start| before.windows(start.len()).rposition(|part| part == *start))
        .map(|at| before.len() - at)
        .min()
        .unwrap_or(before.len())
}

fn data_values(scan: &mut Scan<'_>, region: Range<usize>) {
    static DATA: LazyLock<Option<Regex>> =
        LazyLock::new(|| compile(r#"(?i)\b(?:data|stringData)\\?["']?:[ \t]{0,8}\{?"#));
    static ENTRY: LazyLock<Option<Regex>> = LazyLock::new(|| {
        compile(
            r#"[\s"'{,]([\w.-]{1,253})\\?["']?:[ \t]{0,200}(?:[|>][-+]?\s{1,200})?\\?["']?([^\s"'\\{},]{6,}|\{\{[^{}\n]{1,300}\}\})"#,
        )
    });
    let (Some(data), Some(entry)) = (&*DATA, &*ENTRY) else {
        return;
    };
    let bytes = &scan.text[region.clone()];
    let Some(found) = data.find(bytes) else {
        return;
    };
    let values = &bytes[found.end()..];
    let length = match found.as_bytes().last() {
        Some(b'{') => find(values, b"}").unwrap_or(values.len()),
        _ => block_end(values),
    };
    let base = region.start + found.end();
    for capture in entry.captures_iter(&values[..length]) {
        let Some(value) = capture.get(2) else {
            continue;
        };
        let template = value.as_bytes().starts_with(b"{{");
        let secret = match template {
            true => !is_template(value.as_bytes()),
            false => !is_stand_in(value.as_bytes()),
        };
        if secret {
            scan.push(base + value.start()..base + value.end());
        }
    }
}

/// The YAML block goes on as long as its lines are indented.
fn block_end(values: &[u8]) -> usize {
    values
        .windows(2)
        .position(|pair| {
            pair[0] == b'\n' && !matches!(pair[1], b' ' | b'\t' | b'\r' | b'\n' | b'#')
        })
        .unwrap_or(values.len())
}

/// Whether `{{ … }}` names things, as a chart does, instead of holding a value.
fn is_template(value: &[u8]) -> bool {
    const WITH_DIGITS: &[&[u8]] = &[b"b64enc", b"b64dec", b"b32enc", b"sha256sum", b"sha1sum"];
    let inner = &value[2..value.len() - 2];
    inner
        .split(|byte| !is_word(*byte))
        .filter(|word| !word.is_empty())
        .all(|word| {
            let letters = word
                .iter()
                .all(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
            letters || word.iter().all(u8::is_ascii_digit) || WITH_DIGITS.contains(&word)
        })
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
