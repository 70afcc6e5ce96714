//! Bytes of a running command as text: characters never split between two pieces, bytes that
//! are no text replaced, the last characters kept in bounded memory at a cost that grows with
//! the output and not with its square.

use std::collections::VecDeque;

/// Turns a stream of bytes into text, piece by piece.
#[derive(Debug, Default, Clone)]
pub(super) struct Decoder {
    /// The beginning of a character whose end has not come yet; at most three bytes
    carry: Vec<u8>,
}

impl Decoder {
    /// The text of the next bytes. The start of an unfinished character waits for its rest.
    pub(super) fn push(&mut self, bytes: Vec<u8>) -> Piece {
        let count = bytes.len();
        let text = match self.carry.is_empty() {
            true => String::from_utf8(bytes).unwrap_or_else(|error| self.mend(error.as_bytes())),
            false => self.mend(&bytes),
        };
        Piece::new(text, count)
    }

    fn mend(&mut self, bytes: &[u8]) -> String {
        let joined;
        let mut rest = if self.carry.is_empty() {
            bytes
        } else {
            self.carry.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.carry);
            joined.as_slice()
        };
        let mut text = String::with_capacity(rest.len());
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    return text;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    let Some(bad) = error.error_len() else {
                        self.carry = after.to_vec();
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = after.get(bad..).unwrap_or_default();
                }
            }
        }
    }

    /// What is left when the stream ends in the middle of a character, once.
    pub(super) fn finish(&mut self) -> Option<Piece> {
        let left = !std::mem::take(&mut self.carry).is_empty();
        left.then(|| Piece::new("\u{FFFD}".to_owned(), 0))
    }
}

/// Characters in an output. Counting is dear, and next to all output is plain.
pub fn count_chars(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => text.chars().count(),
    }
}

/// A piece of an output.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) text: String,
    /// Characters in it
    pub(super) chars: usize,
    /// What it was read from; a character may begin in one piece and be in the next
    pub(super) bytes: usize,
}

impl Piece {
    pub(super) fn new(text: String, bytes: usize) -> Self {
        let chars = count_chars(&text);
        Piece { text, chars, bytes }
    }

    /// Whether nothing was read.
    pub(super) fn is_end(&self) -> bool {
        self.bytes == 0 && self.text.is_empty()
    }
}

/// Pieces grow to about this many bytes before a new one is begun.
const PIECE: usize = 64 * 1024;

/// The last characters of a text that may be far longer.
///
/// Invariant: once all surplus is taken, there would be fewer characters than the limit without
/// the first piece. So what is held stays within the limit and a piece, and no text is moved.
#[derive(Debug)]
pub(super) struct Tail {
    limit: usize,
    pieces: VecDeque<Piece>,
    chars: usize,
    dropped: bool,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        Tail {
            limit,
            pieces: VecDeque::new(),
            chars: 0,
            dropped: false,
        }
    }

    pub(super) fn push(&mut self, piece: Piece) {
        self.chars += piece.chars;
        self.dropped |= self.chars > self.limit;
        match self.pieces.back_mut() {
            Some(last) if last.text.len() + piece.text.len() <= PIECE => {
                last.text.push_str(&piece.text);
                last.chars += piece.chars;
                last.bytes += piece.bytes;
            }
            _ => self.pieces.push_back(piece),
        }
    }

    /// A piece of the beginning that is no longer needed.
    pub(super) fn surplus(&mut self) -> Option<String> {
        let first = self.pieces.front()?;
        if self.chars - first.chars < self.limit {
            return None;
        }
        self.chars -= first.chars;
        self.pieces.pop_front().map(|piece| piece.text)
    }

    /// Whether there was more than the limit.
    pub(super) fn dropped(&self) -> bool {
        self.dropped
    }

    /// The last characters, as many as the limit allows.
    pub(super) fn text(&self) -> String {
        let excess = self.chars.saturating_sub(self.limit);
        let mut text = String::with_capacity(self.pieces.iter().map(|p| p.text.len()).sum());
        for (index, piece) in self.pieces.iter().enumerate() {
            let cut = if index == 0 { excess } else { 0 };
            text.push_str(without_first(&piece.text, cut));
        }
        text
    }

    /// Everything that was not taken.
    pub(super) fn into_pieces(self) -> impl Iterator<Item = String> {
        self.pieces.into_iter().map(|piece| piece.text)
    }
}

fn without_first(text: &str, count: usize) -> &str {
    let start = text
        .char_indices()
        .nth(count)
        .map_or(text.len(), |(index, _)| index);
    text.get(start..).unwrap_or_default()
}

/// The last `count` characters of a text.
pub(super) fn last_chars(text: &str, count: usize) -> &str {
    if text.len() <= count {
        return text;
    }
    if count == 0 {
        return "";
    }
    let start = text
        .char_indices()
        .rev()
        .nth(count - 1)
        .map_or(0, |(index, _)| index);
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_the_same_however_the_bytes_are_cut() {
        let check = |bytes: &[u8], expected: &str| {
            for size in 1..=bytes.len().max(1) {
                let mut decoder = Decoder::default();
                let mut text: String = bytes
                    .chunks(size)
                    .map(|chunk| decoder.push(chunk.to_vec()).text)
                    .collect();
                text.extend(decoder.finish().map(|piece| piece.text));
                assert!(decoder.finish().is_none());
                assert_eq!(text, expected, "in pieces of {size}");
            }
        };
        check(b"", "");
        check("grüße 🦀 漢字".as_bytes(), "grüße 🦀 漢字");
        check(b"a\xffb", "a\u{FFFD}b");
        check(b"a\xf0\x9f\xa6", "a\u{FFFD}");
        check(b"\xf0\x9f\xa6x", "\u{FFFD}x");
        check(b"\xe2\x28\xa1", "\u{FFFD}(\u{FFFD}");
        check(b"\xc3\xc3\xa9", "\u{FFFD}é");
        check(b"nul\0bell\x07", "nul\0bell\x07");
    }

    #[test]
    fn the_tail_is_the_end_of_the_whole() {
        let whole = "aé🦀".repeat(50_000);
        for limit in [0, 1, 2, 7, 99_999, 149_999, 150_000, 150_001, 1_000_000] {
            for size in [1, 7, 1_000, 40_000, 150_000] {
                let mut tail = Tail::new(limit);
                let mut taken = String::new();
                let chars: Vec<char> = whole.chars().collect();
                for piece in chars.chunks(size) {
                    let piece: String = piece.iter().collect();
                    let bytes = piece.len();
                    tail.push(Piece::new(piece, bytes));
                    taken.extend(std::iter::from_fn(|| tail.surplus()));
                    assert!(tail.chars <= limit + size.max(PIECE));
                }
                assert_eq!(tail.dropped(), limit < 150_000, "limit {limit}");
                assert_eq!(tail.text(), last_chars(&whole, limit), "{limit} {size}");
                taken.extend(tail.into_pieces());
                assert!(taken == whole, "{limit} {size}");
            }
        }
    }

    #[test]
    fn last_characters() {
        let check = |text, count, expected: &str| assert_eq!(last_chars(text, count), expected);
        check("abc", 2, "bc");
        check("abc", 0, "");
        check("abc", 9, "abc");
        check("äöü", 2, "öü");
        check("äöü", 4, "äöü");
        check("", 0, "");
    }
}
