//! The system calls of watching that no safe crate offers.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// One instruction of a filter.
pub(super) type Instruction = libc::sock_filter;

/// A call that waits for our answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notice {
    pub(super) id: u64,
    /// The thread, by its number here
    pub(super) thread: u32,
    pub(super) number: i32,
    pub(super) arguments: [u64; 6],
}

/// Put this filter over the calling thread and all it starts, and give the handle on which the
/// kernel tells of calls.
pub(super) fn install(program: &[Instruction]) -> io::Result<OwnedFd> {
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog {
        len: length,
        filter: program.as_ptr().cast_mut(),
    };
    // While a call is looked at, only what kills the program may interrupt it. Older kernels do
    // not know that wish.
    let patient = libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    for flags in [patient, 0] {
        let flags = flags | libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        // SAFETY: the kernel copies the program during the call and does not write to it.
        let handle = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        };
        if let Ok(handle) = i32::try_from(handle)
            && handle >= 0
        {
            // SAFETY: the kernel has just made this descriptor for us.
            return Ok(unsafe { OwnedFd::from_raw_fd(handle) });
        }
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL) {
            break;
        }
    }
    Err(io::Error::last_os_error())
}

/// The next call that waits. None when it is gone by now.
pub(super) fn receive(handle: impl AsFd) -> io::Result<Option<Notice>> {
    // SAFETY: all-zero is a valid `seccomp_notif`, and what the kernel asks for.
    let mut notice: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is the kernel's own and outlives the call.
    let answer = unsafe {
        libc::ioctl(
            handle.as_fd().as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            &raw mut notice,
        )
    };
    if answer < 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ENOENT | libc::EINTR) => Ok(None),
            _ => Err(error),
        };
    }
    Ok(Some(Notice {
        id: notice.id,
        thread: notice.pid,
        number: notice.data.nr,
        arguments: notice.data.args,
    }))
}

/// Whether the call still waits: else what was read about it may be somebody else's.
pub(super) fn still_waits(handle: impl AsFd, id: u64) -> bool {
    // SAFETY: the kernel reads one `u64` behind the pointer.
    unsafe {
        libc::ioctl(
            handle.as_fd().as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
            &raw const id,
        ) == 0
    }
}

/// Let the call go on.
pub(super) fn let_go(handle: impl AsFd, id: u64) {
    let mut answer = libc::seccomp_notif_resp {
        id,
        val: 0,
        error: 0,
        flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
    };
    // SAFETY: the structure is the kernel's own and outlives the call. It fails only for a call
    // that is gone, and then nobody waits.
    unsafe {
        libc::ioctl(
            handle.as_fd().as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SEND,
            &raw mut answer,
        );
    }
}
