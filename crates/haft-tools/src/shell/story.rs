//! What a long output began with and which of its lines told of errors. Only the end of an output
//! is held while a command runs; this is taken down as it passes, so that a model that sees a part
//! is not misled about the rest.

use haft_host::{OUTPUT_CHARS, count_chars};

use crate::lines::{cut_short, error_lines, is_error, mark, more_errors};

/// Lines of the beginning that are kept, and lines with errors after them.
pub(super) const HEAD: usize = 40;
const ERRORS: usize = 100;
/// Bytes of a line that are looked at together.
const PART: usize = 8 << 10;
/// Bytes that two parts of a long line have in common, so that no word is cut in both.
const SHARED: usize = 64;

/// What passed by. Nothing is looked at while the whole of it can still be shown.
#[derive(Debug, Default)]
pub(super) struct Story {
    chars: usize,
    early: String,
    passing: bool,
    /// Lines that have ended
    lines: u64,
    head: Vec<String>,
    errors: Vec<(u64, String)>,
    /// All of them, also those that were not kept
    error_count: u64,
    open: OpenLine,
}

/// A line whose end has not come yet.
#[derive(Debug, Default)]
struct OpenLine {
    text: String,
    /// What came before `text`, in short, where the line is long
    before: Option<String>,
    /// A place in what came before that told of an error
    error: Option<String>,
}

impl Story {
    pub(super) fn push(&mut self, text: &str) {
        self.chars += count_chars(text);
        if self.passing {
            return self.read(text);
        }
        self.early.push_str(text);
        if self.early.len() > OUTPUT_CHARS {
            self.passing = true;
            let early = std::mem::take(&mut self.early);
            self.read(&early);
        }
    }

    /// Everything from the beginning: its first lines, those with errors, and the whole lines of
    /// `tail`, which is how it ended. None where this is not the story of that output.
    pub(super) fn told(mut self, tail: &str, total_chars: usize) -> Option<String> {
        if !self.passing || self.chars != total_chars {
            return None;
        }
        self.end_line_if_open();
        let (end, cut) = match tail.split_once('\n') {
            Some((_, whole)) if !whole.is_empty() => (whole, false),
            _ => (tail, true),
        };
        // A line of which only the end is there has a beginning to be told.
        let whole = (end.lines().count() as u64).saturating_sub(u64::from(cut));
        let first = self.lines.saturating_sub(whole);
        let mut text = String::new();
        let mut at = 0;
        for line in self
            .head
            .iter()
            .take(usize::try_from(first).unwrap_or(HEAD))
        {
            text.push_str(line);
            text.push('\n');
            at += 1;
        }
        let mut kept = 0;
        for (number, line) in self.errors.iter().filter(|(number, _)| *number < first) {
            kept += 1;
            if *number < at {
                continue;
            }
            mark(&mut text, number - at);
            text.push_str(line);
            text.push('\n');
            at = number + 1;
        }
        mark(&mut text, first - at);
        let later = error_lines(end).len() as u64;
        more_errors(&mut text, self.error_count.saturating_sub(kept + later));
        if cut {
            text.push_str("[… a part of this line left out …]\n");
        }
        text.push_str(end);
        Some(text)
    }

    fn read(&mut self, text: &str) {
        let Some(last) = memchr::memrchr(b'\n', text.as_bytes()) else {
            return self.open.push(text);
        };
        let (mut lines, rest) = text.split_at(last + 1);
        if !self.open.is_new()
            && let Some((end, others)) = lines.split_once('\n')
        {
            self.open.push(end);
            self.end_line();
            lines = others;
        }
        self.read_lines(lines);
        self.open.push(rest);
    }

    /// Whole lines, each with its end.
    fn read_lines(&mut self, mut lines: &str) {
        while self.head.len() < HEAD
            && let Some((line, others)) = lines.split_once('\n')
        {
            self.open.push(line);
            self.end_line();
            lines = others;
        }
        let mut counted = 0;
        for line in error_lines(lines) {
            self.lines += feeds(&lines[counted..line.start]);
            counted = line.start;
            self.note_error(cut_short(&lines[line]).into_owned());
        }
        self.lines += feeds(&lines[counted..]);
    }

    fn end_line_if_open(&mut self) {
        if !self.open.is_new() {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        let (line, told_error) = std::mem::take(&mut self.open).end();
        if self.head.len() < HEAD {
            self.head.push(line.clone());
        }
        if told_error {
            self.note_error(line);
        }
        self.lines += 1;
    }

    /// Of the line that has the number of those that have ended.
    fn note_error(&mut self, line: String) {
        self.error_count += 1;
        if self.errors.len() < ERRORS {
            self.errors.push((self.lines, line));
        }
    }
}

impl OpenLine {
    fn is_new(&self) -> bool {
        self.text.is_empty() && self.before.is_none()
    }

    /// The line goes on. Much is not copied: but for its beginning it is looked at where it is.
    fn push(&mut self, text: &str) {
        let beginning = &text[..text.floor_char_boundary(PART)];
        self.text.push_str(beginning);
        if beginning.len() < text.len() {
            self.go_on();
            let rest = &text[beginning.len()..];
            self.text
                .push_str(&rest[..rest.floor_char_boundary(SHARED)]);
            self.go_on();
            if rest.len() > SHARED {
                self.look_at(rest);
                self.text = last(rest).to_owned();
            }
        } else if self.text.len() > PART {
            self.go_on();
        }
    }

    /// Look at what there is, and let go of it.
    fn go_on(&mut self) {
        let text = std::mem::take(&mut self.text);
        match self.before {
            None => self.before = Some(cut_short(&text).into_owned()),
            Some(_) => self.look_at(&text),
        }
        self.text.push_str(last(&text));
    }

    fn look_at(&mut self, text: &str) {
        if self.error.is_none() && is_error(text) {
            self.error = Some(cut_short(text).into_owned());
        }
    }

    /// The line in short, and whether it tells of an error.
    fn end(mut self) -> (String, bool) {
        let Some(before) = self.before.take() else {
            let told_error = is_error(&self.text);
            return (cut_short(&self.text).into_owned(), told_error);
        };
        let error = match self.error {
            None if is_error(&self.text) => Some(cut_short(&self.text).into_owned()),
            earlier => earlier,
        };
        let told_error = error.is_some() || is_error(&before);
        let line = match error {
            Some(error) => format!("{before} … {error}"),
            None => format!("{before} …"),
        };
        (line, told_error)
    }
}

/// What the next part of a long line has in common with this one.
fn last(text: &str) -> &str {
    &text[text.floor_char_boundary(text.len().saturating_sub(SHARED))..]
}

fn feeds(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of a text that comes in pieces of this size.
    fn told(text: &str, size: usize) -> Option<String> {
        let mut story = Story::default();
        for piece in text.as_bytes().chunks(size) {
            story.push(std::str::from_utf8(piece).unwrap());
        }
        let tail = &text[text.len().saturating_sub(OUTPUT_CHARS)..];
        story.told(tail, text.len())
    }

    fn numbered(count: usize, errors: &[usize]) -> String {
        (1..=count)
            .map(|n| match errors.contains(&n) {
                true => format!("error in row {n}\n"),
                false => format!("this is row {n}\n"),
            })
            .collect()
    }

    #[test]
    fn an_error_far_from_the_end_is_told_with_what_is_left_out() {
        let text = numbered(30_000, &[7, 1_501, 29_999]);
        for size in [1, 1_000, 65_536, 1 << 20] {
            let story = told(&text, size).unwrap();
            assert!(
                story.starts_with("this is row 1\nthis is row 2\n"),
                "{}",
                &story[..100]
            );
            let expected = "this is row 40\n[… 1460 lines left out …]\nerror in row 1501\n[… ";
            assert!(story.contains(expected), "{}", &story[..2_000]);
            assert_eq!(story.matches("error in row 7\n").count(), 1);
            assert_eq!(story.matches("error in row 29999\n").count(), 1);
            let shown = story.lines().filter(|line| line.contains(" row ")).count();
            let left: usize = story
                .lines()
                .filter_map(|line| {
                    line.strip_prefix("[… ")?
                        .split(' ')
                        .next()?
                        .parse::<usize>()
                        .ok()
                })
                .sum::<usize>();
            assert_eq!(shown + left, 30_000, "in pieces of {size}");
        }
    }

    #[test]
    fn errors_past_the_bound_are_counted() {
        let errors: Vec<usize> = (100..400).collect();
        let story = told(&numbered(60_000, &errors), 4_096).unwrap();
        assert_eq!(story.matches("error in row").count(), ERRORS);
        assert!(story.contains("[200 more lines with errors are left out"));
    }

    #[test]
    fn an_error_across_two_pieces_of_a_long_line_is_told() {
        let size = 1 << 16;
        for at in 5 * size - 8..=5 * size + 2 {
            let text = format!("{} error: here{}", "x".repeat(at), " y".repeat(150_000));
            let story = told(&text, size).unwrap();
            assert!(story.contains(" error"), "at {at}");
        }
    }

    #[test]
    fn an_error_is_told_however_a_long_line_is_cut() {
        for size in PART - 3..PART + 2 * SHARED {
            let begin = 40 * size - 5;
            let text = format!("{} error: here{}", "x".repeat(begin), " y".repeat(150_000));
            let story = told(&text, size).unwrap();
            assert!(story.contains(" err"), "in pieces of {size}");
        }
        let pieces = [
            "x".repeat(OUTPUT_CHARS + 1),
            format!("{}err", " ".repeat(PART - 2)),
        ];
        let mut story = Story::default();
        for piece in pieces.iter().map(String::as_str).chain(["or: here\n"]) {
            story.push(piece);
        }
        assert_eq!(story.error_count, 1);
    }

    #[test]
    fn a_line_without_end_keeps_its_error() {
        let text = format!(
            "{} error: here {}",
            "x ".repeat(150_000),
            "y ".repeat(150_000)
        );
        let story = told(&text, 5_000).unwrap();
        assert!(story.starts_with("x x x") && story.ends_with("y y "));
        assert!(story.contains("error: here") && story.contains("\n[… a part of this line"));
        let text = format!("{text}\n{}", numbered(20_000, &[]));
        let story = told(&text, 5_000).unwrap();
        assert!(story.contains("error: here"), "{}", &story[..3_000]);
        assert!(story.starts_with("x x x"));
    }

    #[test]
    fn what_can_be_shown_whole_has_no_story() {
        assert_eq!(told(&numbered(100, &[]), 100), None);
    }
}
