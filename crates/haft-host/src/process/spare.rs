//! Room for output that was used and is empty again. To find new pages for it, and to give them back,
//! costs the kernel about as long as the bytes take to come through the pipe.

use std::sync::{Mutex, PoisonError};

/// How large each is. Others are not kept.
pub(super) const SIZE: usize = 256 * 1024;
/// As many as one command that writes much has on their way.
const MOST: usize = 6;

static SPARE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Empty room.
pub(super) fn take(size: usize) -> Vec<u8> {
    let kept = match size {
        SIZE => spare().pop(),
        _ => None,
    };
    kept.unwrap_or_else(|| Vec::with_capacity(size))
}

/// Keep the room of a piece that nobody needs any more.
pub(super) fn give(piece: String) {
    let mut room = piece.into_bytes();
    if room.capacity() != SIZE {
        return;
    }
    room.clear();
    let mut spare = spare();
    if spare.len() < MOST {
        spare.push(room);
    }
}

fn spare() -> std::sync::MutexGuard<'static, Vec<Vec<u8>>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}
