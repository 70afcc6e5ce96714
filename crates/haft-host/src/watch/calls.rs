//! Which system calls change files, and where in them the names stand. One table: the filter that
//! the kernel runs and the reader that stands outside are both made from it.

use super::sys::Instruction;

/// A name among the arguments of a call: where the folder it starts from stands, if not the
/// current one, and where the name itself does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) folder: Option<usize>,
    pub(super) path: usize,
}

/// What a call does to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    /// Opens, with flags that may be for writing
    Opens(Named, usize),
    /// Makes or empties a file
    Creates(Named),
    /// Makes the name itself
    Names(Named),
    /// Removes it
    Removes(Named),
    /// Changes what a name leads to
    Writes(Named),
    /// Changes a mode, an owner or an attribute
    Marks(Named),
    /// The same, by descriptor
    MarksOpen(usize),
    /// Gives another name; the flags may say that two swap theirs
    Renames(Named, Named, Option<usize>),
    /// Gives a second name
    Links(Named, Named),
}

const fn at(folder: usize, path: usize) -> Named {
    Named {
        folder: Some(folder),
        path,
    }
}

/// The first argument, from the current folder.
const fn first() -> Named {
    Named {
        folder: None,
        path: 0,
    }
}

#[cfg(target_arch = "x86_64")]
const fn here(path: usize) -> Named {
    Named { folder: None, path }
}

/// Calls that `libc` has no name for yet. They have one number everywhere.
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;

const CALLS: &[(libc::c_long, Does)] = &[
    (libc::SYS_openat, Does::Opens(at(0, 1), 2)),
    (libc::SYS_unlinkat, Does::Removes(at(0, 1))),
    (libc::SYS_mkdirat, Does::Names(at(0, 1))),
    (libc::SYS_mknodat, Does::Names(at(0, 1))),
    (libc::SYS_symlinkat, Does::Names(at(1, 2))),
    (
        libc::SYS_renameat2,
        Does::Renames(at(0, 1), at(2, 3), Some(4)),
    ),
    (libc::SYS_linkat, Does::Links(at(0, 1), at(2, 3))),
    (libc::SYS_truncate, Does::Writes(first())),
    (libc::SYS_fchmodat, Does::Marks(at(0, 1))),
    (libc::SYS_fchmodat2, Does::Marks(at(0, 1))),
    (libc::SYS_fchownat, Does::Marks(at(0, 1))),
    (libc::SYS_setxattr, Does::Marks(first())),
    (libc::SYS_removexattr, Does::Marks(first())),
    (libc::SYS_lsetxattr, Does::Marks(first())),
    (libc::SYS_lremovexattr, Does::Marks(first())),
    (SETXATTRAT, Does::Marks(at(0, 1))),
    (REMOVEXATTRAT, Does::Marks(at(0, 1))),
    (libc::SYS_fsetxattr, Does::MarksOpen(0)),
    (libc::SYS_fremovexattr, Does::MarksOpen(0)),
    (libc::SYS_fchmod, Does::MarksOpen(0)),
    (libc::SYS_fchown, Does::MarksOpen(0)),
];

/// The same, of calls that only this architecture has.
#[cfg(target_arch = "x86_64")]
const CALLS_HERE: &[(libc::c_long, Does)] = &[
    (libc::SYS_open, Does::Opens(here(0), 1)),
    (libc::SYS_creat, Does::Creates(here(0))),
    (libc::SYS_unlink, Does::Removes(here(0))),
    (libc::SYS_rmdir, Does::Removes(here(0))),
    (libc::SYS_mkdir, Does::Names(here(0))),
    (libc::SYS_mknod, Does::Names(here(0))),
    (libc::SYS_symlink, Does::Names(here(1))),
    (libc::SYS_rename, Does::Renames(here(0), here(1), None)),
    (libc::SYS_renameat, Does::Renames(at(0, 1), at(2, 3), None)),
    (libc::SYS_link, Does::Links(here(0), here(1))),
    (libc::SYS_chmod, Does::Marks(here(0))),
    (libc::SYS_chown, Does::Marks(here(0))),
    (libc::SYS_lchown, Does::Marks(here(0))),
];
#[cfg(not(target_arch = "x86_64"))]
const CALLS_HERE: &[(libc::c_long, Does)] = &[];

/// Ways to change files that cannot be seen from outside. Programs take this answer for an old
/// kernel and use the older call.
const UNSEEN: &[libc::c_long] = &[libc::SYS_openat2, libc::SYS_io_uring_setup];

/// What the call with this number does, if it is one of ours.
pub(super) fn does(number: i32) -> Option<Does> {
    CALLS
        .iter()
        .chain(CALLS_HERE)
        .find(|(call, _)| *call == libc::c_long::from(number))
        .map(|(_, does)| *does)
}

/// Flags of `open` that do more than look.
pub(super) const WRITING: u32 = (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC) as u32;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// The program that the kernel runs before each call of a watched command.
pub(super) fn filter() -> Vec<Instruction> {
    let allow = step(RETURN, libc::SECCOMP_RET_ALLOW);
    let tell = step(RETURN, libc::SECCOMP_RET_USER_NOTIF);
    let mut program = vec![
        step(LOAD, ARCHITECTURE_AT),
        jump(IF_EQUAL, ARCHITECTURE, 1, 0),
        allow,
        step(LOAD, NUMBER_AT),
    ];
    for call in UNSEEN {
        program.push(jump(IF_EQUAL, *call as u32, 0, 1));
        let missing = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
        program.push(step(RETURN, missing));
    }
    for (call, does) in CALLS.iter().chain(CALLS_HERE) {
        match does {
            Does::Opens(_, flags) => program.extend([
                jump(IF_EQUAL, *call as u32, 0, 5),
                step(LOAD, ARGUMENTS_AT + 8 * *flags as u32),
                step(AND, WRITING),
                jump(IF_EQUAL, 0, 0, 1),
                allow,
                tell,
            ]),
            _ => program.extend([jump(IF_EQUAL, *call as u32, 0, 1), tell]),
        }
    }
    program.push(allow);
    program
}

fn step(code: u16, k: u32) -> Instruction {
    jump(code, k, 0, 0)
}

fn jump(code: u16, k: u32, then: u8, otherwise: u8) -> Instruction {
    Instruction {
        code,
        jt: then,
        jf: otherwise,
        k,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would answer, by running the program as it does.
    fn answer(call: libc::c_long, arguments: &[u64]) -> u32 {
        let mut data = vec![call as u32, ARCHITECTURE, 0, 0];
        for index in 0..6 {
            let value = arguments.get(index).copied().unwrap_or(0);
            data.extend([value as u32, (value >> 32) as u32]);
        }
        let program = filter();
        let (mut at, mut value) = (0, 0u32);
        loop {
            let Instruction { code, jt, jf, k } = program[at];
            at += 1;
            match code {
                LOAD => value = data[k as usize / 4],
                AND => value &= k,
                IF_EQUAL => at += usize::from(if value == k { jt } else { jf }),
                RETURN => return k,
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn only_calls_that_change_something_are_told() {
        const TELL: u32 = libc::SECCOMP_RET_USER_NOTIF;
        const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
        let check = |call, arguments: &[u64], expected| {
            assert_eq!(answer(call, arguments), expected, "{call} {arguments:?}");
        };
        check(libc::SYS_read, &[], ALLOW);
        check(libc::SYS_openat, &[0, 0, libc::O_RDONLY as u64], ALLOW);
        check(libc::SYS_openat, &[0, 0, libc::O_CLOEXEC as u64], ALLOW);
        check(libc::SYS_openat, &[0, 0, libc::O_WRONLY as u64], TELL);
        check(libc::SYS_openat, &[0, 0, libc::O_RDWR as u64], TELL);
        check(libc::SYS_openat, &[0, 0, libc::O_TRUNC as u64], TELL);
        check(libc::SYS_unlinkat, &[], TELL);
        check(libc::SYS_renameat2, &[], TELL);
        check(libc::SYS_fchmod, &[], TELL);
        for (call, does) in CALLS.iter().chain(CALLS_HERE) {
            assert_eq!(super::does(*call as i32), Some(*does));
        }
        let old = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
        check(libc::SYS_openat2, &[], old);
        check(libc::SYS_io_uring_setup, &[], old);
    }
}
