//! Everything that descends from one command, and its end.
//!
//! Three ways lead from a command to a process it started: the process group, which `setsid`
//! leaves; the tree of parents, which a double fork cuts; and a tag in the environment, which
//! `env -i` throws away. A process counts as family when any of them leads to it. One that cut
//! all three became our own child (see [`super::children`]) and is taken along as soon as no
//! other command runs that could have left it. A worker is such a family too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, pidfd_open,
    pidfd_send_signal, waitid,
};

use super::{children, procfs};

/// How long what a command leaves behind may do nothing before it is told to end: a helper that
/// still writes its last words is let finish, a sleeper is not waited for.
const LINGER: Duration = Duration::from_millis(100);
/// How long it may go on doing something.
const LONGEST_LINGER: Duration = Duration::from_secs(1);
/// Between SIGTERM and SIGKILL.
pub(super) const GRACE: Duration = Duration::from_millis(250);
/// How long the kernel may take over a SIGKILL before the caller is no longer kept waiting.
const PATIENCE: Duration = Duration::from_secs(2);

/// One command with all it started. The leader is our child and is not reaped while this lives.
#[derive(Debug, Clone)]
pub(super) struct Family {
    pub(super) leader: Pid,
    pub(super) tag: Arc<str>,
    pub(super) kind: Kind,
}

/// What a family stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One call's command
    Command,
    /// A worker: what its calls leave behind comes to it, and to us only when it dies
    Worker,
}

/// A process by its pid and start time: the pid alone may be another one's tomorrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pid: i32,
    started: u64,
    pub(super) group: i32,
    busy: bool,
}

impl Family {
    /// How the leader ended, if it has. It stays a zombie, so that its group keeps its number.
    pub(super) fn leader_status(&self) -> Option<WaitIdStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.leader), options).ok().flatten()
    }

    /// Everyone alive, and whether there is somebody of whom it cannot be said yet.
    fn members(&self) -> (Vec<Member>, bool) {
        let leader = self.leader.as_raw_pid();
        let mut members = Vec::new();
        let mut unsure = false;
        if self.leader_status().is_none()
            && let Some(stat) = procfs::stat(leader).filter(|stat| !stat.zombie)
        {
            members.push(Member::new(leader, stat));
            descend(leader, &mut members);
        }
        for orphan in children::orphans() {
            let others = match self.kind {
                Kind::Command => orphan.commands.saturating_sub(1),
                Kind::Worker => orphan.commands,
            };
            let ours = (orphan.unclaimed && others == 0)
                || orphan.stat.group == leader
                || orphan.tags.iter().any(|tag| **tag == *self.tag);
            if ours {
                members.push(Member::new(orphan.pid, orphan.stat));
                descend(orphan.pid, &mut members);
            }
            unsure |= !ours && orphan.unsure;
        }
        (members, unsure)
    }

    /// Send a signal to everyone. The leader must not have been reaped.
    pub(super) fn send(&self, signal: Signal) {
        let (members, _) = self.members();
        self.signal(&members, signal);
        // A stopped process hears nothing until it goes on.
        self.signal(&members, Signal::CONT);
    }

    fn signal(&self, members: &[Member], signal: Signal) {
        let outside = |member: &&Member| member.group != self.leader.as_raw_pid();
        // One call for the whole group: nobody in it can fork away in between.
        let _ = kill_process_group(self.leader, signal);
        let told: Vec<Member> = members.iter().filter(outside).copied().collect();
        // Whoever left the group since it was looked at, as a command that a sandbox starts does.
        let (now, _) = self.members();
        let left = now.iter().filter(outside);
        let left = left.filter(|one| !told.iter().any(|member| member.is(one)));
        told.iter()
            .chain(left)
            .for_each(|member| member.signal(signal));
    }
}

impl Member {
    pub(super) fn new(pid: i32, stat: procfs::Stat) -> Self {
        Member {
            pid,
            started: stat.started,
            group: stat.group,
            busy: stat.busy,
        }
    }

    fn is(&self, other: &Member) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }

    /// Signal this process and no other: the handle is taken first, then compared with what
    /// was seen, so that a pid which was given away in between is noticed.
    pub(super) fn signal(self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return;
        };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
            return;
        };
        if procfs::stat(self.pid).is_some_and(|stat| stat.started == self.started) {
            let _ = pidfd_send_signal(&handle, signal);
        }
    }
}

fn descend(parent: i32, members: &mut Vec<Member>) {
    let mut parents = vec![parent];
    while let Some(parent) = parents.pop() {
        for child in procfs::children(parent) {
            let Some(stat) = procfs::stat(child) else {
                continue;
            };
            if stat.parent == parent && !members.iter().any(|seen| seen.pid == child) {
                if !stat.zombie {
                    members.push(Member::new(child, stat));
                }
                parents.push(child);
            }
        }
    }
}

/// The end of a family, step by step, so that one loop can read output meanwhile and another
/// can run on a plain thread.
#[derive(Debug)]
pub(super) struct Ending {
    family: Family,
    phase: Phase,
    begun: Instant,
    until: Instant,
    pause: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The leader ended by itself: what it left may finish
    Lingering,
    /// Asked to end
    Terminating,
    /// Made to end
    Killing,
}

impl Ending {
    /// After the leader has ended by itself.
    pub(super) fn after_exit(family: Family) -> Self {
        Ending::new(family, Phase::Lingering, LINGER)
    }

    /// Now, whatever it does: SIGTERM goes out at once.
    pub(super) fn by_force(family: Family) -> Self {
        let mut ending = Ending::new(family, Phase::Lingering, Duration::ZERO);
        let (members, _) = ending.family.members();
        ending.terminate(&members);
        ending
    }

    fn new(family: Family, phase: Phase, time: Duration) -> Self {
        let begun = Instant::now();
        Ending {
            family,
            phase,
            begun,
            until: begun + time,
            pause: Duration::from_millis(1),
        }
    }

    /// Do what is due. None when nobody is left; else how long to wait for the next step.
    pub(super) fn step(&mut self) -> Step {
        let (members, unsure) = self.family.members();
        let unsure = unsure && self.begun.elapsed() < LINGER;
        if members.is_empty() && !unsure && self.family.leader_status().is_some() {
            return Step::Gone;
        }
        let late = Instant::now() >= self.until;
        match self.phase {
            Phase::Lingering
                if self.begun.elapsed() < LONGEST_LINGER && members.iter().any(|m| m.busy) =>
            {
                self.until = Instant::now() + LINGER;
            }
            Phase::Lingering if late => self.terminate(&members),
            Phase::Terminating if late => {
                self.enter(Phase::Killing, PATIENCE);
                self.family.signal(&members, Signal::KILL);
            }
            Phase::Killing if late => return Step::Stuck,
            // Whoever was born while the others were being killed.
            Phase::Killing => self.family.signal(&members, Signal::KILL),
            Phase::Lingering | Phase::Terminating => {}
        }
        let pause = self.pause;
        self.pause = (self.pause * 2).min(Duration::from_millis(16));
        Step::Wait(pause)
    }

    fn terminate(&mut self, members: &[Member]) {
        self.family.signal(members, Signal::TERM);
        // A stopped process hears nothing until it goes on.
        self.family.signal(members, Signal::CONT);
        self.enter(Phase::Terminating, GRACE);
    }

    fn enter(&mut self, phase: Phase, time: Duration) {
        self.phase = phase;
        self.until = Instant::now() + time;
        self.pause = Duration::from_millis(1);
    }
}

/// What an [`Ending`] has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Gone,
    Wait(Duration),
    /// Somebody does not die of SIGKILL: the kernel holds it
    Stuck,
}
