//! What `/proc` says about processes: who is whose child, and which call a process came from.
//! Reading only; a process that is gone reads as none.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use super::CALL_VARIABLE;

/// How often two listings of the same children may differ before another way is taken.
const LISTINGS: usize = 4;

/// The part of `/proc/PID/stat` that matters here. Pid and start time together name a process
/// for ever: a pid alone may be given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) started: u64,
    /// Dead, and only waiting for its parent to notice
    pub(super) zombie: bool,
    /// On a processor, or waiting for one or for a disk
    pub(super) busy: bool,
}

pub(super) fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The name of the program stands in brackets and may hold anything, brackets and spaces too:
/// everything of use comes after the last one.
fn parse_stat(line: &[u8]) -> Option<Stat> {
    let close = line.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let threads: u32 = fields.nth(14)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    Some(Stat {
        parent,
        group,
        started,
        // A first thread may end before the others: the process then lives on.
        zombie: matches!(state, "Z" | "X" | "x") && threads <= 1,
        busy: matches!(state, "R" | "D"),
    })
}

/// The children of a process, dead ones included.
pub(super) fn children(pid: i32) -> Vec<i32> {
    listed(pid, || list_children(pid))
}

/// Those of a process that were left to it, and others it may have: the kernel gives every orphan
/// to the first thread, as long as that lives. One list is a fraction of those of all threads.
pub(super) fn adopted(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    listed(pid, || Some(numbers(&fs::read_to_string(&path).ok()?)))
}

/// The kernel's list skips an entry when one that it gave already goes away meanwhile. That one
/// is missing from the next listing, so two equal listings are complete. Where children come and
/// go too fast for that, the whole of `/proc` is read, which goes by number and skips nobody.
fn listed(pid: i32, list: impl Fn() -> Option<Vec<i32>>) -> Vec<i32> {
    let mut listing = list();
    for _ in 0..LISTINGS {
        let again = list();
        match again {
            Some(again) if listing.as_ref() == Some(&again) => return again,
            Some(_) => listing = again,
            // A kernel without these lists.
            None => break,
        }
    }
    all()
        .filter(|&other| stat(other).is_some_and(|stat| stat.parent == pid))
        .collect()
}

fn list_children(pid: i32) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Some(found);
    };
    for thread in threads.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => found.extend(numbers(&list)),
            Err(_) if thread.path().join("stat").exists() => return None,
            // The thread has gone; its children are another one's now.
            Err(_) => {}
        }
    }
    Some(found)
}

fn numbers(list: &str) -> Vec<i32> {
    list.split_ascii_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect()
}

/// Every process there is.
pub(super) fn all() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The environment a process was started with. Empty if it threw it away, and for an instant
/// while it becomes another program.
pub(super) fn environment(pid: i32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

/// The calls that a process with this environment was started under, outermost first.
pub(super) fn call_tags(environment: &[u8]) -> Vec<String> {
    environment
        .split(|&byte| byte == 0)
        .filter_map(|entry| entry.strip_prefix(CALL_VARIABLE.as_bytes()))
        .filter_map(|value| value.strip_prefix(b"="))
        .flat_map(|value| OsStr::from_bytes(value).to_str())
        .flat_map(|value| value.split(':'))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_cannot_forge_its_stat() {
        let line = b"77 (x) Z 1 1 (y) S 4 5 6 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 4242 8 9\n";
        assert_eq!(
            parse_stat(line),
            Some(Stat {
                parent: 4,
                group: 5,
                started: 4242,
                zombie: false,
                busy: false
            })
        );
        assert_eq!(parse_stat(b"77 (x"), None);
        assert_eq!(parse_stat(b"77 (x) S 1"), None);
    }

    #[test]
    fn an_orphan_comes_to_the_first_thread() {
        let me = std::process::id() as i32;
        super::super::children::adopt_orphans();
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 1000 & echo $!"])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = shell.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        shell.wait().unwrap();
        let orphan: i32 = line.trim().parse().unwrap();
        assert!(adopted(me).contains(&orphan));
        let pid = rustix::process::Pid::from_raw(orphan).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    }

    #[test]
    fn own_stat_and_own_child() {
        let me = std::process::id() as i32;
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .env(CALL_VARIABLE, "outer:inner")
            .spawn()
            .unwrap();
        let pid = child.id() as i32;
        assert!(children(me).contains(&pid));
        let stat = stat(pid).unwrap();
        assert_eq!((stat.parent, stat.zombie), (me, false));
        while environment(pid).is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(call_tags(&environment(pid)), ["outer", "inner"]);
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
