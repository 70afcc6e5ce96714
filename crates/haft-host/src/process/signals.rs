//! Signal numbers and their names, as people and documents write them.

/// Linux on every architecture that Rust calls `x86_64`, `aarch64`, `arm`, `riscv64`; index 0
/// is signal 1.
const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// First real-time signal a program may use.
const REAL_TIME: i32 = 34;

/// The name of a signal: `SIGTERM` for 15, `SIGRTMIN+2` for 36.
pub fn signal_name(number: i32) -> String {
    let named = usize::try_from(number - 1)
        .ok()
        .and_then(|index| NAMES.get(index));
    match named {
        Some(name) => (*name).to_owned(),
        None if number == REAL_TIME => "SIGRTMIN".to_owned(),
        None if (REAL_TIME..=64).contains(&number) => format!("SIGRTMIN+{}", number - REAL_TIME),
        None => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::signal_name;

    #[test]
    fn names() {
        let check = |number, expected: &str| assert_eq!(signal_name(number), expected);
        check(1, "SIGHUP");
        check(9, "SIGKILL");
        check(15, "SIGTERM");
        check(31, "SIGSYS");
        check(34, "SIGRTMIN");
        check(36, "SIGRTMIN+2");
        check(0, "signal 0");
        check(-3, "signal -3");
        check(99, "signal 99");
    }
}
