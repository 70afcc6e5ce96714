//! The memory of a start. Most runs are over within milliseconds, and what they pay for memory is
//! the kernel's work for each page that they touch first. A heap that sorts blocks by size touches
//! many: here the first blocks of a process lie side by side, on pages that are asked for by the
//! dozen. Blocks are not used again, but for the last one; once there is no room left, none of this
//! is in anybody's way.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All there is. What is not touched costs nothing.
const ROOM: usize = 1 << 20;
/// Larger blocks are few, and most of a large one is often never touched.
const LARGEST: usize = 16 << 10;
/// So much is asked for at a time.
const STEP: usize = 64 << 10;
const PAGE: usize = 4 << 10;

#[repr(C, align(4096))]
struct Room(UnsafeCell<[u8; ROOM]>);

// SAFETY: nobody looks into it but those who were given a part of it, each one its own.
unsafe impl Sync for Room {}

static START: Room = Room(UnsafeCell::new([0; ROOM]));
/// Given away from the beginning up to here.
static USED: AtomicUsize = AtomicUsize::new(0);
/// Asked for up to here.
static THERE: AtomicUsize = AtomicUsize::new(0);

fn base() -> *mut u8 {
    START.0.get().cast()
}

/// Where in the room a block begins, if it is one of ours.
#[inline]
fn place(block: *mut u8) -> Option<usize> {
    let at = block.addr().wrapping_sub(base().addr());
    (at < ROOM).then_some(at)
}

/// Whether a block is of the start.
#[inline]
pub(super) fn holds(block: *mut u8) -> bool {
    place(block).is_some()
}

/// A block of zeros, if there is room for one.
#[inline]
pub(super) fn take(layout: Layout) -> Option<*mut u8> {
    match USED.load(Ordering::Relaxed) {
        ROOM => None,
        used => take_from(used, layout),
    }
}

fn take_from(mut used: usize, layout: Layout) -> Option<*mut u8> {
    if layout.size() > LARGEST || layout.align() > PAGE {
        return None;
    }
    loop {
        let at = used.next_multiple_of(layout.align());
        let end = at + layout.size();
        if end > ROOM {
            // From now on nobody needs to look any more.
            USED.store(ROOM, Ordering::Relaxed);
            return None;
        }
        // Whoever had this room before has left zeros in it.
        match USED.compare_exchange_weak(used, end, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                ask_for(end);
                // SAFETY: it lies within the room.
                return Some(unsafe { base().add(at) });
            }
            Err(now) => used = now,
        }
    }
}

/// A block of ours with another size, where there is room for that where it is.
///
/// # Safety
/// The block is of the start and has this layout.
pub(super) unsafe fn resize(block: *mut u8, layout: Layout, size: usize) -> Option<*mut u8> {
    let at = place(block)?;
    if size <= layout.size() {
        return Some(block);
    }
    let (end, wanted) = (at + layout.size(), at + size);
    if size <= LARGEST && wanted <= ROOM {
        let grown = USED.compare_exchange(end, wanted, Ordering::Acquire, Ordering::Relaxed);
        if grown.is_ok() {
            ask_for(wanted);
            return Some(block);
        }
    }
    None
}

/// Take a block of ours back, where it was the last one.
///
/// # Safety
/// The block is of the start, has this layout, and is not used again.
pub(super) unsafe fn give_back(block: *mut u8, layout: Layout) {
    let Some(at) = place(block) else {
        return;
    };
    let end = at + layout.size();
    if USED.load(Ordering::Relaxed) == end && end < ROOM {
        // The next one to have it is told that it holds zeros.
        // SAFETY: it is ours again, and nobody's until this is done.
        unsafe { ptr::write_bytes(block, 0, layout.size()) };
        let _ = USED.compare_exchange(end, at, Ordering::Release, Ordering::Relaxed);
    }
}

/// Have pages up to here and some more. Where the kernel does not know how (before Linux 5.14) they
/// come one by one.
fn ask_for(end: usize) {
    let there = THERE.load(Ordering::Relaxed);
    if end <= there {
        return;
    }
    let until = end.next_multiple_of(STEP).min(ROOM);
    if THERE.fetch_max(until, Ordering::Relaxed) >= until {
        return;
    }
    // SAFETY: it lies within the room, and what is in it stays as it is.
    let came = unsafe {
        let from = base().add(there).cast();
        libc::madvise(from, until - there, libc::MADV_POPULATE_WRITE)
    };
    if came != 0 {
        THERE.store(ROOM, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several threads take blocks, make them longer and give some back until there is no room left:
    /// each block holds zeros when it comes, and what its owner has put there until it goes.
    #[test]
    fn blocks_are_empty_when_they_come_and_nobody_elses_after_that() {
        std::thread::scope(|scope| {
            for mark in 1..=4_u8 {
                scope.spawn(move || fill_up(mark));
            }
        });
        let layout = Layout::from_size_align(8, 8).unwrap();
        assert!(take(layout).is_none(), "there is no room left");
    }

    fn fill_up(mark: u8) {
        let mut kept: Vec<(*mut u8, Layout)> = Vec::new();
        for round in 1.. {
            let (size, align) = (round * 37 % 3_000 + 1, 1 << (round % 8));
            let layout = Layout::from_size_align(size, align).unwrap();
            let Some(mut block) = take(layout) else {
                break;
            };
            let mut layout = layout;
            assert!(holds(block) && block.addr().is_multiple_of(align));
            // SAFETY: the block is ours, of this layout, until it is given back.
            unsafe {
                assert!((0..size).all(|at| *block.add(at) == 0));
                block.write_bytes(mark, size);
                if let Some(longer) = resize(block, layout, size + 100) {
                    block = longer;
                    layout = Layout::from_size_align(size + 100, align).unwrap();
                    block.write_bytes(mark, layout.size());
                }
                match round % 3 {
                    0 => give_back(block, layout),
                    _ => kept.push((block, layout)),
                }
            }
        }
        for (block, layout) in kept {
            // SAFETY: it is still ours.
            let same = |at| unsafe { *block.add(at) == mark };
            assert!((0..layout.size()).all(same));
        }
    }
}
