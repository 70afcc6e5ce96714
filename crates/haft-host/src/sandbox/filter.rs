//! Which system calls a sandboxed program may not make. The list is data; the few instructions
//! that the kernel runs before each call are made from it. What namespaces and mounts forbid
//! already is forbidden here again, so that one hole in the kernel is not enough.

use std::io;

use super::sys::{self, Instruction};

/// Refuse a call when every condition holds; without conditions, always.
struct Rule {
    call: libc::c_long,
    when: Vec<Condition>,
    answer: i32,
}

/// What one argument is compared with. Only its lower half: the kernel looks at no more of any
/// argument named here, so bits above must not turn a refusal into a pass.
struct Condition {
    argument: u32,
    mask: u32,
    value: u32,
    equal: bool,
}

/// Calls nobody in a sandbox needs.
const NEVER: &[libc::c_long] = &[
    // Looking into other processes
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Rearranging the file system
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_fanotify_init,
    // New namespaces, in which one is root again
    libc::SYS_unshare,
    libc::SYS_setns,
    // Keys of the session
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Ways past this filter, and parts of the kernel with a history
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_lookup_dcookie,
    // The machine itself
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
];

/// The same, of calls that only this architecture has.
#[cfg(target_arch = "x86_64")]
const NEVER_HERE: &[libc::c_long] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_kexec_file_load,
];
#[cfg(not(target_arch = "x86_64"))]
const NEVER_HERE: &[libc::c_long] = &[];

/// `ioctl` requests that put words into a terminal's mouth or swap what drives it.
const TERMINAL_REQUESTS: [u32; 3] = [
    libc::TIOCSTI as u32,
    libc::TIOCLINUX as u32,
    libc::TIOCSETD as u32,
];

/// Every flag of `clone` that makes a namespace.
const NEW_NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u32;

/// Bits that let a file run as somebody else.
const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;

/// Kinds of sockets: the number of the kind without its flags.
const SOCKET_KIND: u32 = 0xf;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Calls with this bit are the same calls under other numbers.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: u32 = 0x4000_0000;
#[cfg(not(target_arch = "x86_64"))]
const OTHER_NUMBERS: u32 = 0x8000_0000;

/// Put the filter over this process and all it will start.
pub(super) fn install() -> io::Result<()> {
    sys::install_filter(&assemble(&rules()))
}

fn rules() -> Vec<Rule> {
    let mut rules: Vec<Rule> = NEVER
        .iter()
        .chain(NEVER_HERE)
        .map(|&call| refuse(call, libc::EPERM, vec![]))
        .collect();
    // What can be asked only through memory cannot be judged here. Programs take this answer
    // for an old kernel and use the older call.
    for call in [libc::SYS_clone3, libc::SYS_openat2] {
        rules.push(refuse(call, libc::ENOSYS, vec![]));
    }
    rules.extend(
        TERMINAL_REQUESTS
            .map(|request| refuse(libc::SYS_ioctl, libc::EPERM, vec![is(1, u32::MAX, request)])),
    );
    // A debugger may start its own program, and not take hold of a running one.
    rules.extend([libc::PTRACE_ATTACH, libc::PTRACE_SEIZE].map(|request| {
        refuse(
            libc::SYS_ptrace,
            libc::EPERM,
            vec![is(0, u32::MAX, request)],
        )
    }));
    rules.push(refuse(
        libc::SYS_clone,
        libc::EPERM,
        vec![is_not(0, NEW_NAMESPACES, 0)],
    ));
    rules.extend(sockets());
    rules.extend(files());
    rules
}

/// Sockets for the own network namespace, and pairs. A socket with a name in the file system
/// would lead out of every namespace, and so would one to the host of a virtual machine. A pair
/// of datagram sockets can be turned towards any name, the other pairs cannot.
fn sockets() -> Vec<Rule> {
    let family = |family: i32| is(0, u32::MAX, family as u32);
    let other = |family: i32| is_not(0, u32::MAX, family as u32);
    vec![
        refuse(
            libc::SYS_socket,
            libc::EACCES,
            vec![
                other(libc::AF_INET),
                other(libc::AF_INET6),
                other(libc::AF_NETLINK),
            ],
        ),
        refuse(
            libc::SYS_socket,
            libc::EACCES,
            vec![
                family(libc::AF_NETLINK),
                is_not(2, u32::MAX, libc::NETLINK_ROUTE as u32),
            ],
        ),
        refuse(
            libc::SYS_socketpair,
            libc::EACCES,
            vec![other(libc::AF_UNIX)],
        ),
        refuse(
            libc::SYS_socketpair,
            libc::EACCES,
            vec![
                is_not(1, SOCKET_KIND, libc::SOCK_STREAM as u32),
                is_not(1, SOCKET_KIND, libc::SOCK_SEQPACKET as u32),
            ],
        ),
    ]
}

/// Files that run as somebody else, and devices.
fn files() -> Vec<Rule> {
    let mut modes = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (libc::SYS_fchmodat2, 2),
        (libc::SYS_openat, 3),
        (libc::SYS_mknodat, 2),
    ];
    let mut nodes = vec![(libc::SYS_mknodat, 2)];
    #[cfg(target_arch = "x86_64")]
    {
        modes.extend([
            (libc::SYS_chmod, 1),
            (libc::SYS_open, 2),
            (libc::SYS_creat, 1),
            (libc::SYS_mknod, 1),
        ]);
        nodes.push((libc::SYS_mknod, 1));
    }
    let set_ids = modes.into_iter().map(|(call, argument)| {
        // `open` looks at its mode only when it makes a file; else anything may stand there.
        let makes = match call {
            libc::SYS_openat => Some(is_not(2, MAKES_FILE, 0)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => Some(is_not(1, MAKES_FILE, 0)),
            _ => None,
        };
        let mut when = vec![is_not(argument, SET_ID, 0)];
        when.extend(makes);
        refuse(call, libc::EPERM, when)
    });
    let devices = nodes.into_iter().flat_map(|(call, argument)| {
        [libc::S_IFCHR, libc::S_IFBLK]
            .map(|kind| refuse(call, libc::EPERM, vec![is(argument, libc::S_IFMT, kind)]))
    });
    set_ids.chain(devices).collect()
}

/// Flags with which `open` makes a file: `O_CREAT`, and the bit of `O_TMPFILE` that is its own.
const MAKES_FILE: u32 = libc::O_CREAT as u32 | 0o20_000_000;

fn refuse(call: libc::c_long, answer: i32, when: Vec<Condition>) -> Rule {
    Rule { call, when, answer }
}

fn is(argument: u32, mask: u32, value: u32) -> Condition {
    Condition {
        argument,
        mask,
        value,
        equal: true,
    }
}

fn is_not(argument: u32, mask: u32, value: u32) -> Condition {
    Condition {
        equal: false,
        ..is(argument, mask, value)
    }
}

/// Where the kernel lays out what a filter can read.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

fn assemble(rules: &[Rule]) -> Vec<Instruction> {
    let mut program = vec![
        step(LOAD, ARCHITECTURE_AT),
        jump(IF_EQUAL, ARCHITECTURE, 1, 0),
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        step(LOAD, NUMBER_AT),
        jump(IF_AT_LEAST, OTHER_NUMBERS, 0, 1),
        refusal(libc::ENOSYS),
    ];
    for rule in rules {
        let length: usize = rule.when.iter().map(Condition::length).sum();
        program.push(step(LOAD, NUMBER_AT));
        program.push(jump(IF_EQUAL, rule.call as u32, 0, length as u8 + 1));
        let mut left = length;
        for condition in &rule.when {
            left -= condition.length();
            condition.write(&mut program, left as u8 + 1);
        }
        program.push(refusal(rule.answer));
    }
    program.push(step(RETURN, libc::SECCOMP_RET_ALLOW));
    program
}

impl Condition {
    fn length(&self) -> usize {
        if self.mask == u32::MAX { 2 } else { 3 }
    }

    /// Go on when it holds, else jump `past` what follows.
    fn write(&self, program: &mut Vec<Instruction>, past: u8) {
        program.push(step(LOAD, ARGUMENTS_AT + 8 * self.argument));
        if self.mask != u32::MAX {
            program.push(step(AND, self.mask));
        }
        let (then, otherwise) = if self.equal { (0, past) } else { (past, 0) };
        program.push(jump(IF_EQUAL, self.value, then, otherwise));
    }
}

fn refusal(error: i32) -> Instruction {
    step(RETURN, libc::SECCOMP_RET_ERRNO | error as u32)
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
    fn answer(architecture: u32, call: libc::c_long, arguments: &[u64]) -> u32 {
        let mut data = vec![call as u32, architecture, 0, 0];
        for index in 0..6 {
            let value = arguments.get(index).copied().unwrap_or(0);
            data.extend([value as u32, (value >> 32) as u32]);
        }
        let program = assemble(&rules());
        let (mut at, mut value) = (0, 0u32);
        loop {
            let Instruction { code, jt, jf, k } = program[at];
            at += 1;
            let jump = |holds: bool| usize::from(if holds { jt } else { jf });
            match code {
                LOAD => value = data[k as usize / 4],
                AND => value &= k,
                IF_EQUAL => at += jump(value == k),
                IF_AT_LEAST => at += jump(value >= k),
                RETURN => return k,
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn calls_and_their_answers() {
        const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
        let refused = |error: i32| libc::SECCOMP_RET_ERRNO | error as u32;
        let check = |call, arguments: &[u64], expected| {
            let found = answer(ARCHITECTURE, call, arguments);
            assert_eq!(found, expected, "{call} {arguments:x?}");
        };
        check(libc::SYS_read, &[0, 1, 2], ALLOW);
        check(libc::SYS_execve, &[], ALLOW);
        check(libc::SYS_mount, &[], refused(libc::EPERM));
        check(libc::SYS_clone3, &[], refused(libc::ENOSYS));
        check(libc::SYS_clone, &[libc::SIGCHLD as u64], ALLOW);
        check(libc::SYS_clone, &[0x1000_0011], refused(libc::EPERM));
        check(libc::SYS_ioctl, &[0, 0x5401], ALLOW);
        check(libc::SYS_ioctl, &[0, 0x5412], refused(libc::EPERM));
        check(
            libc::SYS_ioctl,
            &[0, 0xffff_ffff_0000_5412],
            refused(libc::EPERM),
        );
        check(libc::SYS_ptrace, &[0], ALLOW);
        check(libc::SYS_ptrace, &[16], refused(libc::EPERM));
        check(libc::SYS_socket, &[2, 1, 0], ALLOW);
        check(libc::SYS_socket, &[10, 2, 0], ALLOW);
        check(libc::SYS_socket, &[1, 1, 0], refused(libc::EACCES));
        check(libc::SYS_socket, &[40, 1, 0], refused(libc::EACCES));
        check(libc::SYS_socket, &[16, 3, 0], ALLOW);
        check(libc::SYS_socket, &[16, 3, 9], refused(libc::EACCES));
        check(libc::SYS_socketpair, &[1, 0o2000001, 0], ALLOW);
        check(libc::SYS_socketpair, &[1, 5, 0], ALLOW);
        check(libc::SYS_socketpair, &[1, 2, 0], refused(libc::EACCES));
        check(libc::SYS_fchmod, &[3, 0o755], ALLOW);
        check(libc::SYS_fchmod, &[3, 0o4755], refused(libc::EPERM));
        check(
            libc::SYS_openat,
            &[3, 0, 0o101, 0o2755],
            refused(libc::EPERM),
        );
        check(libc::SYS_openat, &[3, 0, 0, 0o2755], ALLOW);
        check(libc::SYS_mknodat, &[3, 0, 0o10644], ALLOW);
        check(libc::SYS_mknodat, &[3, 0, 0o20644], refused(libc::EPERM));
        check(libc::SYS_mknodat, &[3, 0, 0o60644], refused(libc::EPERM));
    }

    #[test]
    fn other_ways_to_number_calls_are_closed() {
        let twin = answer(ARCHITECTURE, libc::SYS_mount | 0x4000_0000, &[]);
        assert_ne!(twin, libc::SECCOMP_RET_ALLOW);
        let narrow = answer(0x4000_0003, libc::SYS_read, &[]);
        assert_eq!(narrow, libc::SECCOMP_RET_KILL_PROCESS);
    }
}
