//! How large a text is of which only the first lines are read. It is counted as it goes by.

use std::fs::File;
use std::os::unix::fs::FileExt;

use haft_core::CancelToken;
use memchr::memchr_iter;
use serde::{Deserialize, Serialize};

use super::read::{TEXT_LIMIT, Unreadable};

/// A text of which only the first lines were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Large {
    pub bytes: u64,
    /// All of its lines, unless even to count them takes too long
    pub lines: Option<u64>,
}

impl Large {
    pub(super) fn weigh(file: &File, size: u64, cancel: &CancelToken) -> Result<Self, Unreadable> {
        let lines = match size > TEXT_LIMIT {
            true => None,
            false => Some(count_lines(file, cancel)?),
        };
        Ok(Large { bytes: size, lines })
    }
}

fn count_lines(file: &File, cancel: &CancelToken) -> Result<u64, Unreadable> {
    let mut buffer = vec![0; 256 << 10];
    let (mut lines, mut at, mut last) = (0, 0, b'\n');
    // Files grow.
    while at <= TEXT_LIMIT {
        if cancel.is_cancelled() {
            return Err(Unreadable::Cancelled);
        }
        let read = file.read_at(&mut buffer, at).map_err(Unreadable::Io)?;
        let Some(end) = buffer[..read].last() else {
            break;
        };
        last = *end;
        at += read as u64;
        lines += memchr_iter(b'\n', &buffer[..read]).count() as u64;
    }
    Ok(lines + u64::from(last != b'\n'))
}
