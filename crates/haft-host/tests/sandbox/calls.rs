//! Attacks that need a system call of their own. This program makes them from inside and says of
//! each whether it was held; outside, the ones that can be are shown to work.

#![allow(unsafe_code)]

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use haft_host::{Level, Limits, Sandbox};

use crate::fixture::Fixture;

type Attack = fn() -> io::Result<()>;

/// Attacks by one call that needs nothing from outside.
const ALONE: &[(&str, Attack)] = &[
    ("ptrace of the first", || {
        call(libc::SYS_ptrace, [16, 1, 0, 0, 0])
    }),
    ("seize the first", || {
        call(libc::SYS_ptrace, [0x4206, 1, 0, 0, 0])
    }),
    ("memory of the first", read_first_memory),
    ("io_uring", || io_uring()),
    ("bpf", || call(libc::SYS_bpf, [0, 0, 0, 0, 0])),
    ("userfaultfd", || {
        call(libc::SYS_userfaultfd, [1, 0, 0, 0, 0])
    }),
    ("perf events", perf_event),
    ("keys", || call(libc::SYS_keyctl, [0, -3, 1, 0, 0])),
    ("a new key", || {
        call(
            libc::SYS_add_key,
            [
                c"user".as_ptr() as i64,
                c"k".as_ptr() as i64,
                c"v".as_ptr() as i64,
                1,
                -4,
            ],
        )
    }),
    ("unshare a user namespace", || {
        call(libc::SYS_unshare, [0x1000_0000, 0, 0, 0, 0])
    }),
    ("unshare a mount namespace", || {
        call(libc::SYS_unshare, [0x2_0000, 0, 0, 0, 0])
    }),
    ("clone a user namespace", || clone(libc::SYS_clone)),
    ("clone3 a user namespace", || clone(libc::SYS_clone3)),
    ("join a namespace", join_namespace),
    ("mount", || {
        call(
            libc::SYS_mount,
            [
                c"x".as_ptr() as i64,
                c"/tmp".as_ptr() as i64,
                c"tmpfs".as_ptr() as i64,
                0,
                0,
            ],
        )
    }),
    ("unmount", || {
        call(libc::SYS_umount2, [c"/proc".as_ptr() as i64, 2, 0, 0, 0])
    }),
    ("new mount calls", || {
        call(libc::SYS_fsopen, [c"tmpfs".as_ptr() as i64, 0, 0, 0, 0])
    }),
    ("copy a mount", || {
        call(libc::SYS_open_tree, [-100, c"/".as_ptr() as i64, 1, 0, 0])
    }),
    ("writable again", remount_writable),
    ("pivot_root", || {
        call(
            libc::SYS_pivot_root,
            [c"/".as_ptr() as i64, c"/".as_ptr() as i64, 0, 0, 0],
        )
    }),
    ("chroot", || {
        call(libc::SYS_chroot, [c"/tmp".as_ptr() as i64, 0, 0, 0, 0])
    }),
    ("open by handle", || open_by_handle()),
    ("a terminal's mouth", push_to_terminal),
    ("a terminal's mouth, high bits", push_with_high_bits),
    ("vsock", || socket(40, 1, 0)),
    ("kernel crypto", || socket(38, 5, 0)),
    ("raw packets", || socket(17, 3, 0)),
    ("netlink audit", || socket(16, 3, 9)),
    ("a file that runs as another", suid_by_open),
    ("openat2", || suid_by_openat2()),
    ("a device", || {
        call(
            libc::SYS_mknodat,
            [-100, c"dev".as_ptr() as i64, 0o20666, 0x101, 0],
        )
    }),
    ("kexec", || not_permitted(libc::SYS_kexec_load)),
    ("a module", || not_permitted(libc::SYS_init_module)),
    ("reboot", || not_permitted(libc::SYS_reboot)),
    ("swap", || not_permitted(libc::SYS_swapon)),
    ("the clock", || not_permitted(libc::SYS_settimeofday)),
    ("the kernel's log", || {
        call(libc::SYS_syslog, [10, 0, 0, 0, 0])
    }),
    ("capabilities", has_capabilities),
    ("capabilities to come", has_bounding_set),
    ("new privileges", may_gain_privileges),
    ("files of the launcher", has_open_files),
    ("higher limits", raise_limits),
    ("numbers of another kind", || {
        call(libc::SYS_getpid | 0x4000_0000, [0; 5])
    }),
];

/// Attacks on something that the test has set up outside.
const MEETING: [&str; 6] = [
    "tcp",
    "udp",
    "unix",
    "abstract",
    "datagram",
    "shared-memory",
];

/// Play one part inside.
pub(crate) fn attack(name: &str) {
    match name {
        "all" => {
            for (name, attack) in ALONE {
                tell(name, attack());
            }
        }
        "old" => old_calls(),
        "fork" => fork_bomb(),
        "memory" => eat_memory(),
        "own-network" => talk_to_myself(),
        _ => tell(name, meet(name)),
    }
}

fn tell(name: &str, result: io::Result<()>) {
    match result {
        Ok(()) => println!("{name}: ESCAPED"),
        Err(error) => println!("{name}: held: {error}"),
    }
}

/// Every attack from inside, and how many there were.
pub(crate) fn attacks_fail() -> usize {
    let fixture = Fixture::new();
    let finished = fixture.run(Level::Sandboxed, "@EXE attack all");
    let lines: Vec<&str> = finished.output.lines().collect();
    assert_eq!(lines.len(), ALONE.len(), "{}", finished.output);
    for (line, (name, _)) in lines.iter().zip(ALONE) {
        assert!(line.starts_with(&format!("{name}: held: ")), "{line}");
    }
    let finished = fixture.run(Level::Sandboxed, "@EXE attack old; echo $?");
    assert!(!finished.output.contains("ESCAPED"), "{}", finished.output);
    for name in MEETING {
        let (host, argument) = Host::set_up(name, &fixture);
        let line = format!("PLACE={argument} @EXE attack {name}");
        let inside = fixture.run(Level::Sandboxed, &line).output;
        assert!(inside.starts_with(&format!("{name}: held: ")), "{inside}");
        assert!(!host.was_reached(), "{name} was reached");
        let outside = fixture.run(Level::Shared, &line).output;
        assert_eq!(outside, format!("{name}: ESCAPED\n"), "shows nothing");
        assert!(host.was_reached() || name == "shared-memory", "{name}");
    }
    fixture.unharmed().unwrap();
    ALONE.len() + MEETING.len() + 1
}

/// Somebody outside who can be met.
enum Host {
    Tcp(TcpListener),
    Udp(UdpSocket),
    Unix(UnixListener),
    Datagram(std::os::unix::net::UnixDatagram),
    Memory(i32),
}

impl Host {
    fn set_up(name: &str, fixture: &Fixture) -> (Host, String) {
        let path = fixture.work.join(format!("{name}.sock"));
        let place = path.to_str().unwrap().to_owned();
        match name {
            "tcp" => {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let place = listener.local_addr().unwrap().to_string();
                listener.set_nonblocking(true).unwrap();
                (Host::Tcp(listener), place)
            }
            "udp" => {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                let place = socket.local_addr().unwrap().to_string();
                socket.set_nonblocking(true).unwrap();
                (Host::Udp(socket), place)
            }
            "unix" => {
                let listener = UnixListener::bind(&path).unwrap();
                listener.set_nonblocking(true).unwrap();
                (Host::Unix(listener), place)
            }
            "abstract" => {
                let place = format!("haft-test-{}", std::process::id());
                let address = SocketAddr::from_abstract_name(&place).unwrap();
                let listener = UnixListener::bind_addr(&address).unwrap();
                listener.set_nonblocking(true).unwrap();
                (Host::Unix(listener), place)
            }
            "datagram" => {
                let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
                socket.set_nonblocking(true).unwrap();
                (Host::Datagram(socket), place)
            }
            _ => {
                let key = std::process::id() as i32;
                // SAFETY: numbers only.
                let id = unsafe { libc::shmget(key, 4096, libc::IPC_CREAT | 0o600) };
                assert!(id >= 0);
                (Host::Memory(id), key.to_string())
            }
        }
    }

    fn was_reached(&self) -> bool {
        match self {
            Host::Tcp(listener) => listener.accept().is_ok(),
            Host::Udp(socket) => socket.recv(&mut [0; 8]).is_ok(),
            Host::Unix(listener) => listener.accept().is_ok(),
            Host::Datagram(socket) => socket.recv(&mut [0; 8]).is_ok(),
            Host::Memory(_) => false,
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Host::Memory(id) = self {
            // SAFETY: numbers only; nothing is attached.
            unsafe { libc::shmctl(*id, libc::IPC_RMID, std::ptr::null_mut()) };
        }
    }
}

fn meet(name: &str) -> io::Result<()> {
    let place = std::env::var("PLACE").map_err(io::Error::other)?;
    match name {
        "tcp" => {
            let address = place.parse().map_err(io::Error::other)?;
            TcpStream::connect_timeout(&address, Duration::from_secs(2)).map(drop)
        }
        "udp" => {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            // Sending is free in any network; only an answer of nobody tells.
            socket.connect(&place)?;
            socket.send(b"hello")?;
            socket.set_read_timeout(Some(Duration::from_millis(200)))?;
            match socket.recv(&mut [0; 8]) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Err(error),
                _ => Ok(()),
            }
        }
        "unix" => UnixStream::connect(place).map(drop),
        "abstract" => {
            let address = SocketAddr::from_abstract_name(place)?;
            UnixStream::connect_addr(&address).map(drop)
        }
        "datagram" => datagram_from_a_pair(&place),
        _ => {
            let key = place.parse().map_err(io::Error::other)?;
            // SAFETY: numbers only.
            checked(unsafe { libc::shmget(key, 4096, 0) }.into())
        }
    }
}

/// A pair needs no name, and can be turned towards one.
fn datagram_from_a_pair(place: &str) -> io::Result<()> {
    let (socket, _other) = std::os::unix::net::UnixDatagram::pair()?;
    socket.send_to(b"hello", place).map(drop)
}

fn talk_to_myself() {
    let talk = || -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut client = TcpStream::connect(listener.local_addr()?)?;
        client.write_all(b"x")?;
        let (mut server, _) = listener.accept()?;
        server.read_exact(&mut [0; 1])
    };
    match talk() {
        Ok(()) => println!("talked to myself"),
        Err(_) => std::process::exit(1),
    }
}

/// A fork bomb, memory, files and time within bounds.
pub(crate) fn limits_hold() {
    let fixture = Fixture::new();
    let sandbox = |limits: Limits| Sandbox {
        limits,
        ..fixture.sandbox(Level::Sandboxed)
    };
    let few = Limits {
        processes: 400,
        ..Limits::default()
    };
    let finished = fixture.run_in(sandbox(few), "@EXE attack fork").unwrap();
    let made: u64 = finished.output.trim().parse().unwrap();
    assert!((50..400).contains(&made), "{made} processes");
    let bomb = "f() { f | f & }; f 2>/dev/null; sleep 0.3";
    let finished = fixture.run_in(sandbox(few), bomb).unwrap();
    assert!(finished.duration < Duration::from_secs(20));

    let small = Limits {
        memory: 256 << 20,
        file_size: 1 << 20,
        temporary: 1 << 20,
        open_files: 64,
        ..Limits::default()
    };
    let check = |line: &str, part: &str| {
        let finished = fixture.run_in(sandbox(small), line).unwrap();
        assert!(
            finished.output.contains(part),
            "{line}: {}",
            finished.output
        );
    };
    check("@EXE attack memory", "held");
    check(
        "head -c 2000000 /dev/zero > big; stat -c %s big",
        "1048576\n",
    );
    check(
        "head -c 900000 /dev/zero > /tmp/a; head -c 900000 /dev/zero > /tmp/b || echo full",
        "full\n",
    );
    check("ulimit -n", "64\n");
    check("ulimit -c", "0\n");
}

fn fork_bomb() {
    let mut made = 0u64;
    let mut children = Vec::new();
    while let Ok(child) = std::process::Command::new("/bin/sleep").arg("100").spawn() {
        made += 1;
        children.push(child);
        if made == 100_000 {
            break;
        }
    }
    println!("{made}");
}

fn eat_memory() {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for _ in 0..64 {
        let mut piece = Vec::new();
        if piece.try_reserve_exact(16 << 20).is_err() {
            println!("held after {} MB", all.len() * 16);
            return;
        }
        piece.resize(16 << 20, 1);
        all.push(piece);
    }
    println!("ESCAPED");
}

fn checked(answer: libc::c_long) -> io::Result<()> {
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn call(number: libc::c_long, [a, b, c, d, e]: [i64; 5]) -> io::Result<()> {
    // SAFETY: attacks on the kernel, with arguments that are numbers or static strings; whatever
    // it does, this process has nothing to lose.
    checked(unsafe { libc::syscall(number, a, b, c, d, e) })
}

/// With nonsense as arguments, only who may do it learns that they are nonsense.
fn not_permitted(number: libc::c_long) -> io::Result<()> {
    match call(number, [-1, -1, -1, -1, -1]) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(error),
        _ => Ok(()),
    }
}

fn socket(family: i64, kind: i64, protocol: i64) -> io::Result<()> {
    call(libc::SYS_socket, [family, kind, protocol, 0, 0])
}

fn io_uring() -> io::Result<()> {
    let mut parameters = [0u8; 120];
    call(
        libc::SYS_io_uring_setup,
        [1, parameters.as_mut_ptr() as i64, 0, 0, 0],
    )
}

fn perf_event() -> io::Result<()> {
    let mut attributes = [0u32; 32];
    (attributes[0], attributes[1]) = (1, 128);
    call(
        libc::SYS_perf_event_open,
        [attributes.as_ptr() as i64, 0, -1, -1, 0],
    )
}

fn read_first_memory() -> io::Result<()> {
    fs::File::open("/proc/1/mem").map(drop)
}

fn clone(number: libc::c_long) -> io::Result<()> {
    let new_user = libc::CLONE_NEWUSER as u64;
    let arguments: [u64; 8] = [new_user, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
    // SAFETY: like a fork; the child ends at once.
    let pid = unsafe {
        if number == libc::SYS_clone3 {
            libc::syscall(number, arguments.as_ptr(), size_of_val(&arguments))
        } else {
            libc::syscall(number, new_user | libc::SIGCHLD as u64, 0, 0, 0, 0)
        }
    };
    if pid == 0 {
        std::process::exit(0);
    }
    checked(pid)
}

fn join_namespace() -> io::Result<()> {
    let own = fs::File::open("/proc/self/ns/user")?;
    match call(libc::SYS_setns, [own.as_raw_fd().into(), 0, 0, 0, 0]) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(error),
        _ => Ok(()),
    }
}

fn remount_writable() -> io::Result<()> {
    let attributes: [u64; 4] = [0, 1, 0, 0];
    call(
        libc::SYS_mount_setattr,
        [
            -100,
            c"/".as_ptr() as i64,
            0x8000,
            attributes.as_ptr() as i64,
            32,
        ],
    )
}

fn open_by_handle() -> io::Result<()> {
    let mut handle = [0u32; 40];
    handle[0] = 128;
    let mut mount = 0i32;
    call(
        libc::SYS_name_to_handle_at,
        [
            -100,
            c"/".as_ptr() as i64,
            handle.as_mut_ptr() as i64,
            &raw mut mount as i64,
            0,
        ],
    )?;
    let root = fs::File::open("/")?;
    call(
        libc::SYS_open_by_handle_at,
        [root.as_raw_fd().into(), handle.as_ptr() as i64, 0, 0, 0],
    )
}

fn pty() -> io::Result<fs::File> {
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/ptmx")
}

fn push_to_terminal() -> io::Result<()> {
    let terminal = pty()?;
    call(
        libc::SYS_ioctl,
        [
            terminal.as_raw_fd().into(),
            0x5412,
            c"x".as_ptr() as i64,
            0,
            0,
        ],
    )
}

fn push_with_high_bits() -> io::Result<()> {
    let terminal = pty()?;
    let request = 0x1_0000_5412;
    call(
        libc::SYS_ioctl,
        [
            terminal.as_raw_fd().into(),
            request,
            c"x".as_ptr() as i64,
            0,
            0,
        ],
    )
}

fn suid_by_open() -> io::Result<()> {
    call(
        libc::SYS_openat,
        [-100, c"suid".as_ptr() as i64, 0o102, 0o4755, 0],
    )
}

fn suid_by_openat2() -> io::Result<()> {
    let how: [u64; 3] = [0o102, 0o4755, 0];
    call(
        libc::SYS_openat2,
        [-100, c"suid2".as_ptr() as i64, how.as_ptr() as i64, 24, 0],
    )
}

fn status(key: &str) -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.unwrap().trim().to_owned()
}

fn held_if(held: bool, what: &str) -> io::Result<()> {
    if held {
        return Err(io::Error::other(what.to_owned()));
    }
    Ok(())
}

fn has_capabilities() -> io::Result<()> {
    let sets = ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"].map(status);
    held_if(sets.iter().all(|set| set == "0000000000000000"), "none")
}

fn has_bounding_set() -> io::Result<()> {
    held_if(status("CapBnd:") == "0000000000000000", "none")
}

fn may_gain_privileges() -> io::Result<()> {
    held_if(status("NoNewPrivs:") == "1", "none")
}

fn has_open_files() -> io::Result<()> {
    let open: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    // The listing itself is one.
    held_if(
        open.iter().filter(|number| **number > 2).count() == 1,
        "none",
    )
}

fn raise_limits() -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the structure is read only.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }.into())
}

/// The calls of 32-bit programs, which have numbers of their own: `getpid` is 20.
fn old_calls() {
    #[cfg(target_arch = "x86_64")]
    {
        let answer: i64;
        // SAFETY: enters the kernel with a number and comes back with one.
        unsafe {
            std::arch::asm!("int 0x80", inlateout("rax") 20i64 => answer,
                lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _);
        }
        if answer > 0 {
            println!("old calls: ESCAPED");
        }
    }
}
