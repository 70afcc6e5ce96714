//! The environment that this process was started with, out of others' sight. The kernel shows the
//! bytes it was handed at the start, in `/proc/PID/environ`, to every process of the same user: also
//! to a command that runs without a sandbox, and it may hold keys that commands must not see. So the
//! variables move to other memory, and their first place is wiped.
//!
//! A process that is not dumpable would close that file too, but not to root, and launchers of other
//! users could no longer reach us through `/proc/PID/fd`.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::ptr;

use crate::CALL_VARIABLE;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Hide our environment from `/proc`; for ourselves and for what we start nothing changes. To be
/// called before there is a second thread, and before anybody sets a variable.
pub fn hide_environment() {
    // SAFETY: no other thread is there to look at the environment, by the caller's word. `environ`
    // ends in a null pointer and holds strings that end in a zero byte. Both lie on the stack where
    // the kernel has put them, which is ours to write; each string is wiped only after the pointer
    // to it leads to a copy, and the copies are never freed.
    unsafe {
        let Some(entries) = entries() else {
            return;
        };
        let hidden = entries.iter_mut().filter(|entry| !is_call(**entry));
        let hidden: Vec<(usize, &mut *mut c_char)> = hidden
            .map(|entry| (CStr::from_ptr(*entry).count_bytes(), entry))
            .collect();
        let room: usize = hidden.iter().map(|(length, _)| length + 1).sum();
        let mut copy: *mut c_char = vec![0_u8; room].leak().as_mut_ptr().cast();
        for (length, entry) in hidden {
            ptr::copy_nonoverlapping(*entry, copy, length);
            ptr::write_bytes(*entry, 0, length);
            *entry = copy;
            copy = copy.add(length + 1);
        }
    }
}

/// The pointers of the environment.
///
/// # Safety
/// Nobody else may look at the environment meanwhile.
unsafe fn entries() -> Option<&'static mut [*mut c_char]> {
    // SAFETY: the list ends in a null pointer, which is not counted in.
    unsafe {
        let first = environ;
        if first.is_null() {
            return None;
        }
        let mut count = 0;
        while !(*first.add(count)).is_null() {
            count += 1;
        }
        Some(std::slice::from_raw_parts_mut(first, count))
    }
}

/// Whether it says which call we were started by. Whoever ends that call finds us by it.
///
/// # Safety
/// The string must end in a zero byte.
unsafe fn is_call(entry: *const c_char) -> bool {
    // SAFETY: the caller's word.
    let entry = unsafe { CStr::from_ptr(entry) }.to_bytes();
    let value = entry.strip_prefix(CALL_VARIABLE.as_bytes());
    value.is_some_and(|value| value.starts_with(b"="))
}
