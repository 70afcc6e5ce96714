//! The one door through which this process starts others, and the list of those it started.
//!
//! This process is the reaper of everything below it: when a parent in between dies, the orphan
//! becomes our own child instead of init's. So whatever is our child and is not on this list was
//! left behind by some command, and can be found, ended and reaped here.

use std::io;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use rustix::process::{Pid, WaitId, WaitIdOptions, getpgrp, getpid, set_child_subreaper, waitid};

use super::descriptors;
use super::memory;
use super::procfs::{self, Stat};

/// Held for reading from before a process starts until it is on the list, and while one is taken
/// off; held for writing to tell orphans from children. Without it a child that was started this
/// instant would look like an orphan.
static STARTING: RwLock<()> = RwLock::new(());

static STARTED: Mutex<Vec<Started>> = Mutex::new(Vec::new());

/// Children from before, by pid and start time: a program that was replaced by this one may have
/// left some, and they are none of our business.
static STRANGERS: OnceLock<Vec<(i32, u64)>> = OnceLock::new();

struct Started {
    pid: i32,
    /// None for what is no call: the guardian, a worker
    tag: Option<Arc<str>>,
}

/// A child that nobody here started.
pub(super) struct Orphan {
    pub(super) pid: i32,
    pub(super) stat: Stat,
    /// The calls it says it belongs to
    pub(super) tags: Vec<String>,
    /// It has no environment now, and may be about to have one
    pub(super) unsure: bool,
    /// It names no command that runs, and may be anybody's
    pub(super) unclaimed: bool,
    /// Commands that run now and could have left it
    pub(super) commands: usize,
}

/// Become the reaper of all that is below, once, before the first process is started. Most runs start
/// none, and need not pay for it.
pub(super) fn adopt_orphans() {
    STRANGERS.get_or_init(|| {
        let before = procfs::children(own_pid())
            .into_iter()
            .filter_map(|pid| Some((pid, procfs::stat(pid)?.started)))
            .collect();
        // Where the kernel refuses, groups are still ended; only who left his group stays.
        let _ = set_child_subreaper(Some(getpid()));
        before
    });
}

/// Start a process and put it on the list. It must be taken off with [`reap`].
pub(super) fn spawn(
    command: &mut Command,
    tag: Option<Arc<str>>,
) -> io::Result<std::process::Child> {
    adopt_orphans();
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    descriptors::close_on_exec();
    let lifted = memory::lifted();
    let child = command.spawn()?;
    drop(lifted);
    started().push(Started {
        pid: child.id() as i32,
        tag,
    });
    Ok(child)
}

/// Take a dead child off the list and let the kernel forget it. Until then its pid, and with it
/// the number of its group, can belong to nobody else.
pub(super) fn reap(pid: Pid) {
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    started().retain(|started| started.pid != pid.as_raw_pid());
    collect(pid);
}

/// The same for a child that is sure to end.
pub(super) fn wait_and_reap(pid: Pid) {
    let _ = waitid(
        WaitId::Pid(pid),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    );
    reap(pid);
}

/// The children that nobody here started. Dead ones are reaped on the way.
pub(super) fn orphans() -> Vec<Orphan> {
    let me = own_pid();
    if unknown(&procfs::adopted(me)).is_empty() {
        return Vec::new();
    }
    let _starting = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    let own_group = getpgrp().as_raw_pid();
    let (calls, tags) = {
        let started = started();
        let tags: Vec<Arc<str>> = started.iter().filter_map(|s| s.tag.clone()).collect();
        (tags.len(), tags)
    };
    let mut orphans = Vec::new();
    for pid in unknown(&procfs::adopted(me)) {
        let Some(stat) = procfs::stat(pid) else {
            continue;
        };
        // In our own group are children that the program around us started by itself.
        if stat.parent != me || stat.group == own_group {
            continue;
        }
        if stat.zombie {
            if let Some(pid) = Pid::from_raw(pid) {
                collect(pid);
            }
            continue;
        }
        let environment = procfs::environment(pid);
        let its_tags = procfs::call_tags(&environment);
        let claimed = its_tags.iter().any(|tag| tags.iter().any(|t| **t == **tag));
        orphans.push(Orphan {
            pid,
            stat,
            tags: its_tags,
            unsure: environment.is_empty() && stat.busy,
            // As process 1 we inherit the orphans of the whole container.
            unclaimed: !claimed && me != 1,
            commands: calls,
        });
    }
    orphans
}

fn unknown(children: &[i32]) -> Vec<i32> {
    let started = started();
    children
        .iter()
        .copied()
        .filter(|child| !started.iter().any(|s| s.pid == *child) && !is_stranger(*child))
        .collect()
}

fn is_stranger(child: i32) -> bool {
    STRANGERS.get().into_iter().flatten().any(|(pid, started)| {
        *pid == child && procfs::stat(child).is_some_and(|stat| stat.started == *started)
    })
}

fn collect(pid: Pid) {
    let _ = waitid(
        WaitId::Pid(pid),
        WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
    );
}

fn own_pid() -> i32 {
    getpid().as_raw_pid()
}

fn started() -> std::sync::MutexGuard<'static, Vec<Started>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}
