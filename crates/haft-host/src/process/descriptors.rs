//! Open files do not travel into commands. Rust marks its own; what this process was born with
//! is marked here.

use std::os::fd::BorrowedFd;

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

/// Mark every open file above standard error to be closed in the programs we start.
pub(super) fn close_on_exec() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers: Vec<i32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&number| number > 2)
        .collect();
    for number in numbers {
        // SAFETY: the number is used for two `fcntl` calls that only read and set the
        // close-on-exec mark; on a number closed meanwhile they fail, on one given to another
        // file they set the mark that every file of ours has anyway.
        #[allow(unsafe_code)]
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        if let Ok(flags) = fcntl_getfd(file) {
            let _ = fcntl_setfd(file, flags | FdFlags::CLOEXEC);
        }
    }
}
