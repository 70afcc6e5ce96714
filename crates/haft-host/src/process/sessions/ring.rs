//! The end of a session's output, in a file of fixed size without a name: the kernel takes it
//! back when this process ends, however it ends, and memory holds none of it.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;

use super::super::record::{OUTPUT_CHARS, TAIL_CHARS};
use super::super::text::last_chars;

/// Bytes in the file: the longest answer in the longest characters fits.
const ROOM: u64 = 1 << 20;
const LONGEST_CHAR: usize = 4;

/// Text that is written without end, and of which the end can be read.
#[derive(Debug)]
pub(super) struct Ring {
    file: File,
    bytes: u64,
    chars: u64,
    newlines: u64,
    /// The last line has begun and not ended
    open_line: bool,
    /// Writing failed, and why: from there on the text has holes
    pub(super) error: Option<io::ErrorKind>,
}

/// Lines of a session's output. Lines are counted from 0 and keep their number when those
/// before them are no longer kept.
#[derive(Debug, PartialEq, Eq)]
pub struct Log {
    pub lines: Vec<String>,
    /// The number of the first line given
    pub offset: u64,
    /// Lines that the session has written
    pub total_lines: u64,
    /// Characters that the session has written
    pub total_chars: u64,
    /// Lines at the beginning that are no longer kept
    pub dropped_lines: u64,
}

impl Ring {
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        Ok(Ring {
            file: tempfile::tempfile_in(folder)?,
            bytes: 0,
            chars: 0,
            newlines: 0,
            open_line: false,
            error: None,
        })
    }

    /// A disk that is full loses text, never the session.
    pub(super) fn push(&mut self, text: &str) {
        let Some(last) = text.as_bytes().last() else {
            return;
        };
        self.open_line = *last != b'\n';
        self.chars += text.chars().count() as u64;
        self.newlines += newlines(text);
        let skipped = text.len().saturating_sub(ROOM as usize);
        self.bytes += skipped as u64;
        let mut rest = text.as_bytes().get(skipped..).unwrap_or_default();
        while !rest.is_empty() {
            let place = self.bytes % ROOM;
            let fits = rest.len().min((ROOM - place) as usize);
            let (now, later) = rest.split_at(fits);
            if let Err(error) = self.file.write_all_at(now, place) {
                self.error.get_or_insert(error.kind());
            }
            self.bytes += fits as u64;
            rest = later;
        }
    }

    /// The last [`OUTPUT_CHARS`] characters.
    pub(super) fn output(&self) -> String {
        let text = self.last_bytes(OUTPUT_CHARS * LONGEST_CHAR);
        last_chars(&text, OUTPUT_CHARS).to_owned()
    }

    /// The last [`TAIL_CHARS`] characters.
    pub(super) fn tail(&self) -> String {
        let text = self.last_bytes(TAIL_CHARS * LONGEST_CHAR);
        last_chars(&text, TAIL_CHARS).to_owned()
    }

    pub(super) fn chars(&self) -> u64 {
        self.chars
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// There was more than `output` gives.
    pub(super) fn truncated(&self) -> bool {
        self.chars > OUTPUT_CHARS as u64
    }

    /// At most `limit` lines from `offset` on, or from the first one that is still whole.
    pub(super) fn log(&self, offset: u64, limit: usize) -> Log {
        let output = self.output();
        let mut kept = output.as_str();
        let mut dropped_lines = self.newlines - newlines(kept);
        if self.truncated()
            && let Some((_part, whole)) = kept.split_once('\n')
        {
            kept = whole;
            dropped_lines += 1;
        }
        let offset = offset.max(dropped_lines);
        let skip = usize::try_from(offset - dropped_lines).unwrap_or(usize::MAX);
        Log {
            lines: kept
                .lines()
                .skip(skip)
                .take(limit)
                .map(str::to_owned)
                .collect(),
            offset,
            total_lines: self.newlines + u64::from(self.open_line),
            total_chars: self.chars,
            dropped_lines,
        }
    }

    /// The last bytes, without a character that begins before them.
    fn last_bytes(&self, count: usize) -> String {
        let count = self.bytes.min(ROOM).min(count as u64);
        let mut bytes = vec![0; count as usize];
        let begin = (self.bytes - count) % ROOM;
        let before_end = ((ROOM - begin).min(count)) as usize;
        let (first, second) = bytes.split_at_mut(before_end);
        let read = self
            .file
            .read_exact_at(first, begin)
            .and_then(|()| self.file.read_exact_at(second, 0));
        if let Err(error) = read {
            return format!("[the output could not be kept: {error}]\n");
        }
        let cut = bytes
            .iter()
            .take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000)
            .count();
        String::from_utf8_lossy(bytes.get(cut..).unwrap_or_default()).into_owned()
    }
}

fn newlines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> (tempfile::TempDir, Ring) {
        let dir = tempfile::tempdir().unwrap();
        let ring = Ring::new(&dir.path().join("rings")).unwrap();
        (dir, ring)
    }

    #[test]
    fn the_end_is_kept_whatever_the_pieces() {
        let whole = "aé🦀漢\n".repeat(400_000);
        for size in [7, 4_096, 65_536, 3_000_000] {
            let (_dir, mut ring) = ring();
            let mut rest = whole.as_str();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(rest.floor_char_boundary(size));
                ring.push(now);
                rest = later;
            }
            assert!(ring.output() == last_chars(&whole, OUTPUT_CHARS), "{size}");
            assert!(ring.tail() == last_chars(&whole, TAIL_CHARS), "{size}");
            assert!(ring.truncated() && ring.error.is_none());
            assert!(ring.file.metadata().unwrap().len() <= ROOM);
        }
    }

    #[test]
    fn lines_keep_their_numbers() {
        let (_dir, mut ring) = ring();
        let check = |ring: &Ring, offset, limit, lines: &[&str], first, total, dropped| {
            let log = ring.log(offset, limit);
            assert_eq!(log.lines, lines);
            assert_eq!((log.offset, log.total_lines), (first, total));
            assert_eq!(log.dropped_lines, dropped);
        };
        check(&ring, 0, 9, &[], 0, 0, 0);
        ring.push("one\ntwo\nthr");
        check(&ring, 0, 9, &["one", "two", "thr"], 0, 3, 0);
        ring.push("ee\n");
        check(&ring, 0, 9, &["one", "two", "three"], 0, 3, 0);
        check(&ring, 1, 1, &["two"], 1, 3, 0);
        check(&ring, 7, 9, &[], 7, 3, 0);
        for number in 3..100_000 {
            ring.push(&format!("{number:09}\n"));
        }
        // 20,000 lines of ten characters fit; the first of them counts as cut.
        check(&ring, 0, 1, &["000080001"], 80_001, 100_000, 80_001);
        check(&ring, 99_999, 5, &["000099999"], 99_999, 100_000, 80_001);
    }
}
