//! Gets the content of files into a buffer that is used again and again. A file that fits comes
//! with one read; a larger one comes in windows that start and end with whole lines, so that
//! memory stays bounded whatever the size.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::{AsFd, OwnedFd};

use haft_core::CancelToken;
use memchr::{memchr, memrchr};
use rustix::buffer::spare_capacity;
use rustix::fs::FileType;
use rustix::io::Errno;

/// Files up to this size are read whole; nearly all are smaller.
const WHOLE: usize = 256 << 10;
/// Where a pattern spans lines, files up to this size are read whole.
const WHOLE_ACROSS: usize = 64 << 20;
/// The longest line, and the largest window with the lines around it.
const LONGEST_LINE: usize = 64 << 20;
/// Room that the buffer has beyond a file, so that one read meets its end.
const BEYOND: usize = 4 << 10;
/// Read at a time where a file is too large for that.
const CHUNK: usize = 64 << 10;

/// Bytes at the start of a file that must not hold a NUL byte.
const LOOKED_AT: usize = 8 << 10;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a file turned out to be.
pub(super) enum Content {
    /// All of it, in the buffer
    Whole,
    /// Too large for one piece
    Large(File),
    /// Not a regular file
    Special,
}

/// A part of a large file: `buffer[search]` is to be searched, the rest is there to be shown.
pub(super) struct Window {
    pub(super) search: std::ops::Range<usize>,
    /// The number of the line that `search` starts with
    pub(super) first: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    Cancelled,
    /// Its start is not text
    NotText,
    /// A line that no one would call text
    LongLine,
    Failed,
}

/// Invariant: the buffer holds what was read and nothing else. Its room beyond that is never
/// filled with zeros, which would make the kernel find memory for files that never come.
pub(super) struct Reader {
    pub(super) buffer: Vec<u8>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Reader {
            buffer: Vec::with_capacity(WHOLE + BEYOND),
        }
    }

    /// The content of an open file, whole if `across` lines or if it fits.
    pub(super) fn load(&mut self, file: OwnedFd, across: bool) -> Result<Content, Errno> {
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(Content::Special);
        }
        let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
        let limit = if across { WHOLE_ACROSS } else { WHOLE };
        if size > limit {
            return Ok(Content::Large(File::from(file)));
        }
        self.fit(size);
        loop {
            let room = self.buffer.capacity() - self.buffer.len();
            // A short read is the end of a regular file.
            if read(&file, &mut self.buffer)? < room {
                return Ok(Content::Whole);
            }
            // It grew while we looked.
            if self.buffer.len() > limit {
                return Ok(Content::Large(File::from(file)));
            }
            self.buffer.reserve(self.buffer.len());
        }
    }

    /// Empty, large enough for this file, and no larger than usual for long.
    fn fit(&mut self, size: usize) {
        self.buffer.clear();
        let (room, usual) = (self.buffer.capacity(), WHOLE + BEYOND);
        if size + BEYOND > room || size <= WHOLE && room > usual {
            self.buffer = Vec::new();
            self.buffer.reserve_exact(usual.max(size + BEYOND));
        }
    }
}

/// The windows of a large file, one after the other.
pub(super) struct Windows<'r> {
    file: File,
    buffer: &'r mut Vec<u8>,
    searched: usize,
    /// Lines to keep around each match
    context: usize,
    first: u64,
    ended: bool,
}

impl<'r> Windows<'r> {
    pub(super) fn new(reader: &'r mut Reader, mut file: File, context: usize) -> io::Result<Self> {
        file.rewind()?;
        reader.fit(CHUNK);
        Ok(Windows {
            file,
            buffer: &mut reader.buffer,
            searched: 0,
            context,
            first: 1,
            ended: false,
        })
    }

    /// All that the buffer holds.
    pub(super) fn text(&self) -> &[u8] {
        self.buffer
    }

    pub(super) fn next(&mut self, cancel: &CancelToken) -> Result<Option<Window>, Stopped> {
        if self.ended {
            return Ok(None);
        }
        self.forget_searched();
        loop {
            if cancel.is_cancelled() {
                return Err(Stopped::Cancelled);
            }
            if self.buffer.len() == self.buffer.capacity() {
                if self.buffer.len() >= LONGEST_LINE {
                    return Err(Stopped::LongLine);
                }
                self.buffer.reserve(self.buffer.len());
            }
            let at_start = self.buffer.is_empty() && self.first == 1;
            let got = read(&self.file, self.buffer).map_err(|_| Stopped::Failed)?;
            if at_start && !starts_as_text(self.buffer) {
                return Err(Stopped::NotText);
            }
            if at_start && self.buffer.starts_with(BOM) {
                self.buffer.drain(..BOM.len());
            }
            self.ended = got == 0;
            let end = match self.ended {
                true => self.buffer.len(),
                // The lines after a match must be there to be shown with it.
                false => super::lines::lines_before(
                    self.text(),
                    memrchr(b'\n', self.text()).map_or(0, |feed| feed + 1),
                    self.context,
                ),
            };
            if end > self.searched || self.ended {
                let window = Window {
                    search: self.searched..end.max(self.searched),
                    first: self.first,
                };
                let feeds = memchr::memchr_iter(b'\n', &self.buffer[window.search.clone()]);
                self.first += feeds.count() as u64;
                self.searched = window.search.end;
                return Ok(Some(window));
            }
        }
    }

    fn forget_searched(&mut self) {
        let keep = super::lines::lines_before(self.text(), self.searched, self.context);
        self.buffer.drain(..keep);
        self.searched -= keep;
    }
}

/// Whether all of a large file is text.
pub(super) fn is_text_throughout(file: &File, cancel: &CancelToken) -> Result<bool, Stopped> {
    let mut chunk = vec![0; CHUNK];
    let mut kept = 0;
    let mut at = 0;
    loop {
        if cancel.is_cancelled() {
            return Err(Stopped::Cancelled);
        }
        let got = match rustix::io::pread(file, &mut chunk[kept..], at) {
            Ok(got) => got,
            Err(Errno::INTR) => continue,
            Err(_) => return Err(Stopped::Failed),
        };
        at += got as u64;
        let text = &chunk[..kept + got];
        if at == got as u64 && !starts_as_text(text) {
            return Ok(false);
        }
        let split = match std::str::from_utf8(text) {
            Ok(_) => text.len(),
            // A character may be cut by the end of the chunk, but not by the end of the file.
            Err(error) if error.error_len().is_none() && got > 0 => error.valid_up_to(),
            Err(_) => return Ok(false),
        };
        if got == 0 {
            return Ok(true);
        }
        kept = text.len() - split;
        let filled = split + kept;
        chunk.copy_within(split..filled, 0);
    }
}

/// Whether a whole content is text: UTF-8 without a NUL byte near its start.
pub(super) fn is_text(content: &[u8]) -> bool {
    starts_as_text(content) && std::str::from_utf8(content).is_ok()
}

fn starts_as_text(content: &[u8]) -> bool {
    let start = &content[..content.len().min(LOOKED_AT)];
    memchr(0, start).is_none()
}

/// The text behind the mark that some editors put first.
pub(super) fn without_mark(content: &[u8]) -> &[u8] {
    content.strip_prefix(BOM).unwrap_or(content)
}

/// Add what one read gives, as far as there is room.
fn read(file: impl AsFd, buffer: &mut Vec<u8>) -> Result<usize, Errno> {
    loop {
        match rustix::io::read(&file, spare_capacity(buffer)) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// The windows of a file, as line numbers and what is searched, glued back together.
    fn windowed(content: &[u8], context: usize) -> (Vec<u8>, usize, bool) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let mut reader = Reader::new();
        let mut windows = Windows::new(&mut reader, file, context).unwrap();
        let cancel = CancelToken::new();
        let (mut whole, mut count, mut lines_fit) = (Vec::new(), 0, true);
        while let Some(window) = windows.next(&cancel).unwrap() {
            let before = whole.iter().filter(|&&byte| byte == b'\n').count() as u64;
            lines_fit &= window.first == before + 1;
            whole.extend_from_slice(&windows.text()[window.search]);
            count += 1;
        }
        (whole, count, lines_fit)
    }

    #[test]
    fn windows_hold_every_line_once() {
        let mut content = Vec::new();
        for n in 0..200_000 {
            content.extend_from_slice(format!("line {n} ü\n").as_bytes());
        }
        content.extend_from_slice(b"no end");
        for context in [0, 3] {
            let (whole, count, lines_fit) = windowed(&content, context);
            assert!(
                whole == content && lines_fit && count > 2,
                "{context} {count}"
            );
        }
        let (whole, ..) = windowed(b"\xef\xbb\xbfa\nb", 1);
        assert_eq!(whole, b"a\nb");
    }

    #[test]
    fn what_starts_with_bytes_is_left_at_once() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![0; 4 << 20]).unwrap();
        let mut reader = Reader::new();
        let room = reader.buffer.capacity();
        let mut windows = Windows::new(&mut reader, file, 0).unwrap();
        let next = windows.next(&CancelToken::new());
        assert!(matches!(next, Err(Stopped::NotText)));
        assert_eq!(reader.buffer.capacity(), room);
    }

    #[test]
    fn text_is_told_from_bytes() {
        let check = |content: &[u8], expected: bool| {
            assert_eq!(is_text(content), expected);
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(content).unwrap();
            let throughout = is_text_throughout(&file, &CancelToken::new());
            assert_eq!(throughout, Ok(expected));
        };
        check(b"plain\n", true);
        check("ü".repeat(CHUNK).as_bytes(), true);
        check(&["aü".repeat(CHUNK).as_bytes(), b"\xc3"].concat(), false);
        check(b"caf\xe9", false);
        check(b"a\0b", false);
    }
}
