//! The memory of the shipped program. Calls are many small allocations; mimalloc takes about a
//! quarter off their price. Its usual wrapper asks for each block by alignment, which is a detour
//! for most sizes: here only those blocks take it that need more than every block has anyway.

#![allow(unsafe_code)]

mod start;

use std::alloc::{GlobalAlloc, Layout};
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc,
    mi_zalloc_aligned,
};

/// mimalloc aligns every block at least so.
const EVERY_BLOCK: usize = size_of::<usize>();

/// To be named as the program's `#[global_allocator]`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mimalloc;

// SAFETY: every function hands its arguments to the one of mimalloc that makes the same promise,
// and blocks of all of them are given back, or made another size, by the same heap. Blocks of the
// start are told from those by where they lie. None of it is put where it is called, of which there
// are a hundred thousand places.
unsafe impl GlobalAlloc for Mimalloc {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(block) = start::take(layout) {
            return block;
        }
        let block = match layout.align() <= EVERY_BLOCK {
            true => unsafe { mi_malloc(layout.size()) },
            false => unsafe { mi_malloc_aligned(layout.size(), layout.align()) },
        };
        block.cast()
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if let Some(block) = start::take(layout) {
            return block;
        }
        let block = match layout.align() <= EVERY_BLOCK {
            true => unsafe { mi_zalloc(layout.size()) },
            false => unsafe { mi_zalloc_aligned(layout.size(), layout.align()) },
        };
        block.cast()
    }

    #[inline(never)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match start::holds(block) {
            true => unsafe { start::give_back(block, layout) },
            false => unsafe { mi_free(block.cast()) },
        }
    }

    #[inline(never)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if start::holds(block) {
            return unsafe { self.moved(block, layout, size) };
        }
        let block = match layout.align() <= EVERY_BLOCK {
            true => unsafe { mi_realloc(block.cast(), size) },
            false => unsafe { mi_realloc_aligned(block.cast(), size, layout.align()) },
        };
        block.cast()
    }
}

impl Mimalloc {
    /// Make a block of the start another size.
    ///
    /// # Safety
    /// As for `realloc`.
    #[cold]
    unsafe fn moved(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the layout is the block's, by the caller's word, and the new one has its alignment;
        // the new block is another one and at least as long as what is copied.
        unsafe {
            if let Some(block) = start::resize(block, layout, size) {
                return block;
            }
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                start::give_back(block, layout);
            }
            new
        }
    }
}

/// End the process. The kernel takes its memory as a whole: what mimalloc would do before that, to
/// give it back piece by piece, takes longer than a short call.
pub fn leave(code: u8) -> ! {
    static CODE: AtomicU8 = AtomicU8::new(0);
    extern "C" fn at_once() {
        // SAFETY: there is nothing that it could hurt.
        unsafe { libc::_exit(CODE.load(Ordering::Relaxed).into()) }
    }
    CODE.store(code, Ordering::Relaxed);
    // SAFETY: what is called is there until the end. What was registered last comes first.
    unsafe { libc::atexit(at_once) };
    std::process::exit(code.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Mimalloc = Mimalloc;

    #[test]
    fn blocks_lie_where_they_should_and_keep_what_is_in_them() {
        for size in [1, 7, 8, 24, 100, 1_000, 5_000, 70_000, 3 << 20] {
            for align in [1, 2, 8, 16, 32, 64, 256, 4096] {
                let layout = Layout::from_size_align(size, align).unwrap();
                // SAFETY: the layout is not empty, the block is written within its size, and given
                // back with the layout it has then.
                unsafe {
                    let block = ALLOCATOR.alloc_zeroed(layout);
                    assert!(block.addr() != 0 && block.addr().is_multiple_of(align));
                    assert!((0..size).all(|at| *block.add(at) == 0), "{layout:?}");
                    block.write_bytes(7, size);
                    let larger = ALLOCATOR.realloc(block, layout, size * 3);
                    assert!(larger.addr().is_multiple_of(align), "{layout:?}");
                    assert!((0..size).all(|at| *larger.add(at) == 7), "{layout:?}");
                    let layout = Layout::from_size_align(size * 3, align).unwrap();
                    ALLOCATOR.dealloc(larger, layout);
                    let block = ALLOCATOR.alloc(layout);
                    assert!(block.addr() != 0 && block.addr().is_multiple_of(align));
                    ALLOCATOR.dealloc(block, layout);
                }
            }
        }
    }
}
