//! The system calls of the launcher that no safe crate offers. Everything `unsafe` of the sandbox
//! stands in this file, each with the reason why it is sound; what the calls are for stands with
//! the callers.

#![allow(unsafe_code)]

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{Pid, Signal};
use rustix::thread::UnshareFlags;

/// Attributes of a mount, as `mount_setattr` takes them.
pub(super) const READ_ONLY: u64 = 0x1;
pub(super) const NO_SUID: u64 = 0x2;
pub(super) const NO_DEV: u64 = 0x4;
pub(super) const NO_EXEC: u64 = 0x8;

/// One instruction of a seccomp filter.
pub(super) type Instruction = libc::sock_filter;

/// Split in two. None in the child.
///
/// Only for a program with one thread: then the child is a whole copy and may go on as it likes.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the launcher has a single thread, so no lock can be held by another one and the
    // child may use everything its parent could.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Leave namespaces. Only for a program with one thread.
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: the descriptor table is not unshared, so every descriptor stays what it is.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(io::Error::from)
}

/// Close every descriptor above standard error, before any is opened here.
pub(super) fn close_inherited() -> io::Result<()> {
    // SAFETY: called first in a fresh program, whose code owns no descriptor above 2 yet.
    done(unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) })
}

/// How far down attributes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The mount alone
    Mount,
    /// All that is mounted below it too
    Tree,
}

/// Set attributes on the mount at `path`, or on the one that `tree` is when `path` is empty.
pub(super) fn set_attributes(
    tree: impl AsFd,
    path: &Path,
    set: u64,
    reach: Reach,
) -> io::Result<()> {
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        userns_fd: u64,
    }
    let attributes = MountAttr {
        set,
        clear: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let path = c_string(path.as_os_str())?;
    let mut flags = 0;
    if reach == Reach::Tree {
        flags |= libc::AT_RECURSIVE;
    }
    if path.is_empty() {
        flags |= libc::AT_EMPTY_PATH;
    }
    // SAFETY: the path is NUL-terminated and the structure is the kernel's first version of it,
    // with its size given; both outlive the call.
    done(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttr>(),
        )
    })
}

/// Put this filter over every later system call of this thread, for good.
pub(super) fn install_filter(program: &[Instruction]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog {
        len: length,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel copies the program during the call and does not write to it.
    done(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        )
    })
}

/// Whether the kernel takes filters with this kind of answer.
pub(super) fn has_seccomp() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads one `u32` behind the pointer.
    unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            &raw const action,
        ) == 0
    }
}

/// Start the loopback interface of a fresh network namespace.
pub(super) fn start_loopback() -> io::Result<()> {
    // SAFETY: a new descriptor is made, or -1 returned.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: all-zero is a valid `ifreq`; a union of plain numbers and arrays.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is an `ifreq` that outlives the call.
    let answer = unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw mut request,
        )
    };
    done(answer.into())
}

/// Let no signal but those that cannot be refused end this process.
pub(super) fn block_signals() {
    // SAFETY: the set is written by `sigfillset` before it is read, and the old mask is not
    // asked for.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}

/// Hear all signals again, those first that have waited.
pub(super) fn unblock_signals() {
    // SAFETY: the set is written by `sigemptyset` before it is read, and the old mask is not
    // asked for.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// The signals that have come and are blocked, but for those about children.
pub(super) fn waiting_signals() -> Vec<Signal> {
    // SAFETY: the set is written by `sigpending`, and read only if that went well.
    let waits = unsafe {
        let mut waiting: libc::sigset_t = std::mem::zeroed();
        let asked = libc::sigpending(&raw mut waiting) == 0;
        move |number| asked && libc::sigismember(&raw const waiting, number) == 1
    };
    (1..=libc::SIGSYS)
        .filter(|number| *number != libc::SIGCHLD && waits(*number))
        .filter_map(Signal::from_named_raw)
        .collect()
}

/// End this process by a signal, as another one was ended, whatever else has been sent to it.
pub(super) fn die_of(signal: i32) -> ! {
    // SAFETY: only numbers are passed, and no handler is installed but the default one.
    unsafe {
        let mut one: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut one);
        libc::sigaddset(&raw mut one, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::kill(libc::getpid(), signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const one, std::ptr::null_mut());
    }
    // A signal that ends nobody by default.
    std::process::exit(128 + signal)
}

/// Give up every group besides the own one. For root only.
pub(super) fn drop_groups() -> io::Result<()> {
    // SAFETY: an empty list is read by nobody.
    done(unsafe { libc::setgroups(0, std::ptr::null()) }.into())
}

/// The version of Landlock that the kernel has; none where it is missing or switched off.
pub(super) fn landlock_version() -> Option<i64> {
    const ASK_VERSION: u32 = 1;
    // SAFETY: with this flag the kernel takes no structure, only its absence.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0usize,
            ASK_VERSION,
        )
    };
    (version > 0).then_some(version)
}

fn done(answer: libc::c_long) -> io::Result<()> {
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(io::Error::from)
}
