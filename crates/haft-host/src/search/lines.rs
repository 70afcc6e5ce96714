//! Finds the lines of a buffer that a pattern matches. One searcher a thread: it holds the space
//! that the regex engine works in.

use std::ops::{ControlFlow, Range};

use memchr::{memchr, memchr_iter, memrchr};
use regex_automata::{Input, meta};

use super::content::is_text;
use super::pattern::{Pattern, Way};

/// A line that matches, or several where the pattern spans lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    /// 1-based
    pub(super) number: u64,
    pub(super) start: usize,
    /// Where its line feed stands, or the end of the buffer
    pub(super) end: usize,
}

impl Line {
    /// Its text, without the line end.
    pub(super) fn text<'b>(&self, buffer: &'b [u8]) -> &'b [u8] {
        without_return(buffer, self.start, self.end)
    }
}

/// How a buffer is gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Nobody knows yet whether it is text
    Unchecked,
    Checked,
    EachLine,
}

enum Next {
    Line(usize, usize),
    /// A line that may match
    Candidate,
    None,
}

impl Next {
    fn of(line: Option<(usize, usize)>) -> Self {
        line.map_or(Next::None, |(start, end)| Next::Line(start, end))
    }
}

pub(super) struct Searcher<'p> {
    pattern: &'p Pattern,
    scan: Option<meta::Cache>,
    plain: Option<meta::Cache>,
}

impl<'p> Searcher<'p> {
    pub(super) fn new(pattern: &'p Pattern) -> Self {
        let scan = match &pattern.way {
            Way::Scan { regex, .. } => Some(regex.create_cache()),
            _ => None,
        };
        Searcher {
            pattern,
            scan,
            plain: pattern.plain.as_ref().map(meta::Regex::create_cache),
        }
    }

    pub(super) fn spans_lines(&self) -> bool {
        matches!(self.pattern.way, Way::Across)
    }

    /// Tell every matching line of `buffer[range]`. The range starts at the start of a line, whose
    /// number is `first`, and ends at the end of one. What is no text has nothing to tell.
    pub(super) fn each(
        &mut self,
        buffer: &[u8],
        range: Range<usize>,
        first: u64,
        mut found: impl FnMut(Line) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let buffer = &buffer[..range.end];
        let mut at = range.start;
        let mut counted = range.start;
        let mut number = first;
        let mut manner = match self.goes_line_by_line(&buffer[at..]) {
            true => Manner::EachLine,
            false => Manner::Unchecked,
        };
        if manner == Manner::EachLine && !is_text(&buffer[at..]) {
            return ControlFlow::Break(());
        }
        while at < buffer.len() {
            let (start, end) = match self.next(buffer, at, manner) {
                Next::Line(start, end) => (start, end),
                Next::None => break,
                // Only where something may match is it worth while to look through all of it.
                Next::Candidate if is_text(&buffer[at..]) => {
                    manner = Manner::Checked;
                    continue;
                }
                Next::Candidate => return ControlFlow::Break(()),
            };
            number += memchr_iter(b'\n', &buffer[counted..start]).count() as u64;
            counted = start;
            found(Line { number, start, end })?;
            at = end + 1;
        }
        ControlFlow::Continue(())
    }

    fn goes_line_by_line(&self, text: &[u8]) -> bool {
        match self.pattern.way {
            Way::EachLine => true,
            Way::Scan { ends, words, .. } => {
                (ends && memchr(b'\r', text).is_some()) || (words && !text.is_ascii())
            }
            _ => false,
        }
    }

    /// The next matching line at or after `at`, which is the start of a line before the end.
    fn next(&mut self, buffer: &[u8], mut at: usize, manner: Manner) -> Next {
        if manner == Manner::EachLine {
            return Next::of(self.next_line_judged(buffer, at));
        }
        while at < buffer.len() {
            let Some((inside, judged)) = self.candidate(buffer, at) else {
                return Next::None;
            };
            if manner == Manner::Unchecked {
                return Next::Candidate;
            }
            if self.spans_lines() {
                return Next::of(self.next_across(buffer, at));
            }
            let start = memrchr(b'\n', &buffer[at..inside]).map_or(at, |feed| at + feed + 1);
            // Behind the last line feed there is no line.
            if start == buffer.len() {
                return Next::None;
            }
            let end = memchr(b'\n', &buffer[inside..]).map_or(buffer.len(), |feed| inside + feed);
            if !judged || self.judge(buffer, start, end) {
                return Next::Line(start, end);
            }
            at = end + 1;
        }
        Next::None
    }

    /// A place in the next line that may match, and whether `plain` has to judge it.
    fn candidate(&mut self, buffer: &[u8], at: usize) -> Option<(usize, bool)> {
        match &self.pattern.way {
            Way::Literal(finder) => Some((finder.find(&buffer[at..])? + at, false)),
            Way::Holding(required) => Some((required.find(buffer, at)?, true)),
            Way::Scan { regex, judged, .. } => {
                let input = Input::new(buffer).range(at..).earliest(true);
                let half = regex.search_half_with(self.scan.as_mut()?, &input)?;
                Some((half.offset(), *judged))
            }
            Way::Across | Way::EachLine => Some((at, true)),
        }
    }

    fn next_line_judged(&mut self, buffer: &[u8], mut at: usize) -> Option<(usize, usize)> {
        while at < buffer.len() {
            let end = memchr(b'\n', &buffer[at..]).map_or(buffer.len(), |feed| at + feed);
            if self.judge(buffer, at, end) {
                return Some((at, end));
            }
            at = end + 1;
        }
        None
    }

    /// All lines that a match lies on, as one.
    fn next_across(&mut self, buffer: &[u8], at: usize) -> Option<(usize, usize)> {
        let regex = self.pattern.plain.as_ref()?;
        let input = Input::new(buffer).range(at..);
        let found = regex.search_with(self.plain.as_mut()?, &input)?;
        let (from, to) = (found.start(), found.end());
        let start = memrchr(b'\n', &buffer[at..from]).map_or(at, |feed| at + feed + 1);
        if start == buffer.len() {
            return None;
        }
        // A match that ends with a line feed ends on the line before it.
        let last = if to > from && buffer[to - 1] == b'\n' {
            to - 1
        } else {
            to
        };
        let end = memchr(b'\n', &buffer[last..]).map_or(buffer.len(), |feed| last + feed);
        Some((start, end))
    }

    fn judge(&mut self, buffer: &[u8], start: usize, end: usize) -> bool {
        match (&self.pattern.plain, &mut self.plain) {
            (Some(regex), Some(cache)) => {
                // Asking for the earliest end would rule out an engine that is quick on lines.
                let input = Input::new(without_return(buffer, start, end));
                regex.search_half_with(cache, &input).is_some()
            }
            _ => true,
        }
    }
}

/// A line's text. A carriage return is part of the line end only before a line feed.
fn without_return(buffer: &[u8], start: usize, end: usize) -> &[u8] {
    let line = &buffer[start..end];
    match line.strip_suffix(b"\r") {
        Some(short) if end < buffer.len() => short,
        _ => line,
    }
}

/// The start of the `count`th line before the one that starts at `at`.
pub(super) fn lines_before(buffer: &[u8], mut at: usize, count: usize) -> usize {
    for _ in 0..count {
        let Some(end) = at.checked_sub(1) else {
            break;
        };
        at = memrchr(b'\n', &buffer[..end]).map_or(0, |feed| feed + 1);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::pattern::Case;
    use super::*;

    #[test]
    fn matching_lines_with_their_numbers() {
        let check = |pattern: &str, multiline: bool, text: &str, expected: &str| {
            let pattern = Pattern::new(pattern, Case::Sensitive, multiline).unwrap();
            let mut shown = Vec::new();
            let _ = Searcher::new(&pattern).each(text.as_bytes(), 0..text.len(), 1, |line| {
                let text = String::from_utf8_lossy(line.text(text.as_bytes()));
                shown.push(format!("{}:{text}", line.number));
                ControlFlow::Continue(())
            });
            assert_eq!(shown.join("|"), expected, "{text:?}");
        };
        check("b", false, "ab\nb b\n\ncb", "1:ab|2:b b|4:cb");
        check("b", false, "", "");
        check("", false, "a\n\nb\n", "1:a|2:|3:b");
        check("^", false, "\n", "1:");
        check("$", false, "a\r\nb\n", "1:a|2:b");
        check("a$", false, "a\r\nba\nab\n", "1:a|2:ba");
        check("^a", false, "a\nba\nab\n", "1:a|3:ab");
        check("a.", false, "a\r\nab\r\n", "2:ab");
        check(r"\s", false, "a\r\nb c\n", "2:b c");
        check("[^x]b", false, "a\nb\nab\n", "3:ab");
        check(r"\Ab", false, "a\nb\n", "2:b");
        check(r"\B", false, "1\r\n1", "");
        check(r"\B", false, "1\r\n-\r\n\r\n22\r\n", "2:-|3:|4:22");
        check(r"(?-u:\B)", false, "1\r\n1", "");
        check(r"1\b{end-half}", false, "1\r\n1a\r\n", "1:1");
        check(r"\b{start-half}$", false, "1\r\n-\r\n", "2:-");
        check(
            r"\w+Error\b",
            false,
            "an Error\nIoError\nErrors\nüError é\n",
            "2:IoError|4:üError é",
        );
        check("a\nb", true, "x\na\nb\na\nb", "2:a\nb|4:a\nb");
        check("a\n", true, "a\nb\na\n", "1:a|3:a");
        check("(?s)a.*c", true, "a\nb\nc\nd\n", "1:a\nb\nc");
    }

    #[test]
    fn lines_are_counted_back() {
        let check = |at: usize, count: usize, expected: usize| {
            assert_eq!(lines_before(b"a\nbb\n\nc\n", at, count), expected);
        };
        check(0, 3, 0);
        check(2, 1, 0);
        check(6, 0, 6);
        check(6, 1, 5);
        check(6, 2, 2);
        check(6, 9, 0);
    }
}
