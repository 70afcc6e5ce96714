//! What outlives this process by a moment: a second one that is told of every running command
//! and ends them all when we die, however we die. It learns of our death from the pipe between
//! us, which the kernel closes; so nothing has to be asked of it, and nothing polls.
//!
//! The guardian is no parent of the commands. It finds them by group, by descent and by tag;
//! only a process that cut all three ties (see [`super::family`]) escapes it, and for that one
//! there is the sandbox.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
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
    /// What runs, so that a new guardian can be told if the old one was killed
    watched: HashMap<Arc<str>, Option<Pid>>,
}

impl Guardian {
    /// Nothing is started before there is something to watch over.
    pub(super) fn new(argv: Vec<OsString>) -> Self {
        Guardian {
            argv,
            line: Mutex::new(Line::default()),
        }
    }

    /// A command with this tag is about to start.
    pub(super) fn watch(&self, tag: &Arc<str>) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.watched.insert(tag.clone(), None);
        self.tell(&mut line, &format!("+{tag}\n"));
    }

    /// The command with this tag leads this process group.
    pub(super) fn leads(&self, tag: &Arc<str>, leader: Pid) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.watched.insert(tag.clone(), Some(leader));
        self.tell(&mut line, &format!("={tag} {}\n", leader.as_raw_pid()));
    }

    /// The command with this tag has ended, with all it started.
    pub(super) fn forget(&self, tag: &Arc<str>) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.watched.remove(tag);
        self.tell(&mut line, &format!("-{tag}\n"));
    }

    /// Commands run without a guardian too: where none can be started, we go on.
    fn tell(&self, line: &mut Line, news: &str) {
        if let Some((_, pipe)) = &mut line.guardian
            && pipe.write_all(news.as_bytes()).is_ok()
        {
            return;
        }
        dismiss(line);
        if line.watched.is_empty() {
            return;
        }
        if let Ok((pid, mut pipe)) = self.start() {
            let told = line.watched.iter().try_for_each(|(tag, leader)| {
                pipe.write_all(format!("+{tag}\n").as_bytes())?;
                match leader {
                    Some(pid) => {
                        pipe.write_all(format!("={tag} {}\n", pid.as_raw_pid()).as_bytes())
                    }
                    None => Ok(()),
                }
            });
            if told.is_ok() {
                line.guardian = Some((pid, pipe));
            }
        }
    }

    /// In a group of its own, so that Ctrl-C at the terminal does not reach it.
    fn start(&self) -> io::Result<(Pid, ChildStdin)> {
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
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = children::spawn(&mut command, None)?;
        let pipe = child
            .stdin
            .take()
            .ok_or_else(|| io::Error::other("no pipe to the guardian"))?;
        // A guardian that was stopped must not stop us: a full pipe counts as a dead guardian.
        let flags = fcntl_getfl(&pipe)?;
        fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?;
        Ok((Pid::from_child(&child), pipe))
    }
}

impl Drop for Guardian {
    /// Every command holds its guardian, so there is nothing left to watch over.
    fn drop(&mut self) {
        dismiss(self.line.get_mut().unwrap_or_else(PoisonError::into_inner));
    }
}

fn dismiss(line: &mut Line) {
    if let Some((pid, pipe)) = line.guardian.take() {
        // Killed before its pipe closes, or it would take that for our death.
        let _ = kill_process(pid, Signal::KILL);
        children::wait_and_reap(pid);
        drop(pipe);
    }
}

/// The guardian's whole life: listen until the pipe closes, then end what still runs. The
/// binary calls it for its hidden subcommand and exits.
pub fn guardian_main() {
    let mut watched: HashMap<String, Option<i32>> = HashMap::new();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        listen(&line, &mut watched);
    }
    if !watched.is_empty() {
        end_all(&watched);
    }
}

fn listen(line: &str, watched: &mut HashMap<String, Option<i32>>) {
    if let Some(tag) = line.strip_prefix('+') {
        watched.entry(tag.to_owned()).or_insert(None);
    } else if let Some(tag) = line.strip_prefix('-') {
        watched.remove(tag);
    } else if let Some((tag, pid)) = line.strip_prefix('=').and_then(|rest| rest.split_once(' ')) {
        watched.insert(tag.to_owned(), pid.parse().ok());
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
    fn news_is_kept_in_order() {
        let mut watched = HashMap::new();
        for line in ["+a", "=a 12", "+b", "-a", "+c", "=c x", "?", "=d"] {
            listen(line, &mut watched);
        }
        let expected = HashMap::from([("b".to_owned(), None), ("c".to_owned(), None)]);
        assert_eq!(watched, expected);
    }
}
