//! Searches the content of files. Each file is read once and searched as a whole; that it is text
//! is looked at only when it has something to tell.

use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use haft_core::CancelToken;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::content::{Content, Reader, Stopped, Windows, is_text_throughout, without_mark};
use super::entries::Kind;
use super::gather::Gather;
use super::lines::{Line, Searcher};
use super::names::{Names, is_secret};
use super::pattern::Pattern;
use super::report::{FileMatches, Match, push_line, shown, write_line};
use super::walk::{Met, Visitor};
use crate::files::{Resolved, holds_secrets};

/// A long answer is written out in pieces of this size.
const PIECE: usize = 64 << 10;

/// What to tell of a file that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Telling {
    /// Each matching line
    #[default]
    Matches,
    /// How many lines match
    Counts,
    /// That it matches
    Files,
}

/// What a search looks for, shared by its threads.
pub(super) struct Job<'j> {
    pub(super) pattern: &'j Pattern,
    pub(super) include: Option<&'j Names>,
    pub(super) file_type: Option<&'j Names>,
    pub(super) telling: Telling,
    pub(super) context: usize,
    /// What stands before paths in a long answer
    pub(super) prefix: &'j str,
    pub(super) gather: &'j Gather<'j>,
    pub(super) cancel: &'j CancelToken,
    /// Files that were left alone because they hold keys
    pub(super) secrets: &'j AtomicU64,
    /// Files too large to be searched this way
    pub(super) too_large: &'j AtomicU64,
}

/// One thread of a search.
pub(super) struct Grep<'j> {
    job: &'j Job<'j>,
    searcher: Searcher<'j>,
    reader: Reader,
    piece: Piece,
    /// Of one file, and the space used again for the next
    lines: Lines,
}

/// A piece of a long answer that is not written out yet.
#[derive(Default)]
struct Piece {
    text: String,
    /// How many matches it tells of
    told: u64,
}

impl Piece {
    /// A line has been added.
    fn grew(&mut self, gather: &Gather<'_>) {
        self.told += 1;
        if self.text.len() >= PIECE {
            self.write_out(gather);
        }
    }

    fn write_out(&mut self, gather: &Gather<'_>) {
        gather.write(&self.text, self.told);
        self.text.clear();
        self.told = 0;
    }
}

/// Lines of a long answer that are not written yet, and their numbers.
#[derive(Default)]
struct Lines {
    text: String,
    numbers: Vec<u64>,
}

impl<'j> Grep<'j> {
    pub(super) fn new(job: &'j Job<'j>) -> Self {
        Grep {
            searcher: Searcher::new(job.pattern),
            job,
            reader: Reader::new(),
            piece: Piece::default(),
            lines: Lines::default(),
        }
    }

    /// Search one file that is open.
    pub(super) fn search(&mut self, file: OwnedFd, path: &[u8]) -> Result<(), Errno> {
        let across = self.searcher.spans_lines();
        match self.reader.load(file, across)? {
            Content::Special => Ok(()),
            Content::Whole => {
                self.whole(path);
                Ok(())
            }
            Content::Large(_) if across => {
                self.job.too_large.fetch_add(1, Relaxed);
                Ok(())
            }
            Content::Large(file) => match self.large(file, path) {
                Err(Stopped::Failed) => Err(Errno::IO),
                Err(Stopped::LongLine) => {
                    self.job.too_large.fetch_add(1, Relaxed);
                    Ok(())
                }
                Ok(()) | Err(Stopped::Cancelled | Stopped::NotText) => Ok(()),
            },
        }
    }

    fn whole(&mut self, path: &[u8]) {
        let buffer = without_mark(&self.reader.buffer);
        let mut telling = Teller::new(self.job, &mut self.piece, &mut self.lines);
        let told = |line| telling.line(buffer, line, path);
        let _ = self.searcher.each(buffer, 0..buffer.len(), 1, told);
        telling.finish(path);
    }

    fn large(&mut self, file: File, path: &[u8]) -> Result<(), Stopped> {
        let probe = file.try_clone().map_err(|_| Stopped::Failed)?;
        let mut telling = Teller::new(self.job, &mut self.piece, &mut self.lines);
        let windows = Windows::new(&mut self.reader, file, self.job.context);
        let mut windows = windows.map_err(|_| Stopped::Failed)?;
        let mut checked = false;
        while let Some(window) = windows.next(self.job.cancel)? {
            let buffer = windows.text();
            let mut matches = false;
            if !checked {
                let range = window.search.clone();
                let ended = self.searcher.each(buffer, range, 1, |_| {
                    matches = true;
                    ControlFlow::Break(())
                });
                match (matches, ended) {
                    (true, _) => {}
                    (false, ControlFlow::Continue(())) => continue,
                    (false, ControlFlow::Break(())) => break,
                }
                if !is_text_throughout(&probe, self.job.cancel)? {
                    break;
                }
                checked = true;
            }
            let told = |line| telling.line(buffer, line, path);
            let ended = self
                .searcher
                .each(buffer, window.search, window.first, told);
            if ended.is_break() {
                break;
            }
        }
        telling.finish(path);
        Ok(())
    }

    pub(super) fn flush(&mut self) {
        self.piece.write_out(self.job.gather);
    }
}

/// Tells the lines of one file, in the way that was asked for.
struct Teller<'t> {
    job: &'t Job<'t>,
    piece: &'t mut Piece,
    found: u64,
    matches: Vec<Match>,
    lines: &'t mut Lines,
    /// Its matches may be among those that the answer itself holds
    is_shown: bool,
}

impl<'t> Teller<'t> {
    fn new(job: &'t Job<'t>, piece: &'t mut Piece, lines: &'t mut Lines) -> Self {
        lines.text.clear();
        lines.numbers.clear();
        Teller {
            job,
            piece,
            found: 0,
            matches: Vec::new(),
            lines,
            is_shown: true,
        }
    }

    fn line(&mut self, buffer: &[u8], line: Line, path: &[u8]) -> ControlFlow<()> {
        self.found += 1;
        match self.job.telling {
            Telling::Files => return ControlFlow::Break(()),
            Telling::Counts => return ControlFlow::Continue(()),
            Telling::Matches => {}
        }
        let gather = self.job.gather;
        let is_long = gather.is_long();
        if is_long {
            if self.found == 1 {
                self.is_shown = !gather.is_past_shown(path);
            }
            push_line(&mut self.lines.text, &shown(line.text(buffer)));
            self.lines.numbers.push(line.number);
        }
        if self.is_shown {
            self.matches
                .push(Match::new(buffer, line, self.job.context));
            self.is_shown = self.found < gather.room();
        }
        match is_long || self.is_shown {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn finish(mut self, path: &[u8]) {
        if self.found == 0 {
            return;
        }
        let is_long = self.job.gather.is_long();
        if is_long {
            self.write_lines(path);
        }
        let count = (self.job.telling != Telling::Matches).then_some(self.found);
        if is_long && count.is_some() {
            let path = self.shown_path(path);
            self.piece.text.push_str(&path);
            if self.job.telling == Telling::Counts {
                self.piece.text.push_str(&format!(":{}", self.found));
            }
            self.piece.text.push('\n');
            self.piece.grew(self.job.gather);
        }
        if count.is_some() || !self.matches.is_empty() {
            self.job.gather.add(FileMatches {
                path: path.to_owned(),
                matches: self.matches,
                count,
            });
        }
    }
}

impl Teller<'_> {
    /// A path as a long answer shows it.
    fn shown_path(&self, path: &[u8]) -> String {
        let mut shown = self.job.prefix.to_owned();
        shown.push_str(&String::from_utf8_lossy(path));
        let clean = self.job.gather.cleaner();
        clean.and_then(|clean| clean(&shown)).unwrap_or(shown)
    }

    /// Each line with its path and number. Secrets are looked for in what the file holds, before
    /// the path that would be looked through again with every line.
    fn write_lines(&mut self, path: &[u8]) {
        let clean = self.job.gather.cleaner();
        let Lines { text, numbers } = &mut *self.lines;
        if let Some(cleaned) = clean.and_then(|clean| clean(text)) {
            // A secret over several lines: nobody can say which of them are left.
            let is_torn = cleaned.lines().count() != numbers.len();
            *text = match is_torn {
                true => "***\n".repeat(numbers.len()),
                false => cleaned,
            };
        }
        let path = self.shown_path(path);
        let Lines { text, numbers } = &*self.lines;
        let mut start = 0;
        for (number, end) in numbers
            .iter()
            .zip(memchr::memchr_iter(b'\n', text.as_bytes()))
        {
            write_line(&mut self.piece.text, &path, *number, &text[start..end]);
            self.piece.grew(self.job.gather);
            start = end + 1;
        }
    }
}

impl Visitor for Grep<'_> {
    fn wants(&mut self, name: &[u8], kind: Kind, _path: &[u8]) -> bool {
        if kind == Kind::File {
            let fits = |names: Option<&Names>| names.is_none_or(|names| names.fits(name));
            if !fits(self.job.include) || !fits(self.job.file_type) {
                return false;
            }
        }
        let secret = is_secret(name);
        if secret {
            self.job.secrets.fetch_add(1, Relaxed);
        }
        !secret
    }

    fn is_past(&self, path: &[u8]) -> bool {
        self.job.gather.is_past(path)
    }

    fn is_done(&self) -> bool {
        self.job.gather.is_done()
    }

    fn refuses(&mut self, place: &Resolved) -> bool {
        let secret = holds_secrets(place.relative()).is_some();
        if secret {
            self.job.secrets.fetch_add(1, Relaxed);
        }
        secret
    }

    fn file(&mut self, met: Met<'_>) -> Result<(), Errno> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(met.folder, met.name, flags, Mode::empty())?;
        self.search(file, met.path)
    }
}
