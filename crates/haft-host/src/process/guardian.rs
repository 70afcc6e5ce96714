//! What outlives this process by a moment: a second one that ends every running command when we
//! die, however we die. It learns of our death from the pipe between us, which the kernel closes;
//! so nothing has to be asked of it, and nothing polls. What runs stands on a list in memory that
//! both have: it is read once, when we are gone, so that nobody is woken for each command.
//!
//! The guardian is no parent of the commands. It finds them by group, by descent and by tag;
//! only a process that cut all three ties (see [`super::family`]) escapes it, and for that one
//! there is the sandbox.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::family::{GRACE, Member};
use super::{children, procfs};

/// How long the guardian keeps killing before it gives up.
const LONGEST: Duration = Duration::from_secs(10);

/// Our end of the line to the guardian.
#[derive(Debug)]
pub(crate) struct Guardian {
    argv: Vec<OsString>,
    line: Mutex<Line>,
}

#[derive(Debug, Default)]
struct Line {
    guardian: Option<(Pid, ChildStdin)>,
    list: Option<List>,
}

impl Guardian {
    /// Nothing is started before there is something to watch over.
    pub(super) fn new(argv: Vec<OsString>) -> Self {
        Guardian {
            argv,
            line: Mutex::new(Line::default()),
        }
    }

    /// A command with this tag is about to start. It does so without a guardian too: where none
    /// can be had, we go on.
    pub(super) fn watch(&self, tag: &Arc<str>) {
        let mut line = self.line();
        if line.list.is_none() {
            line.list = List::new().ok();
        }
        let Line { guardian, list } = &mut *line;
        let Some(list) = list else {
            return;
        };
        list.add(tag);
        if guardian.as_ref().is_some_and(|(_, pipe)| is_heard(pipe)) {
            return;
        }
        dismiss(guardian);
        *guardian = self.start(list).ok();
    }

    /// The command with this tag leads this process group.
    pub(super) fn leads(&self, tag: &str, leader: Pid) {
        if let Some(list) = &mut self.line().list {
            list.leads(tag, leader);
        }
    }

    /// The command with this tag has ended, with all it started.
    pub(super) fn forget(&self, tag: &str) {
        if let Some(list) = &mut self.line().list {
            list.remove(tag);
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In a group of its own, so that Ctrl-C at the terminal does not reach it.
    fn start(&self, list: &List) -> io::Result<(Pid, ChildStdin)> {
        let (program, arguments) = self
            .argv
            .split_first()
            .ok_or_else(|| io::Error::other("no program for the guardian"))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(list.file.try_clone()?)
            .stderr(Stdio::null());
        let mut child = children::spawn(&mut command, None)?;
        let pipe = child
            .stdin
            .take()
            .ok_or_else(|| io::Error::other("no pipe to the guardian"))?;
        Ok((Pid::from_child(&child), pipe))
    }
}

/// Whether somebody is at the other end.
fn is_heard(pipe: &ChildStdin) -> bool {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut ends = [PollFd::new(pipe, PollFlags::empty())];
    poll(&mut ends, Some(&now)).is_ok() && !ends[0].revents().contains(PollFlags::ERR)
}

/// What runs, in memory that the guardian has too: entries of one length, free ones blank.
#[derive(Debug)]
struct List {
    file: File,
    tags: Vec<Option<Arc<str>>>,
}

/// Bytes of a tag, and of an entry: the tag, the leader's number, spaces between and a line feed.
const TAG: usize = 32;
const ENTRY: usize = TAG + 12;

impl List {
    fn new() -> io::Result<Self> {
        Ok(List {
            file: memfd_create("haft-commands", MemfdFlags::CLOEXEC)?.into(),
            tags: Vec::new(),
        })
    }

    fn add(&mut self, tag: &Arc<str>) {
        let free = self.tags.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.tags.push(None);
            self.tags.len() - 1
        });
        self.tags[at] = Some(tag.clone());
        self.write(at, tag, "");
    }

    fn leads(&mut self, tag: &str, leader: Pid) {
        if let Some(at) = self.place(tag) {
            self.write(at, tag, &leader.as_raw_pid().to_string());
        }
    }

    fn remove(&mut self, tag: &str) {
        if let Some(at) = self.place(tag) {
            self.tags[at] = None;
            self.write(at, "", "");
        }
    }

    fn place(&self, tag: &str) -> Option<usize> {
        self.tags.iter().position(|one| one.as_deref() == Some(tag))
    }

    /// Where memory has run out, the command runs without a guardian.
    fn write(&self, at: usize, tag: &str, leader: &str) {
        let entry = format!("{tag:TAG$} {leader:10}\n");
        let _ = self
            .file
            .write_all_at(entry.as_bytes(), (at * ENTRY) as u64);
    }
}

/// What stands on a list.
fn read_list(mut list: File) -> HashMap<String, Option<i32>> {
    let mut text = String::new();
    if list.rewind().is_err() || list.read_to_string(&mut text).is_err() {
        return HashMap::new();
    }
    let entries = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let leader = |word: &str| word.parse().ok();
        Some((words.next()?.to_owned(), words.next().and_then(leader)))
    });
    entries.collect()
}

impl Drop for Guardian {
    /// Every command holds its guardian, so there is nothing left to watch over.
    fn drop(&mut self) {
        let line = self.line.get_mut().unwrap_or_else(PoisonError::into_inner);
        dismiss(&mut line.guardian);
    }
}

fn dismiss(guardian: &mut Option<(Pid, ChildStdin)>) {
    if let Some((pid, pipe)) = guardian.take() {
        // Killed before its pipe closes, or it would take that for our death.
        let _ = kill_process(pid, Signal::KILL);
        children::wait_and_reap(pid);
        drop(pipe);
    }
}

/// The guardian's whole life: wait until the pipe closes, then end what still runs by the list,
/// which stands in the place of its standard output. The binary calls it for its hidden
/// subcommand and exits.
pub fn guardian_main() {
    // Nothing ever comes: the end is what is waited for.
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    let Ok(list) = io::stdout().as_fd().try_clone_to_owned() else {
        return;
    };
    let watched = read_list(list.into());
    if !watched.is_empty() {
        end_all(&watched);
    }
}

fn end_all(watched: &HashMap<String, Option<i32>>) {
    let begun = Instant::now();
    let mut terminated = false;
    loop {
        let members = find(watched);
        if members.is_empty() || begun.elapsed() > LONGEST {
            return;
        }
        if !terminated {
            signal(watched, &members, Signal::TERM);
            signal(watched, &members, Signal::CONT);
            terminated = true;
        } else if begun.elapsed() >= GRACE {
            signal(watched, &members, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn signal(watched: &HashMap<String, Option<i32>>, members: &[Member], signal: Signal) {
    let groups: HashSet<i32> = watched.values().flatten().copied().collect();
    for group in &groups {
        let inhabited = members.iter().any(|member| member.group == *group);
        if let Some(group) = Pid::from_raw(*group).filter(|_| inhabited) {
            let _ = kill_process_group(group, signal);
        }
    }
    for member in members {
        if !groups.contains(&member.group) {
            member.signal(signal);
        }
    }
}

/// Everyone alive who belongs to a watched command.
fn find(watched: &HashMap<String, Option<i32>>) -> Vec<Member> {
    let me = std::process::id() as i32;
    let all: Vec<(i32, procfs::Stat)> = procfs::all()
        .filter(|&pid| pid != me)
        .filter_map(|pid| Some((pid, procfs::stat(pid)?)))
        .filter(|(_, stat)| !stat.zombie)
        .collect();
    let mut found: HashSet<i32> = all
        .iter()
        .filter(|(pid, stat)| {
            watched.values().flatten().any(|group| stat.group == *group)
                || procfs::call_tags(&procfs::environment(*pid))
                    .iter()
                    .any(|tag| watched.contains_key(tag))
        })
        .map(|(pid, _)| *pid)
        .collect();
    loop {
        let before = found.len();
        for (pid, stat) in &all {
            if found.contains(&stat.parent) {
                found.insert(*pid);
            }
        }
        if found.len() == before {
            break;
        }
    }
    all.into_iter()
        .filter(|(pid, _)| found.contains(pid))
        .map(|(pid, stat)| Member::new(pid, stat))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_holds_what_runs() {
        let mut list = List::new().unwrap();
        let tags = ["a", "b", "c"].map(|letter| Arc::from(letter.repeat(TAG)));
        for tag in &tags {
            list.add(tag);
        }
        list.leads(&tags[1], Pid::from_raw(i32::MAX).unwrap());
        list.leads("d", Pid::INIT);
        list.remove(&tags[0]);
        list.remove("d");
        let read = || read_list(list.file.try_clone().unwrap());
        let entry = |at: usize, leader| (tags[at].to_string(), leader);
        assert_eq!(
            read(),
            HashMap::from([entry(1, Some(i32::MAX)), entry(2, None)])
        );
        // A place that is free is used again.
        let again: Arc<str> = "e".repeat(TAG).into();
        list.add(&again);
        let read = read_list(list.file.try_clone().unwrap());
        assert_eq!((read.len(), list.tags.len()), (3, 3));
        assert_eq!(list.file.metadata().unwrap().len(), 3 * ENTRY as u64);
    }
}
