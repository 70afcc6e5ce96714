//! The memory of the shipped program. Calls are many small allocations; mimalloc takes about a
//! quarter off their price. Its usual wrapper asks for each block by alignment, which is a detour
//! for most sizes: here only those blocks take it that need more than every block has anyway.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};

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
// and blocks of all of them are given back, or made another size, by the same heap.
unsafe impl GlobalAlloc for Mimalloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = match layout.align() <= EVERY_BLOCK {
            true => unsafe { mi_malloc(layout.size()) },
            false => unsafe { mi_malloc_aligned(layout.size(), layout.align()) },
        };
        block.cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = match layout.align() <= EVERY_BLOCK {
            true => unsafe { mi_zalloc(layout.size()) },
            false => unsafe { mi_zalloc_aligned(layout.size(), layout.align()) },
        };
        block.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        unsafe { mi_free(block.cast()) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let block = match layout.align() <= EVERY_BLOCK {
            true => unsafe { mi_realloc(block.cast(), size) },
            false => unsafe { mi_realloc_aligned(block.cast(), size, layout.align()) },
        };
        block.cast()
    }
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
