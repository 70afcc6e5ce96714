//! Open files do not travel into commands. Rust marks its own; what this process was born with, and
//! what the libraries of others open, is marked here.

#![allow(unsafe_code)]

use std::os::fd::BorrowedFd;

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

/// The first that a program has no use for without being told.
const FIRST: i32 = 3;

/// Mark every open file above standard error to be closed in the programs we start.
pub(super) fn close_on_exec() {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: nothing is closed now: files are only marked, as all of ours are.
    let marked = unsafe { libc::syscall(libc::SYS_close_range, FIRST, u32::MAX, flags) };
    // Linux can do so since 5.11.
    if marked != 0 {
        mark_each();
    }
}

fn mark_each() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers: Vec<i32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&number| number >= FIRST)
        .collect();
    for number in numbers {
        // SAFETY: the number is used for two `fcntl` calls that only read and set the
        // close-on-exec mark; on a number closed meanwhile they fail, on one given to another
        // file they set the mark that every file of ours has anyway.
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        if let Ok(flags) = fcntl_getfd(file) {
            let _ = fcntl_setfd(file, flags | FdFlags::CLOEXEC);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn both_ways_mark_what_was_not_marked() {
        for mark in [close_on_exec, mark_each] {
            let file = File::open("/dev/null").unwrap();
            fcntl_setfd(&file, FdFlags::empty()).unwrap();
            mark();
            assert_eq!(fcntl_getfd(&file).unwrap(), FdFlags::CLOEXEC);
        }
    }
}
