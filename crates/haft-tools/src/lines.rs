//! An output as lines of which some are kept, for reducers. Lines that tell of an error are kept
//! whatever else goes: all of them up to a bound, and past that they are counted.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;
use haft_core::{Block, Output};
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use regex::Regex;

/// Lines above this length are cut in the middle.
const LONG: usize = 2_000;
/// Lines up to this length are looked at as a whole at once.
const SHORT: usize = 256;
const LEFT_OUT: &str = " left out …]";
const OVER: &str = " are left out; the whole result holds them]";

/// What is kept of a long line: its beginning, its end, and what is around its errors.
const HEAD: usize = 1_000;
const TAIL: usize = 400;
const AROUND: usize = 80;
const PLACES: usize = 5;

/// Words that tell of an error: with what they begin, for finding them fast, and with all their
/// forms.
const WORDS: &[(&str, &str)] = &[
    ("error", "errors?"),
    ("fail", "fail(?:ed|ure|ures|ing)?"),
    ("panic", "panic(?:ked)?"),
    ("exception", "exceptions?"),
    ("fatal", "fatal"),
    ("traceback", "traceback"),
    ("abort", "abort(?:ed|ing)?"),
    ("conflict", "conflicts?"),
    ("critical", "critical"),
    ("severe", "severe"),
    ("refused", "refused"),
    ("rejected", "rejected"),
    ("timed out", "timed out"),
    ("segfault", "segfault"),
    ("segmentation", "segmentation fault"),
    ("undefined", "undefined reference"),
    ("permission", "permission denied"),
    ("not found", "not found"),
    ("cannot", "cannot"),
    ("could not", "could not"),
    ("unable to", "unable to"),
    ("no such file", "no such file"),
    ("no space left", "no space left"),
    ("out of memory", "out of memory"),
    ("killed", "killed"),
    ("unhandled", "unhandled"),
    ("not ok", "not ok"),
    ("exit status", "exit status [1-9]"),
];
/// How npm and logs mark what went wrong, in small letters.
const SHOUTS: [&str; 4] = ["err!", "err ", "=err", "[e] "];
/// How one runner of tests does, where a line begins.
const ASSERTED: &str = "E   ";
const MARKS: [&str; 5] = ["✗", "✘", "✕", "×", "❌"];

static ERROR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words: Vec<&str> = WORDS.iter().map(|(_, forms)| *forms).collect();
    let words = words.join("|");
    Regex::new(&format!(
        r"(?i:\b(?:{words})\b)|\w(?:Error|Exception)\b|\bERR[! ]|\w=err\b|\[E\] |[✗✘✕×❌]|^E   "
    ))
    .ok()
});

/// Finds something in every line that `ERROR` holds on, many bytes at a time: many times as fast as
/// a regular expression. None on a machine that cannot; then every line is looked at.
///
/// No more than 32 texts can be looked for in the quickest way, so they are looked for in a copy in
/// small letters. Four letters of each are compared at once, so none may be shorter; marks, which
/// are, have a search of their own, and plain text has none.
static LIKELY: LazyLock<Option<[Searcher; 2]>> = LazyLock::new(|| {
    let words = WORDS.iter().map(|(begin, _)| *begin).chain(SHOUTS);
    Some([Searcher::new(words)?, Searcher::new(MARKS)?])
});

static NEXT_ASSERTED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\nE   "));

/// What is looked at together, by one search after the other.
const BLOCK: usize = 4 << 10;
/// Bytes that two blocks have in common, so that no word is cut in both.
const SHARED: usize = 16;

/// Where the lines are that tell of an error.
pub(crate) fn error_lines(text: &str) -> Vec<Range<usize>> {
    match &*LIKELY {
        Some(likely) => {
            let mut ahead = Ahead::new(likely, text.as_bytes());
            errors_from(text, |at| ahead.next(at))
        }
        None => errors_from(text, |at| at),
    }
}

/// Places worth a look, one after the other: what each search has found is known until it is passed.
struct Ahead<'t> {
    likely: &'t [Searcher; 2],
    text: &'t [u8],
    block: Range<usize>,
    /// The block in small letters
    small: Vec<u8>,
    hits: [Option<usize>; SEARCHES.len()],
}

#[derive(Clone, Copy)]
enum Search {
    Words,
    Marks,
    Asserted,
    /// Colours hide where words begin, so every coloured line is looked at
    Colours,
}

const SEARCHES: [Search; 4] = [
    Search::Words,
    Search::Marks,
    Search::Asserted,
    Search::Colours,
];

impl<'t> Ahead<'t> {
    fn new(likely: &'t [Searcher; 2], text: &'t [u8]) -> Self {
        Ahead {
            likely,
            text,
            block: 0..0,
            small: Vec::with_capacity(text.len().min(BLOCK)),
            hits: [None; SEARCHES.len()],
        }
    }

    /// The next place, or the end of the text, from where a line begins.
    fn next(&mut self, from: usize) -> usize {
        if self.text[from..].starts_with(ASSERTED.as_bytes()) {
            return from;
        }
        loop {
            for (at, search) in SEARCHES.into_iter().enumerate() {
                if self.hits[at].is_some_and(|hit| hit < from) {
                    self.hits[at] = self.find(search, from);
                }
            }
            if let Some(hit) = self.hits.iter().flatten().min() {
                return *hit;
            }
            if self.block.end == self.text.len() {
                return self.text.len();
            }
            self.go_on(from);
        }
    }

    /// Look at the next block.
    fn go_on(&mut self, from: usize) {
        let start = self.block.end.saturating_sub(SHARED).max(from);
        self.block = start..self.text.len().min(start + BLOCK);
        self.small.clear();
        let block = &self.text[self.block.clone()];
        self.small.extend(block.iter().map(u8::to_ascii_lowercase));
        self.hits = SEARCHES.map(|search| self.find(search, start));
    }

    /// The first hit of a search from here to the end of the block.
    fn find(&self, search: Search, from: usize) -> Option<usize> {
        let block = self.text.get(from..self.block.end)?;
        let start_in =
            |searcher: &Searcher, text: &[u8]| searcher.find(text).map(|hit| hit.start());
        let [words, marks] = self.likely;
        let hit = match search {
            Search::Words => start_in(words, &self.small[from - self.block.start..]),
            Search::Marks if block.is_ascii() => None,
            Search::Marks => start_in(marks, block),
            Search::Asserted => NEXT_ASSERTED.find(block).map(|feed| feed + 1),
            Search::Colours => memchr(0x1b, block),
        };
        hit.map(|hit| from + hit)
    }
}

/// Lines with errors, looked at from one place worth a look to the next, given where a line begins.
fn errors_from(text: &str, mut next: impl FnMut(usize) -> usize) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let hit = next(at);
        if hit == text.len() {
            break;
        }
        let start = memrchr(b'\n', &bytes[at..hit]).map_or(at, |feed| at + feed + 1);
        let end = memchr(b'\n', &bytes[hit..]).map_or(text.len(), |feed| hit + feed);
        if tells(&text[start..end]) {
            found.push(start..end);
        }
        at = end + 1;
    }
    found
}

/// Whether a line tells of an error.
pub(crate) fn is_error(line: &str) -> bool {
    match line.len() > SHORT {
        true => !error_lines(line).is_empty(),
        false => tells(line),
    }
}

fn tells(line: &str) -> bool {
    let line = without_colours(line);
    ERROR.as_ref().is_some_and(|error| error.is_match(&line))
}

/// The text without the marks that colour it in a terminal: they hide where words begin.
fn without_colours(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if chars.next() == Some('[') {
            for c in chars.by_ref() {
                if ('@'..='~').contains(&c) {
                    break;
                }
            }
        }
    }
    Cow::Owned(plain)
}

/// Whether the places of left out lines are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gaps {
    Marked,
    Silent,
}

pub(crate) struct Lines<'t> {
    lines: Vec<&'t str>,
    kept: Vec<bool>,
    /// Lines that tell of an error and are left out all the same
    errors_over: usize,
}

impl<'t> Lines<'t> {
    /// All lines, none of them kept yet.
    pub(crate) fn of(text: &'t str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        Lines {
            kept: vec![false; lines.len()],
            lines,
            errors_over: 0,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn dropped(&self) -> usize {
        self.kept.iter().filter(|kept| !**kept).count()
    }

    pub(crate) fn keep_first(&mut self, count: usize) {
        self.kept
            .iter_mut()
            .take(count)
            .for_each(|kept| *kept = true);
    }

    pub(crate) fn keep_last(&mut self, count: usize) {
        self.kept
            .iter_mut()
            .rev()
            .take(count)
            .for_each(|kept| *kept = true);
    }

    pub(crate) fn keep_where(&mut self, mut wanted: impl FnMut(&'t str) -> bool) {
        for (line, kept) in self.lines.iter().zip(&mut self.kept) {
            *kept |= wanted(line);
        }
    }

    /// Keep lines that tell of an error, at most this many; the first and the last of them
    /// where there are more.
    pub(crate) fn keep_errors(&mut self, most: usize) {
        let mut errors: Vec<usize> = (0..self.lines.len())
            .filter(|&at| !self.kept[at] && is_error(self.lines[at]))
            .collect();
        if errors.len() > most {
            let last = errors.split_off(errors.len() - most / 4);
            errors.truncate(most - last.len());
            let all = (0..self.lines.len())
                .filter(|&at| !self.kept[at] && is_error(self.lines[at]))
                .count();
            errors.extend(last);
            self.errors_over = all - errors.len();
        }
        for at in errors {
            self.kept[at] = true;
        }
    }

    /// The kept lines as a text, with a last word on what is not in it. What was left out before
    /// and what is left out now is one gap.
    pub(crate) fn text(&self, gaps: Gaps) -> String {
        let mut text = String::new();
        let mut gap: u64 = 0;
        for (line, kept) in self.lines.iter().zip(&self.kept) {
            let missing = match (kept, gaps) {
                (true, _) => marked(line),
                (false, Gaps::Marked) => Some(marked(line).unwrap_or(1)),
                (false, Gaps::Silent) => Some(0),
            };
            if let Some(missing) = missing {
                gap = gap.saturating_add(missing);
                continue;
            }
            mark(&mut text, gap);
            gap = 0;
            text.push_str(&cut_short(line));
            text.push('\n');
        }
        mark(&mut text, gap);
        more_errors(&mut text, self.errors_over as u64);
        text
    }
}

/// Say where lines are left out, and how many.
pub(crate) fn mark(text: &mut String, gap: u64) {
    if gap > 0 {
        let noun = if gap == 1 { "line" } else { "lines" };
        text.push_str(&format!("[… {gap} {noun}{LEFT_OUT}\n"));
    }
}

/// How many lines a line by [`mark`] stands for.
fn marked(line: &str) -> Option<u64> {
    let count = line.strip_prefix("[… ")?.strip_suffix(LEFT_OUT)?;
    let (count, noun) = count.split_once(' ')?;
    let count = count.parse().ok()?;
    ["line", "lines"].contains(&noun).then_some(count)
}

/// Say that there are more lines with errors than are shown.
pub(crate) fn more_errors(text: &mut String, count: u64) {
    if count > 0 {
        text.push_str(&format!("[{count} more lines with errors{OVER}\n"));
    }
}

/// Whether a line is one by which something was said to be left out.
pub(crate) fn is_mark(line: &str) -> bool {
    (line.starts_with("[… ") && line.ends_with(LEFT_OUT))
        || (line.starts_with('[') && line.ends_with(OVER))
}

/// A line that is not too long, with what is around its errors.
pub(crate) fn cut_short(line: &str) -> Cow<'_, str> {
    let chars = line.chars().count();
    if chars <= LONG {
        return Cow::Borrowed(line);
    }
    let at = |found: Option<(usize, char)>| found.map_or(line.len(), |(at, _)| at);
    let head = at(line.char_indices().nth(HEAD));
    let tail = at(line.char_indices().nth_back(TAIL - 1));
    let middle = &line[head..tail];
    let errors = ERROR.iter().filter(|_| is_error(middle));
    let mut short = line[..head].to_owned();
    let mut until = 0;
    for found in errors.flat_map(|error| error.find_iter(middle)) {
        if found.start() < until {
            continue;
        }
        let from = middle.floor_char_boundary(found.start().saturating_sub(AROUND).max(until));
        let to = middle.ceil_char_boundary(found.end() + AROUND);
        short.push('…');
        short.push_str(&middle[from..to]);
        until = to;
        if short.len() > head + PLACES * (2 * AROUND + 20) {
            break;
        }
    }
    short.push_str(&format!("… [a line of {chars} chars] …"));
    short.push_str(&line[tail..]);
    Cow::Owned(short)
}

/// The text blocks of an output as one.
pub(crate) fn text_of(output: &Output) -> String {
    let texts: Vec<&str> = output
        .content
        .iter()
        .filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_known_by_their_words() {
        for line in [
            "error: it broke",
            "TypeError: x is undefined",
            "\u{1b}[31merror\u{1b}[0m[E0308]",
            "test a ... FAILED",
            "thread 'main' panicked at",
            "npm ERR! code 1",
            " ✗ adds numbers",
            "java.lang.NullPointerException",
            "bash: x: command not found",
            "cat: x: No such file or directory",
            "write: No space left on device",
            "make: *** [all] Killed",
            "not ok 3 - thing",
            "curl: (6) Could not resolve host",
            "E: Unable to locate package x",
            "E       assert 1 == 2",
            "Unhandled rejection",
            "exit status 1",
        ] {
            assert!(is_error(line), "{line}");
        }
        for line in ["all fine", "terrors", "prefailedx", "exit status 0", ""] {
            assert!(!is_error(line), "{line}");
        }
    }

    #[test]
    fn every_word_is_found_at_once_in_whatever_letters() {
        let texts = WORDS.iter().map(|(begin, _)| *begin).chain(SHOUTS);
        assert!(texts.clone().all(|text| (4..=SHARED).contains(&text.len())));
        assert!(texts.count() <= 32);
        for (begin, _) in WORDS {
            let whole = match *begin {
                "segmentation" => "segmentation fault",
                "undefined" => "undefined reference",
                "permission" => "permission denied",
                "exit status" => "exit status 2",
                begin => begin,
            };
            let capital = format!("{}{}", whole[..1].to_uppercase(), &whole[1..]);
            let mixed = format!("{}{}", &whole[..3].to_uppercase(), &whole[3..]);
            for word in [whole.to_owned(), capital, mixed, whole.to_uppercase()] {
                let text = format!("fine\nso {word} it\nfine");
                assert_eq!(error_lines(&text).len(), 1, "{word}");
            }
        }
    }

    #[test]
    fn a_word_is_found_wherever_blocks_end() {
        for at in (0..2 * BLOCK).step_by(7).chain(BLOCK - 20..BLOCK + 20) {
            let text = format!("{}\nno space left\nfine", ".".repeat(at));
            assert_eq!(error_lines(&text).len(), 1, "at {at}");
        }
    }

    #[test]
    fn many_ways_to_tell_of_an_error() {
        for line in [
            "CONFLICT (content): Merge conflict in a.txt",
            " ! [rejected]        main -> main (non-fast-forward)",
            "CRITICAL db down",
            "SEVERE: no way back",
            "dial tcp 127.0.0.1:5432: connection refused",
            "request timed out",
            "ERR deploy",
            "level=err msg=down",
            "abort: nothing to do",
            "[E] 12:00 lost it",
        ] {
            let text = format!("all is well\n{line}\nthe end");
            let found = error_lines(&text);
            assert_eq!(found.len(), 1, "{line}");
            assert_eq!(&text[found[0].clone()], line);
        }
        for line in ["severely tested", "ERRATA", "refuse"] {
            assert!(error_lines(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn error_lines_are_found_at_once_as_one_by_one() {
        let lines = [
            "all fine",
            "error",
            "",
            "éerror",
            "NotFoundError",
            "éError: x",
            "terrors",
            "\tFAILED",
            "npm ERR! x",
            " ✗ no",
            "OUT OF MEMORY",
            "E   assert",
            "x E   y",
            "E   assert again",
            "stderr of it",
        ];
        let text = lines.join("\n");
        let coloured = format!("\u{1b}[1mx\u{1b}[0m\n{text}");
        for text in [
            text.as_str(),
            &coloured,
            "",
            "\n",
            "error\n",
            "a\n\nfatal\n\n",
            "E   a\nE   b\n\nE   c",
        ] {
            let found: Vec<&str> = error_lines(text).into_iter().map(|at| &text[at]).collect();
            let expected: Vec<&str> = text.lines().filter(|line| is_error(line)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_is_left_out_is_said() {
        let text = "a\nb\nerror 1\nc\nerror 2\nd\nerror 3\nerror 4\nerror 5\nz";
        let mut lines = Lines::of(text);
        lines.keep_first(1);
        lines.keep_last(1);
        lines.keep_errors(4);
        assert_eq!(
            lines.text(Gaps::Marked),
            "a\n[… 1 line left out …]\nerror 1\n[… 1 line left out …]\nerror 2\n[… 1 line left out …]\nerror 3\n[… 1 line left out …]\nerror 5\nz\n[1 more lines with errors are left out; the whole result holds them]\n"
        );
        assert_eq!(lines.dropped(), 4);
    }

    #[test]
    fn neighbouring_gaps_are_one() {
        let text = "a\n[… 5 lines left out …]\nb\nc\n[… 1 line left out …]\n[… a part of it left out …]\nz";
        let mut lines = Lines::of(text);
        lines.keep_first(1);
        lines.keep_last(2);
        lines.keep_where(is_mark);
        let part = "[… a part of it left out …]\nz\n";
        let marked = format!("a\n[… 8 lines left out …]\n{part}");
        assert_eq!(lines.text(Gaps::Marked), marked);
        let silent = format!("a\n[… 6 lines left out …]\n{part}");
        assert_eq!(lines.text(Gaps::Silent), silent);
    }

    #[test]
    fn a_long_line_keeps_its_errors() {
        let line = format!(
            "{} error: deep inside {}",
            "ü".repeat(5_000),
            "x".repeat(5_000)
        );
        let short = cut_short(&line);
        assert!(
            short.len() < 4_000 && short.contains("error: deep inside"),
            "{short}"
        );
    }
}
