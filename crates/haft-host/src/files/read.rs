//! Reading: a range of lines without holding the rest, images whole, other binary files not at
//! all. Everything is read from one handle, so what was checked is what is read.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::os::unix::fs::FileExt;
use std::path::Path;

use haft_core::{CancelToken, ToolError};
use serde::{Deserialize, Serialize};

use super::encoding;
use super::error::{cancelled, failure};
use super::large::Large;
use super::line::Line;
use super::open::{OpenFile, Stamp, open_regular};
use super::seen::Version;
use super::{Resolved, Workspace};
use crate::process::room;
use crate::workers::base64_bytes;

/// Largest text that is held in memory at once, and the largest whose lines are counted.
pub(super) const TEXT_LIMIT: u64 = 256 << 20;

/// Largest image, and largest file handed over as base64.
const BYTES_LIMIT: u64 = 10 << 20;

/// Largest text in another encoding than UTF-8.
const FOREIGN_LIMIT: u64 = 64 << 20;

/// Bytes of lines that one reading gives, and characters of each line. Whatever comes after a
/// reading (secrets are looked for, it is put together and cut) takes time by its length.
const READING_LIMIT: u64 = 16 << 20;
pub(super) const LINE_LIMIT: usize = 100_000;

/// Files up to this size are read where we are; larger ones on a thread that may block.
pub(super) const INLINE: u64 = 256 << 10;

/// How much of a file tells its type.
const HEAD: usize = 8 << 10;

/// Which lines to read.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct LineRange {
    /// Lines to leave out at the start
    pub offset: u64,
    /// Lines to read at most
    pub limit: Option<u64>,
    /// Lines to read where all are asked for and they are too many: the others are only counted
    pub first: Option<u64>,
}

/// What a file turned out to hold.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reading {
    /// Lines, each as its 1-based number, a tab and the line
    Text {
        numbered: String,
        lines: u64,
        /// Lines that came before, which is all of them when none was in the range
        skipped: u64,
        /// What the text was decoded from, where that was not UTF-8
        encoding: Option<Cow<'static, str>>,
        /// It stopped before the end of what was asked for
        more: bool,
        /// Only the first lines were read
        large: Option<Large>,
    },
    Image {
        mime_type: Cow<'static, str>,
        #[serde(with = "base64_bytes")]
        data: Vec<u8>,
    },
}

/// What was read, and which state of the file it was.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReadOutcome {
    pub(super) reading: Reading,
    /// Of the content, if that was all of it
    hash: Option<[u8; 32]>,
    stamp: Stamp,
}

impl ReadOutcome {
    pub(super) fn version(&self) -> Version {
        match self.hash {
            Some(hash) => Version::Content(hash.into()),
            None => Version::Part(self.stamp),
        }
    }
}

pub(super) fn open(workspace: &Workspace, place: &Resolved) -> Result<OpenFile, ToolError> {
    open_regular(workspace.handle(place), place.relative(), place.path())
}

/// Read where we are, waiting for the disk.
pub(crate) fn read_now(
    workspace: &Workspace,
    place: &Resolved,
    range: LineRange,
    cancel: &CancelToken,
) -> Result<ReadOutcome, ToolError> {
    read_opened(open(workspace, place)?, place, range, cancel)
}

pub(super) fn read_opened(
    opened: OpenFile,
    place: &Resolved,
    range: LineRange,
    cancel: &CancelToken,
) -> Result<ReadOutcome, ToolError> {
    let stamp = opened.stamp;
    let (reading, hash) = classify_and_read(opened, range, place.path(), cancel)?;
    Ok(ReadOutcome {
        reading,
        hash: hash.map(Into::into),
        stamp,
    })
}

/// A whole file of any kind, waiting for the disk.
pub(crate) fn read_bytes_now(
    workspace: &Workspace,
    place: &Resolved,
    cancel: &CancelToken,
) -> Result<Vec<u8>, ToolError> {
    let opened = open(workspace, place)?;
    let limit = room(BYTES_LIMIT);
    match read_capped(&opened.file, limit, cancel) {
        Ok(data) => Ok(data),
        Err(Unreadable::TooLarge) => Err(ToolError::failed(format!(
            "file is larger than {}: `{}` ({} bytes)",
            megabytes(limit),
            place.path().display(),
            opened.size
        ))
        .hint(match limit {
            BYTES_LIMIT => "read a part of it with a command: `head -c`, `tail -c`",
            _ => "`workers.memory_mb` in the config allows for more, up to 10 MB",
        })),
        Err(other) => Err(other.told(place, opened.size)),
    }
}

/// Why a text could not be read to the end.
pub(super) enum Unreadable {
    /// 1-based line with a byte that is not UTF-8
    NotUtf8(u64),
    TooLarge,
    Cancelled,
    Io(std::io::Error),
}

impl Unreadable {
    /// The same for text that is known to be of this line.
    fn at_line(self, line: u64) -> Self {
        match self {
            Unreadable::NotUtf8(_) => Unreadable::NotUtf8(line),
            other => other,
        }
    }

    pub(super) fn told(self, place: &Resolved, size: u64) -> ToolError {
        match self {
            Unreadable::NotUtf8(line) => other_encoding(place.path(), size, line),
            Unreadable::TooLarge => too_large(place.path(), size),
            Unreadable::Cancelled => cancelled(),
            Unreadable::Io(error) => failure("read", place.path(), error),
        }
    }
}

/// What was read, and the hash of the content if that was all of it.
type Hashed = (Reading, Option<blake3::Hash>);

fn classify_and_read(
    opened: OpenFile,
    range: LineRange,
    path: &Path,
    cancel: &CancelToken,
) -> Result<Hashed, ToolError> {
    let head = head_of(&opened.file).map_err(|error| failure("read", path, error))?;
    if !looks_like_text(&head) {
        return read_binary(&opened, &head, range, path, cancel);
    }
    let all = range.limit.is_none() && range.offset == 0;
    let first = range
        .first
        .filter(|_| all && opened.size > room(READING_LIMIT));
    let read = match first {
        Some(first) => read_first(&opened, first, cancel),
        None => read_lines(&opened.file, range, cancel),
    };
    match read {
        Ok(hashed) => Ok(hashed),
        Err(Unreadable::NotUtf8(_)) => read_binary(&opened, &head, range, path, cancel),
        Err(Unreadable::TooLarge) => Err(too_large(path, opened.size)),
        Err(Unreadable::Cancelled) => Err(cancelled()),
        Err(Unreadable::Io(error)) => Err(failure("read", path, error)),
    }
}

/// An image whole, or a text in another encoding; for everything else, what it is.
fn read_binary(
    opened: &OpenFile,
    head: &[u8],
    range: LineRange,
    path: &Path,
    cancel: &CancelToken,
) -> Result<Hashed, ToolError> {
    let name = file_name(path);
    let size = opened.size;
    let Some(kind) = infer::get(head) else {
        let wide = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
        if wide || !head.contains(&0) {
            return read_foreign(opened, range, path, cancel);
        }
        return Err(binary(&name, "application/octet-stream", size));
    };
    let mime_type = kind.mime_type();
    if !mime_type.starts_with("image/") {
        return Err(binary(&name, mime_type, size));
    }
    let limit = room(BYTES_LIMIT);
    match read_capped(&opened.file, limit, cancel) {
        Ok(data) => {
            let hash = blake3::hash(&data);
            let mime_type = mime_type.into();
            Ok((Reading::Image { mime_type, data }, Some(hash)))
        }
        Err(Unreadable::TooLarge) => Err(ToolError::failed(format!(
            "Image file: {name} ({mime_type}, {size} bytes) — larger than the {} limit",
            megabytes(limit)
        ))),
        Err(Unreadable::Cancelled) => Err(cancelled()),
        Err(Unreadable::Io(error)) => Err(failure("read", path, error)),
        Err(Unreadable::NotUtf8(_)) => Err(binary(&name, mime_type, size)),
    }
}

/// A text that is not UTF-8. All of it tells the encoding, so all of it is read.
fn read_foreign(
    opened: &OpenFile,
    range: LineRange,
    path: &Path,
    cancel: &CancelToken,
) -> Result<Hashed, ToolError> {
    let io = |error| failure("read", path, error);
    (&opened.file).rewind().map_err(io)?;
    let content = match read_capped(&opened.file, room(FOREIGN_LIMIT), cancel) {
        Ok(content) => content,
        Err(Unreadable::Cancelled) => return Err(cancelled()),
        Err(Unreadable::Io(error)) => return Err(io(error)),
        Err(_) => return Err(other_encoding(path, opened.size, 1)),
    };
    let hash = blake3::hash(&content);
    let (text, form) = encoding::decode(content)
        .map_err(|content| other_encoding(path, opened.size, first_bad_line(&content)))?;
    let text = form.shown(&text);
    let all = text.lines().count() as u64;
    let skipped = range.offset.min(all);
    let wanted = range.limit.unwrap_or(u64::MAX);
    let mut numbered = String::new();
    let mut lines = 0;
    let mut more = false;
    let most = room(READING_LIMIT);
    for line in text.lines().skip(skipped as usize) {
        if lines == wanted {
            break;
        }
        more = numbered.len() as u64 > most;
        if more {
            break;
        }
        lines += 1;
        push_numbered(&mut numbered, skipped + lines, line, 0);
    }
    let reading = Reading::Text {
        numbered,
        lines,
        skipped,
        encoding: form.foreign().map(Cow::Borrowed),
        more,
        large: None,
    };
    Ok((reading, Some(hash)))
}

/// The first lines, and how many there are.
fn read_first(opened: &OpenFile, first: u64, cancel: &CancelToken) -> Result<Hashed, Unreadable> {
    let range = LineRange {
        limit: Some(first),
        ..LineRange::default()
    };
    let (mut reading, _) = read_lines(&opened.file, range, cancel)?;
    if let Reading::Text { large, .. } = &mut reading {
        *large = Some(Large::weigh(&opened.file, opened.size, cancel)?);
    }
    Ok((reading, None))
}

fn read_lines(file: &File, range: LineRange, cancel: &CancelToken) -> Result<Hashed, Unreadable> {
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let mut skipped = 0;
    let text = |numbered, lines, skipped, more| Reading::Text {
        numbered,
        lines,
        skipped,
        encoding: None,
        more,
        large: None,
    };
    while skipped < range.offset {
        if !skip_line(&mut reader, cancel)? {
            return Ok((text(String::new(), 0, skipped, false), None));
        }
        skipped += 1;
    }
    let mut hasher = (range.offset == 0).then(blake3::Hasher::new);
    let mut numbered = String::new();
    let mut lines = 0;
    let (mut at_end, mut more) = (false, false);
    let most = room(READING_LIMIT);
    while range.limit.is_none_or(|limit| lines < limit) {
        more = numbered.len() as u64 > most;
        if more {
            break;
        }
        let number = skipped + lines + 1;
        let Some(line) =
            Line::read(&mut reader, &mut hasher, cancel).map_err(|error| error.at_line(number))?
        else {
            at_end = true;
            break;
        };
        let kept = std::str::from_utf8(&line.kept).map_err(|_| Unreadable::NotUtf8(number))?;
        push_numbered(&mut numbered, number, kept, line.chars_after);
        lines += 1;
    }
    let hash = hasher.filter(|_| at_end).map(|hasher| hasher.finalize());
    Ok((text(numbered, lines, skipped, more), hash))
}

/// A line as its number, a tab and its text. Of a long one only the beginning, and how long it
/// is; `chars_after` were read and are not in `line`.
fn push_numbered(numbered: &mut String, number: u64, line: &str, chars_after: u64) {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    let line = match number {
        1 => line.strip_prefix('\u{feff}').unwrap_or(line),
        _ => line,
    };
    if !numbered.is_empty() {
        numbered.push('\n');
    }
    numbered.push_str(&number.to_string());
    numbered.push('\t');
    let cut = match line.len() > LINE_LIMIT {
        true => line.char_indices().nth(LINE_LIMIT),
        false => None,
    };
    match cut {
        Some((at, _)) => {
            let chars = line.chars().count() as u64 + chars_after;
            numbered.push_str(&line[..at]);
            numbered.push_str(&format!(
                "… [cut: this line has {chars} characters, shown are {LINE_LIMIT}]"
            ));
        }
        None => numbered.push_str(line),
    }
}

/// Pass over one line, however long, without keeping it. False at the end of the file.
fn skip_line(reader: &mut impl BufRead, cancel: &CancelToken) -> Result<bool, Unreadable> {
    let mut any = false;
    loop {
        let buffer = reader.fill_buf().map_err(Unreadable::Io)?;
        if buffer.is_empty() {
            return Ok(any);
        }
        any = true;
        // The end of a line is looked for in what is already there, so a cancel waits for one
        // buffer at most.
        match buffer.iter().position(|&byte| byte == b'\n') {
            Some(end) => {
                reader.consume(end + 1);
                return Ok(true);
            }
            None => {
                let all = buffer.len();
                reader.consume(all);
            }
        }
        if cancel.is_cancelled() {
            return Err(Unreadable::Cancelled);
        }
    }
}

/// Everything up to a limit. Counts what comes, not only what the size promised: files grow.
pub(super) fn read_capped(
    file: &File,
    limit: u64,
    cancel: &CancelToken,
) -> Result<Vec<u8>, Unreadable> {
    const CHUNK: u64 = 1 << 20;
    let size = file.metadata().map_or(0, |now| now.len());
    if size > limit {
        return Err(Unreadable::TooLarge);
    }
    // All the room at once: growing by pieces would need twice as much. One byte more shows the end.
    let mut data = Vec::with_capacity(size as usize + 1);
    loop {
        if cancel.is_cancelled() {
            return Err(Unreadable::Cancelled);
        }
        let read = file.take(CHUNK).read_to_end(&mut data);
        if read.map_err(Unreadable::Io)? == 0 {
            return Ok(data);
        }
        if data.len() as u64 > limit {
            return Err(Unreadable::TooLarge);
        }
    }
}

/// The 1-based line with the first byte that is not UTF-8.
pub(super) fn first_bad_line(content: &[u8]) -> u64 {
    let good = match std::str::from_utf8(content) {
        Ok(_) => content.len(),
        Err(error) => error.valid_up_to(),
    };
    let before = content.get(..good).unwrap_or_default();
    before.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1
}

fn head_of(file: &File) -> std::io::Result<Vec<u8>> {
    let mut head = vec![0; HEAD];
    let mut filled = 0;
    while filled < head.len() {
        match file.read_at(&mut head[filled..], filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    head.truncate(filled);
    Ok(head)
}

/// UTF-8 without NUL bytes; a character cut off at the end is fine.
fn looks_like_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && head.len() == HEAD,
    };
    valid && !head.contains(&0)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy())
        .into_owned()
}

fn binary(name: &str, mime_type: &str, size: u64) -> ToolError {
    ToolError::failed(format!(
        "Binary file: {name} ({mime_type}, {size} bytes) — not a text or image file"
    ))
    .hint(reads_bytes())
}

fn other_encoding(path: &Path, size: u64, line: u64) -> ToolError {
    ToolError::failed(format!(
        "not UTF-8 but perhaps text in another encoding: `{}` ({size} bytes), line {line}",
        path.display()
    ))
    .hint(reads_bytes())
}

fn reads_bytes() -> String {
    let most = megabytes(room(BYTES_LIMIT));
    format!("`encoding: \"base64\"` reads the bytes of files up to {most}")
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes >> 20)
}

fn too_large(path: &Path, size: u64) -> ToolError {
    ToolError::failed(format!(
        "too large to read whole: `{}` ({size} bytes)",
        path.display()
    ))
    .hint("read a part of it with `offset` and `limit`")
}
