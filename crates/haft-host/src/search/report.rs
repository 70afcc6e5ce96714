//! What a search tells: matches with their lines, and the same as compact text.

use std::borrow::Cow;
use std::ops::Range;

use super::lines::{Line, lines_before};

/// Characters of a line that are shown.
const LINE_CHARS: usize = 200;

/// One matching line, or several where the pattern spans lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Match {
    /// 1-based
    pub line: u64,
    /// The line itself, cut at 200 characters
    pub content: String,
    /// Lines around it, as many as were asked for
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// The matches of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileMatches {
    /// From the folder that was searched; empty if that is a file itself
    pub path: Vec<u8>,
    pub matches: Vec<Match>,
    /// Matching lines, where only those or the files were asked for
    pub count: Option<u64>,
}

impl FileMatches {
    /// How much of a limit it takes.
    pub(super) fn weight(&self) -> u64 {
        match self.count {
            Some(count) => u64::from(count > 0),
            None => self.matches.len() as u64,
        }
    }

    /// Take off the last matches.
    pub(super) fn cut(&mut self, surplus: u64) {
        match &mut self.count {
            Some(count) if surplus > 0 => *count = 0,
            Some(_) => {}
            None => {
                let kept = (self.matches.len() as u64).saturating_sub(surplus);
                self.matches
                    .truncate(usize::try_from(kept).unwrap_or(usize::MAX));
            }
        }
    }
}

impl Match {
    pub(super) fn new(buffer: &[u8], line: Line, context: usize) -> Self {
        let (before, after) = match context {
            0 => (Vec::new(), Vec::new()),
            _ => (
                shown_lines(
                    buffer,
                    lines_before(buffer, line.start, context)..line.start,
                ),
                lines_after(buffer, line.end, context),
            ),
        };
        Match {
            line: line.number,
            content: shown(line.text(buffer)).into_owned(),
            before,
            after,
        }
    }
}

/// A line as it is shown: cut at 200 characters.
pub(super) fn shown(line: &[u8]) -> Cow<'_, str> {
    // Every character takes a byte, and at most four.
    let enough = &line[..line.len().min(LINE_CHARS * 4 + 4)];
    let text = match std::str::from_utf8(enough) {
        Ok(text) => Cow::Borrowed(text),
        // Only the cut itself can break a character: the whole was text.
        Err(error) => String::from_utf8_lossy(&enough[..error.valid_up_to()]),
    };
    if text.len() <= LINE_CHARS {
        return text;
    }
    match text.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
            Cow::Owned(text) => Cow::Owned(text[..end].to_owned()),
        },
        None => text,
    }
}

fn shown_lines(buffer: &[u8], range: Range<usize>) -> Vec<String> {
    if range.is_empty() {
        return Vec::new();
    }
    let text = &buffer[range];
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|&byte| byte == b'\n')
        .map(|line| shown(line.strip_suffix(b"\r").unwrap_or(line)).into_owned())
        .collect()
}

fn lines_after(buffer: &[u8], line_end: usize, count: usize) -> Vec<String> {
    let start = line_end + 1;
    let Some(rest) = buffer.get(start..).filter(|rest| !rest.is_empty()) else {
        return Vec::new();
    };
    let end = memchr::memchr_iter(b'\n', rest)
        .nth(count - 1)
        .map_or(buffer.len(), |feed| start + feed + 1);
    shown_lines(buffer, start..end)
}

/// A match as text: `path:line: content`.
pub(super) fn write_line(out: &mut String, path: &str, number: u64, content: &str) {
    out.push_str(path);
    out.push(':');
    push_number(out, number);
    out.push_str(": ");
    out.push_str(content);
    out.push('\n');
}

/// A line, or several as one: one line of text tells of one match.
pub(super) fn push_line(out: &mut String, content: &str) {
    match memchr::memchr(b'\n', content.as_bytes()) {
        None => out.push_str(content),
        Some(_) => out.push_str(&content.replace('\n', "\\n")),
    }
    out.push('\n');
}

/// Formatting machinery would cost more than the rest of the line.
fn push_number(out: &mut String, number: u64) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_by_characters() {
        let check = |line: &str, expected: usize| {
            let shown = shown(line.as_bytes());
            assert_eq!(shown.chars().count(), expected, "{line}");
            assert!(line.starts_with(&*shown));
        };
        check("", 0);
        check(&"a".repeat(200), 200);
        check(&"a".repeat(5_000), 200);
        check(&"ü".repeat(199), 199);
        check(&"ü".repeat(5_000), 200);
        check(&"a\u{1f600}".repeat(5_000), 200);
    }

    #[test]
    fn lines_around_a_match() {
        let check = |text: &str, number: u64, context: usize, expected: &str| {
            let start = text
                .split_inclusive('\n')
                .take(number as usize - 1)
                .map(str::len)
                .sum();
            let end = text[start..].find('\n').map_or(text.len(), |n| start + n);
            let line = Line { number, start, end };
            let found = Match::new(text.as_bytes(), line, context);
            let shown = format!(
                "{}>{}<{}",
                found.before.join("|"),
                found.content,
                found.after.join("|")
            );
            assert_eq!(shown, expected, "{text:?}");
        };
        check("a\nb\nc\nd\n", 2, 1, "a>b<c");
        check("a\nb\nc\nd\n", 2, 5, "a>b<c|d");
        check("a\r\nb\r\nc", 3, 2, "a|b>c<");
        check("a\n\nb\n", 1, 2, ">a<|b");
        check("a\n", 1, 2, ">a<");
        check("\na\n", 2, 1, ">a<");
    }

    #[test]
    fn a_match_is_one_line_of_text() {
        let mut out = String::new();
        write_line(&mut out, "a.rs", 1200, "x");
        push_line(&mut out, "x\ny");
        assert_eq!(out, "a.rs:1200: x\nx\\ny\n");
    }
}
