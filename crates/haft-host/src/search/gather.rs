//! Collects what threads find. A short answer holds the first matches in the order of paths,
//! whichever thread was quicker, and tells threads what they need not look at any more. A long
//! one is written out as it comes, so that memory stays bounded: where it is kept, or straight to
//! whoever reads along.

use std::cmp::Ordering;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::order::compare;
use super::report::FileMatches;
use crate::results::ResultWriter;

/// Matches that an answer itself holds at most; a longer one is kept behind a handle.
pub(super) const SHOWN: u64 = 1_000;

pub(super) struct Gather<'g> {
    limit: u64,
    first: Mutex<First>,
    /// There are more than can be shown: what comes later in the order is not
    full: AtomicBool,
    long: Option<Long<'g>>,
}

/// Starts a result that is kept.
type Create<'g> = Box<dyn Fn() -> io::Result<ResultWriter> + Send + Sync + 'g>;

/// Where a long answer goes.
pub(super) enum Destination<'g> {
    Kept(Create<'g>),
    Poured(&'g Outlet),
}

/// Someone who reads a long answer while it comes, in no order.
#[derive(Clone)]
pub struct Outlet {
    /// Takes secrets out of what a file holds; none if there are none
    pub clean: fn(&str) -> Option<String>,
    /// Takes whole lines, from any thread
    pub write: Arc<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").finish_non_exhaustive()
    }
}

/// The first matches so far, in order.
#[derive(Default)]
struct First {
    files: Vec<FileMatches>,
    found: u64,
}

/// Everything, as it comes.
struct Long<'g> {
    destination: Destination<'g>,
    writer: Mutex<Writing>,
    found: AtomicU64,
    failed: AtomicBool,
}

#[derive(Default)]
struct Writing {
    /// None until there is more than can be shown
    file: Option<ResultWriter>,
    pending: Vec<u8>,
    chars: u64,
}

/// What came of it.
pub(super) struct Gathered {
    pub(super) files: Vec<FileMatches>,
    /// Matches in all, up to the limit
    pub(super) found: u64,
    pub(super) more: bool,
    pub(super) kept: Option<Kept>,
    /// All of it went to a reader
    pub(super) poured: bool,
}

/// A long answer behind its handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub handle: String,
    pub chars: u64,
}

impl<'g> Gather<'g> {
    /// With a destination the answer can be a long one.
    pub(super) fn new(limit: u64, destination: Option<Destination<'g>>) -> Self {
        Gather {
            limit,
            first: Mutex::default(),
            full: AtomicBool::new(false),
            long: destination.map(|destination| Long {
                destination,
                writer: Mutex::default(),
                found: AtomicU64::new(0),
                failed: AtomicBool::new(false),
            }),
        }
    }

    pub(super) fn is_long(&self) -> bool {
        self.long.is_some()
    }

    /// What takes secrets out of an answer that goes straight to a reader.
    pub(super) fn cleaner(&self) -> Option<fn(&str) -> Option<String>> {
        match &self.long.as_ref()?.destination {
            Destination::Poured(outlet) => Some(outlet.clean),
            Destination::Kept(_) => None,
        }
    }

    /// How many matches the answer itself may hold.
    fn shown(&self) -> u64 {
        match self.long {
            Some(_) => self.limit.min(SHOWN),
            None => self.limit,
        }
    }

    /// How many matches of one file could be shown: one more tells that there are more.
    pub(super) fn room(&self) -> u64 {
        self.shown().saturating_add(1)
    }

    /// Whether nothing at this path or behind it can be shown.
    pub(super) fn is_past_shown(&self, path: &[u8]) -> bool {
        if !self.full.load(Relaxed) {
            return false;
        }
        let first = self.lock();
        let last = first.files.last();
        last.is_some_and(|last| compare(path, &last.path) == Ordering::Greater)
    }

    /// Whether nothing at this path or behind it is of use.
    pub(super) fn is_past(&self, path: &[u8]) -> bool {
        self.long.is_none() && self.is_past_shown(path)
    }

    pub(super) fn is_done(&self) -> bool {
        self.long
            .as_ref()
            .is_some_and(|long| long.failed.load(Relaxed) || long.found.load(Relaxed) > self.limit)
    }

    /// Put a file's matches in their place.
    pub(super) fn add(&self, file: FileMatches) {
        let shown = self.shown();
        let mut first = self.lock();
        let at = first
            .files
            .partition_point(|other| compare(&other.path, &file.path) == Ordering::Less);
        if self.full.load(Relaxed) && at == first.files.len() {
            return;
        }
        first.found += file.weight();
        first.files.insert(at, file);
        // Drop from the end what is not needed to show that there is more.
        while let Some(last) = first.files.last() {
            if first.found - last.weight() <= shown {
                break;
            }
            first.found -= last.weight();
            first.files.pop();
        }
        if first.found > shown {
            self.full.store(true, Relaxed);
        }
    }

    /// Write out a part of a long answer: `found` lines, each telling of one match.
    pub(super) fn write(&self, text: &str, found: u64) {
        let Some(long) = &self.long else {
            return;
        };
        let before = long.found.fetch_add(found, Relaxed);
        let room = self.limit.saturating_sub(before);
        let text = match found > room {
            true => first_lines(text, room),
            false => text,
        };
        let written = match &long.destination {
            Destination::Poured(outlet) => {
                (outlet.write)(text);
                Ok(())
            }
            Destination::Kept(create) => {
                let mut writer = long.writer.lock().unwrap_or_else(PoisonError::into_inner);
                writer.write(text, before + found > SHOWN, create)
            }
        };
        if written.is_err() {
            long.failed.store(true, Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, First> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn finish(self) -> io::Result<Gathered> {
        let shown = self.shown();
        let mut first = self
            .first
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = first.files.last_mut() {
            last.cut(first.found.saturating_sub(shown));
        }
        first.files.retain(|file| file.weight() > 0);
        let Some(long) = self.long else {
            return Ok(Gathered {
                files: first.files,
                found: first.found.min(self.limit),
                more: first.found > self.limit,
                kept: None,
                poured: false,
            });
        };
        if long.failed.into_inner() {
            return Err(io::Error::other("it could not be written"));
        }
        let writing = long.writer.into_inner();
        let writing = writing.unwrap_or_else(PoisonError::into_inner);
        let found = long.found.into_inner();
        let handle = writing.file.map(ResultWriter::finish).transpose()?;
        Ok(Gathered {
            files: first.files,
            found: found.min(self.limit),
            more: found > self.limit,
            kept: handle.map(|handle| Kept {
                handle,
                chars: writing.chars,
            }),
            poured: matches!(long.destination, Destination::Poured(_)) && found > 0,
        })
    }
}

impl Writing {
    /// A file is made only once there is more than can be shown.
    fn write(&mut self, text: &str, is_long: bool, create: &Create<'_>) -> io::Result<()> {
        self.chars += text.chars().count() as u64;
        if self.file.is_none() && is_long {
            let mut file = create()?;
            file.write_all(&std::mem::take(&mut self.pending))?;
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => {
                self.pending.extend_from_slice(text.as_bytes());
                Ok(())
            }
        }
    }
}

fn first_lines(text: &str, count: u64) -> &str {
    let last = usize::try_from(count).ok().and_then(|n| n.checked_sub(1));
    let end = last.and_then(|last| memchr::memchr_iter(b'\n', text.as_bytes()).nth(last));
    &text[..end.map_or(0, |feed| feed + 1)]
}

#[cfg(test)]
mod tests {
    use super::super::report::Match;
    use super::*;

    fn file(path: &str, lines: u64) -> FileMatches {
        let matches = (1..=lines).map(|line| Match {
            line,
            ..Match::default()
        });
        FileMatches {
            path: path.into(),
            matches: matches.collect(),
            count: None,
        }
    }

    #[test]
    fn the_first_matches_are_the_same_in_whatever_order_they_come() {
        let check = |limit: u64, order: &[(&str, u64)], expected: &str| {
            let gather = Gather::new(limit, None);
            for &(path, lines) in order {
                if !gather.is_past(path.as_bytes()) {
                    gather.add(file(path, lines));
                }
            }
            let gathered = gather.finish().unwrap();
            let shown: Vec<String> = gathered
                .files
                .iter()
                .map(|file| format!("{}{}", String::from_utf8_lossy(&file.path), file.weight()))
                .collect();
            assert_eq!(format!("{} {}", shown.join(" "), gathered.more), expected);
        };
        check(4, &[("a", 2), ("b", 1), ("c", 3)], "a2 b1 c1 true");
        check(4, &[("c", 3), ("b", 1), ("a", 2)], "a2 b1 c1 true");
        check(3, &[("c", 3), ("b", 1), ("a", 2)], "a2 b1 true");
        check(2, &[("c", 3), ("d/a", 1), ("a", 2)], "a2 true");
        check(6, &[("c", 3), ("b", 1), ("a", 2)], "a2 b1 c3 false");
        check(0, &[("a", 1)], " true");
        check(9, &[], " false");
    }
}
