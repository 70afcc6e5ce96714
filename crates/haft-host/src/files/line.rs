//! One line of a file, of which no more is held than will be shown, however long it is.

use std::io::BufRead;

use haft_core::CancelToken;
use memchr::memchr;

use super::read::{LINE_LIMIT, TEXT_LIMIT, Unreadable};

/// Bytes that are held: as many characters as are shown, of the longest kind, and one more.
const HELD: usize = 4 * (LINE_LIMIT + 1);

#[derive(Debug, Default)]
pub(super) struct Line {
    /// The line with its end, or the beginning of a long one
    pub(super) kept: Vec<u8>,
    /// Characters that came after
    pub(super) chars_after: u64,
    /// Nothing more is held
    full: bool,
    /// The beginning of a character whose end has not come yet
    carry: Vec<u8>,
}

impl Line {
    /// The next line; none at the end of the file. Every byte goes through the hasher.
    pub(super) fn read(
        reader: &mut impl BufRead,
        hasher: &mut Option<blake3::Hasher>,
        cancel: &CancelToken,
    ) -> Result<Option<Line>, Unreadable> {
        let mut line = Line::default();
        let mut length = 0;
        loop {
            if cancel.is_cancelled() {
                return Err(Unreadable::Cancelled);
            }
            let buffer = reader.fill_buf().map_err(Unreadable::Io)?;
            if buffer.is_empty() {
                break;
            }
            let feed = memchr(b'\n', buffer);
            let piece = &buffer[..feed.map_or(buffer.len(), |at| at + 1)];
            if let Some(hasher) = hasher {
                hasher.update(piece);
            }
            line.take(piece)?;
            let taken = piece.len();
            reader.consume(taken);
            length += taken as u64;
            if length > TEXT_LIMIT {
                return Err(Unreadable::TooLarge);
            }
            if feed.is_some() {
                break;
            }
        }
        match line.carry.is_empty() {
            true => Ok((length > 0).then_some(line)),
            false => Err(Unreadable::NotUtf8(0)),
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), Unreadable> {
        if self.full {
            return self.count(piece);
        }
        let fits = piece.len().min(HELD - self.kept.len());
        self.kept.extend_from_slice(&piece[..fits]);
        if self.kept.len() < HELD {
            return Ok(());
        }
        self.full = true;
        // From here on characters are counted, and the first of them may have begun here.
        if let Err(error) = std::str::from_utf8(&self.kept) {
            if error.error_len().is_some() {
                return Err(Unreadable::NotUtf8(0));
            }
            self.carry = self.kept.split_off(error.valid_up_to());
        }
        self.count(&piece[fits..])
    }

    fn count(&mut self, piece: &[u8]) -> Result<(), Unreadable> {
        let joined;
        let text = match self.carry.is_empty() {
            true => piece,
            false => {
                self.carry.extend_from_slice(piece);
                joined = std::mem::take(&mut self.carry);
                joined.as_slice()
            }
        };
        let whole = match std::str::from_utf8(text) {
            Ok(whole) => whole,
            Err(error) if error.error_len().is_some() => return Err(Unreadable::NotUtf8(0)),
            Err(error) => {
                let (whole, rest) = text.split_at(error.valid_up_to());
                self.carry = rest.to_vec();
                std::str::from_utf8(whole).unwrap_or_default()
            }
        };
        let end = whole.strip_suffix('\n').unwrap_or(whole);
        self.chars_after += end.chars().count() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn a_line_is_counted_whole_and_held_in_part() {
        let check = |text: &str| {
            for capacity in [7, 64 << 10] {
                let text = format!("{text}\nnext");
                let mut reader = BufReader::with_capacity(capacity, text.as_bytes());
                let mut hasher = Some(blake3::Hasher::new());
                let cancel = CancelToken::new();
                let line = Line::read(&mut reader, &mut hasher, &cancel);
                let line = line.ok().flatten().unwrap();
                let kept = std::str::from_utf8(&line.kept).unwrap();
                assert!(text.starts_with(kept) && kept.len() <= HELD);
                let first = text.lines().next().unwrap();
                let chars = kept.trim_end_matches('\n').chars().count() as u64;
                assert_eq!(chars + line.chars_after, first.chars().count() as u64);
                let next = Line::read(&mut reader, &mut hasher, &cancel);
                assert_eq!(next.ok().flatten().unwrap().kept, b"next");
                let hash = hasher.unwrap().finalize();
                assert_eq!(hash, blake3::hash(text.as_bytes()));
                let end = Line::read(&mut reader, &mut None, &cancel);
                assert!(matches!(end, Ok(None)));
            }
        };
        check("");
        check("short é");
        check(&"x".repeat(HELD - 1));
        check(&"x".repeat(HELD));
        check(&"é漢🦀".repeat(HELD / 2));
    }

    #[test]
    fn bytes_that_are_no_text_are_noticed_far_behind() {
        let spoilt = |tail: &[u8]| {
            let mut text = "é".repeat(HELD).into_bytes();
            text.extend_from_slice(tail);
            let mut reader = BufReader::with_capacity(1_001, text.as_slice());
            let line = Line::read(&mut reader, &mut None, &CancelToken::new());
            matches!(line, Err(Unreadable::NotUtf8(_)))
        };
        assert!(spoilt(b"\xff\n"));
        assert!(spoilt(b"\xc3\n"));
        assert!(spoilt(b"\xc3"));
        assert!(!spoilt("é".as_bytes()));
    }
}
