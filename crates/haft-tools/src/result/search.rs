//! Goes through a kept result once, from start to end, holding no more than one piece of it and
//! what is to be shown. Lines longer than a piece are looked at piece by piece, each overlapping
//! the one before, so that a needle on the border is found too.

use std::collections::VecDeque;
use std::io::{BufRead, Read};
use std::ops::Range;

use haft_core::{CancelToken, ErrorCode, ToolError};
use haft_host::CUT_NOTE;
use regex::Regex;

/// Bytes of a line that are looked at together.
const PIECE: u64 = 256 << 10;

/// Bytes that two pieces of one line share.
const OVERLAP: usize = 4 << 10;

/// Characters shown of a matching line, of a line beside one, and before the match itself.
const MATCH_CHARS: usize = 300;
const CONTEXT_CHARS: usize = 200;
const LEAD_CHARS: usize = 100;

/// Line numbers listed for programs.
const LISTED: usize = 100;

/// What to show.
#[derive(Debug)]
pub(super) struct Query {
    /// 1-based
    pub(super) from: u64,
    pub(super) to: Option<u64>,
    pub(super) regex: Option<Regex>,
    /// Lines around a match
    pub(super) context: usize,
    /// Characters to show at most
    pub(super) budget: usize,
}

/// What is shown, and what is known about the rest.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) text: String,
    pub(super) lines: u64,
    pub(super) first: Option<u64>,
    pub(super) last: Option<u64>,
    /// The line to go on with, where the budget ended a plain reading
    pub(super) next: Option<u64>,
    /// Matching lines, when a regex was given
    pub(super) matches: Option<u64>,
    pub(super) match_lines: Vec<u64>,
    /// Matching lines for which there was no room
    pub(super) unshown: u64,
    /// The line that says that what is kept is not all, if it was come to
    pub(super) cut: Option<String>,
}

pub(super) fn search(
    input: &mut dyn BufRead,
    query: &Query,
    cancel: &CancelToken,
) -> Result<Found, ToolError> {
    let mut show = Show::new(query);
    let mut pieces = Pieces::new(input);
    while let Some(piece) = pieces.next()? {
        if cancel.is_cancelled() {
            return Err(ToolError::new(ErrorCode::Cancelled, "cancelled"));
        }
        if query.to.is_some_and(|to| piece.line > to) {
            break;
        }
        if piece.line < query.from {
            continue;
        }
        show.found.cut = piece
            .text
            .starts_with(CUT_NOTE)
            .then(|| piece.text.trim_end().to_owned());
        let go_on = match &query.regex {
            Some(regex) => {
                show.matching(&piece, regex);
                true
            }
            None => show.plain(&piece),
        };
        if !go_on {
            break;
        }
    }
    Ok(show.found)
}

/// A line, or a part of a very long one.
struct Piece<'a> {
    line: u64,
    text: std::borrow::Cow<'a, str>,
    /// It begins where the line begins
    first: bool,
    /// How much of the text, in bytes, was already in the piece before
    seen: usize,
}

struct Pieces<'a> {
    input: &'a mut dyn BufRead,
    buffer: Vec<u8>,
    line: u64,
    /// The last piece did not end its line
    inside: bool,
}

impl<'a> Pieces<'a> {
    fn new(input: &'a mut dyn BufRead) -> Self {
        Pieces {
            input,
            buffer: Vec::new(),
            line: 0,
            inside: false,
        }
    }

    fn next(&mut self) -> Result<Option<Piece<'_>>, ToolError> {
        let first = !self.inside;
        let mut seen = 0;
        if first {
            self.line += 1;
            self.buffer.clear();
        } else {
            seen = OVERLAP.min(self.buffer.len());
            self.buffer.drain(..self.buffer.len() - seen);
        }
        let read = (&mut *self.input)
            .take(PIECE)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| {
                ToolError::failed(format!("cannot read the kept result: {error}")).caused_by(error)
            })?;
        if read == 0 {
            return Ok(None);
        }
        self.inside = self.buffer.last() != Some(&b'\n');
        let line = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Ok(Some(Piece {
            line: self.line,
            text: String::from_utf8_lossy(line),
            first,
            seen,
        }))
    }
}

struct Show<'a> {
    query: &'a Query,
    found: Found,
    room: usize,
    /// Lines before a match that may come
    before: VecDeque<(u64, String)>,
    /// Lines still to be shown after a match
    after: usize,
    /// The last line that matched
    last_hit: Option<u64>,
    full: bool,
}

impl<'a> Show<'a> {
    fn new(query: &'a Query) -> Self {
        Show {
            query,
            found: Found {
                matches: query.regex.is_some().then_some(0),
                ..Found::default()
            },
            room: query.budget,
            before: VecDeque::new(),
            after: 0,
            last_hit: None,
            full: false,
        }
    }

    /// Show a line as it is; false when there is no room for more.
    fn plain(&mut self, piece: &Piece<'_>) -> bool {
        if !piece.first {
            return true;
        }
        let text = format!("{}\t{}", piece.line, piece.text);
        if self.push(piece.line, &text) {
            return true;
        }
        if self.found.lines == 0 {
            // Not even one line fits: its start is better than nothing.
            let start = clip(&text, 0..0, self.room.saturating_sub(1));
            self.push(piece.line, &start);
            self.found.next = Some(piece.line + 1);
        } else {
            self.found.next = Some(piece.line);
        }
        false
    }

    fn matching(&mut self, piece: &Piece<'_>, regex: &Regex) {
        let hit = regex
            .find_iter(&piece.text)
            .find(|hit| hit.end() > piece.seen || piece.seen == 0);
        match hit {
            Some(hit) => self.hit(piece, hit.range()),
            None if piece.first => self.beside(piece),
            None => {}
        }
    }

    fn hit(&mut self, piece: &Piece<'_>, range: Range<usize>) {
        // A very long line may match in several pieces: it counts once.
        let again = self.last_hit.replace(piece.line) == Some(piece.line);
        if !again {
            *self.found.matches.get_or_insert(0) += 1;
            if self.found.match_lines.len() < LISTED {
                self.found.match_lines.push(piece.line);
            }
        }
        let text = format!("{}:{}", piece.line, clip(&piece.text, range, MATCH_CHARS));
        let mut before = std::mem::take(&mut self.before);
        before.retain(|(line, _)| *line != piece.line);
        if self.full {
            self.found.unshown += u64::from(!again);
            return;
        }
        let begins = before.front().map_or(piece.line, |(line, _)| *line);
        if self.found.last.is_some_and(|last| begins > last + 1) {
            self.push_separator();
        }
        let mut fits = true;
        for (line, text) in before {
            fits = fits && self.push(line, &text);
        }
        if fits && self.push(piece.line, &text) {
            self.after = self.query.context;
        } else {
            self.full = true;
            self.found.unshown += u64::from(!again);
        }
    }

    fn beside(&mut self, piece: &Piece<'_>) {
        if self.query.context == 0 || self.full {
            return;
        }
        let text = format!("{}-{}", piece.line, clip(&piece.text, 0..0, CONTEXT_CHARS));
        if self.after > 0 {
            self.after -= 1;
            self.full = !self.push(piece.line, &text);
            return;
        }
        if self.before.len() == self.query.context {
            self.before.pop_front();
        }
        self.before.push_back((piece.line, text));
    }

    fn push_separator(&mut self) {
        let separator = "\n--";
        if self.room > separator.len() {
            self.room -= separator.len();
            self.found.text.push_str(separator);
        }
    }

    fn push(&mut self, line: u64, text: &str) -> bool {
        let length = text.chars().count() + 1;
        if length > self.room {
            return false;
        }
        self.room -= length;
        if !self.found.text.is_empty() {
            self.found.text.push('\n');
        }
        self.found.text.push_str(text);
        self.found.lines += u64::from(self.found.last != Some(line));
        self.found.first.get_or_insert(line);
        self.found.last = Some(line);
        true
    }
}

/// At most `limit` characters of a line, around the given part of it.
fn clip(line: &str, part: Range<usize>, limit: usize) -> String {
    const MARK: &str = "…";
    if line.len() <= limit || line.chars().count() <= limit {
        return line.to_owned();
    }
    let lead = LEAD_CHARS.min(limit / 3);
    let start = line[..part.start]
        .char_indices()
        .rev()
        .nth(lead.saturating_sub(1))
        .map_or(0, |(index, _)| index);
    let room = limit.saturating_sub(2);
    let end = line[start..]
        .char_indices()
        .nth(room)
        .map_or(line.len(), |(index, _)| start + index);
    let before = if start > 0 { MARK } else { "" };
    let after = if end < line.len() { MARK } else { "" };
    format!("{before}{}{after}", &line[start..end])
}

#[cfg(test)]
mod tests;
