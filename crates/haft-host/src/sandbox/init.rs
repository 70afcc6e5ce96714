//! The first process inside a sandbox, once the command runs: it buries the dead and ends when
//! the command has ended, and the kernel then ends whoever is left.

use std::fs::File;
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};

use super::launch::ENDED;
use super::sys;

/// What a command leaves behind may finish its last words, and not begin anything: as long as
/// outside of a sandbox.
const LINGER: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(1);

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Code(u8),
    Signal(u8),
}

impl Ended {
    fn of(status: WaitStatus) -> Option<Self> {
        let small = |number: i32| u8::try_from(number).ok();
        let code = status.exit_status().and_then(small).map(Ended::Code);
        let signal = || status.terminating_signal().and_then(small);
        code.or_else(|| signal().map(Ended::Signal))
    }

    /// What the first process wrote, once it is gone. None if it could not.
    pub(super) fn read(mut from: impl Read) -> Option<Self> {
        let mut words = [0; 2];
        from.read_exact(&mut words).ok()?;
        match words {
            [b'c', code] => Some(Ended::Code(code)),
            [b's', signal] => Some(Ended::Signal(signal)),
            _ => None,
        }
    }

    fn words(self) -> [u8; 2] {
        match self {
            Ended::Code(code) => [b'c', code],
            Ended::Signal(signal) => [b's', signal],
        }
    }
}

/// Wait for the command, let its last words be said, and tell how it ended. No signal can end a
/// first process, not its own either, so the end of the command cannot be acted out here.
///
/// Whoever ends a command tells this process too, and first. So when the command has ended and
/// nothing waits here, it did so by itself, however long the rest takes: a time limit that comes
/// later came too late.
pub(super) fn reap_until_end(command: Pid, report: Option<File>, mut tell: File) -> ! {
    let mut ended = None;
    while ended.is_none() {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => ended = Ended::of(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    if let Some(mut report) = report
        && sys::waiting_signals().is_empty()
    {
        let _ = report.write_all(ENDED.as_bytes());
    }
    let until = Instant::now() + LINGER;
    while bury() && Instant::now() < until {
        thread::sleep(PAUSE);
    }
    if let Some(ended) = ended {
        let _ = tell.write_all(&ended.words());
    }
    std::process::exit(0)
}

/// Take the dead off the list; whether somebody lives.
fn bury() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ended;

    #[test]
    fn an_end_is_told_in_two_bytes() {
        for ended in [Ended::Code(0), Ended::Code(255), Ended::Signal(9)] {
            assert_eq!(Ended::read(&ended.words()[..]), Some(ended));
        }
        assert_eq!(Ended::read(&b""[..]), None);
        assert_eq!(Ended::read(&b"x1"[..]), None);
    }
}
