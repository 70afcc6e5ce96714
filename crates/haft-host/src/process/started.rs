//! A command that has been started, and the promise that it ends with its owner: dropping it
//! ends the command with everything it started.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, WaitIdStatus, kill_process_group, pidfd_open};

use super::family::{Ending, Family, Kind, Step};
use super::guardian::Guardian;
use super::prepare::Group;
use super::run::wait_for;
use super::signals::signal_name;
use super::terminal::Streams;
use super::{CALL_VARIABLE, children};
use crate::sandbox::Leavings;

/// How long a thread keeps at a process that does not die of SIGKILL.
const STUBBORN: u32 = 30;

/// Holds a running command: when this goes, the command goes.
#[derive(Debug)]
pub(crate) struct Started {
    pub(super) family: Family,
    ended: bool,
    guardian: Option<Arc<Guardian>>,
    /// Its leader is a launcher, with something to put right in the end
    pub(super) leavings: Option<Leavings>,
}

/// A command just started. It leads its own process group; its output and its errors come from
/// one place, so they stay in the order they were written.
pub(super) struct Beginning {
    pub(super) started: Started,
    /// Readable once the leader has ended
    pub(super) exit: OwnedFd,
    pub(super) output: OwnedFd,
}

/// Start a prepared command. `posix_spawn` does it: no hook runs between fork and exec, for
/// with one the whole address space would have to be copied first.
pub(super) fn start(
    mut command: Command,
    directory: &Path,
    group: Group,
    streams: Streams,
    guardian: Option<Arc<Guardian>>,
) -> io::Result<Beginning> {
    let output = streams.connect(&mut command)?;
    let (started, exit) = start_connected(command, directory, group, Kind::Command, guardian)?;
    Ok(Beginning {
        started,
        exit,
        output,
    })
}

/// The same for a command that has its streams. The descriptor is readable once it has ended.
pub(crate) fn start_connected(
    mut command: Command,
    directory: &Path,
    group: Group,
    kind: Kind,
    guardian: Option<Arc<Guardian>>,
) -> io::Result<(Started, OwnedFd)> {
    let tag: Arc<str> = random_tag()?.into();
    command
        .current_dir(directory)
        .env("PWD", directory)
        .env(CALL_VARIABLE, chain(&tag));
    if group == Group::Given {
        command.process_group(0);
    }
    // Before the start, so that there is no moment at which nobody watches over it.
    if let Some(guardian) = &guardian {
        guardian.watch(&tag);
    }
    let counted = (kind == Kind::Command).then(|| tag.clone());
    let spawned = children::spawn(&mut command, counted);
    // Our copies of its ends go, or the output would never end.
    drop(command);
    let leader = match spawned {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            if let Some(guardian) = &guardian {
                guardian.forget(&tag);
            }
            return Err(error);
        }
    };
    if let Some(guardian) = &guardian {
        guardian.leads(&tag, leader);
    }
    let started = Started {
        family: Family { leader, tag, kind },
        ended: false,
        guardian,
        leavings: None,
    };
    let exit = pidfd_open(leader, PidfdFlags::empty())?;
    Ok((started, exit))
}

impl Started {
    /// Whether the leader has not ended yet.
    pub(crate) fn lives(&self) -> bool {
        self.family.leader_status().is_none()
    }

    /// Wait for the leader's end, which makes `exit` readable, and say how it came.
    pub(crate) async fn ended(&self, exit: &OwnedFd) -> String {
        if let Ok(exit) = exit.try_clone().and_then(wait_for) {
            let _ = exit.readable().await;
        }
        let status = self.family.leader_status();
        let code = status.as_ref().and_then(WaitIdStatus::exit_status);
        match (code, status.and_then(|status| status.terminating_signal())) {
            (_, Some(signal)) => signal_name(signal),
            (Some(code), _) => format!("exit code {code}"),
            (None, None) => "it has ended".to_owned(),
        }
    }

    /// Nobody of the family is left: let go of the leader.
    pub(super) fn let_go(&mut self) {
        self.ended = true;
        let guardian = self.guardian.as_deref();
        forget(&self.family, guardian, self.leavings.as_ref());
    }
}

/// The guardian is told first: once reaped, the group's number may be somebody else's.
fn forget(family: &Family, guardian: Option<&Guardian>, leavings: Option<&Leavings>) {
    let signal = family
        .leader_status()
        .and_then(|status| status.terminating_signal());
    if let Some(guardian) = guardian {
        guardian.forget(&family.tag);
    }
    children::reap(family.leader);
    if let Some(leavings) = leavings
        && signal == Some(Signal::KILL.as_raw())
    {
        leavings.take_away();
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let ending = Ending::by_force(self.family.clone());
        let family = self.family.clone();
        let (guardian, leavings) = (self.guardian.take(), self.leavings.take());
        let pending = Pending::new();
        // A thread and no task: the runtime may be shutting down around us.
        let thread = thread::Builder::new()
            .name("haft-ending".into())
            .spawn(move || {
                if end(ending, &family) {
                    forget(&family, guardian.as_deref(), leavings.as_ref());
                }
                drop(pending);
            });
        if thread.is_err() {
            // No thread to be had, as in a fork storm: at least nobody survives.
            let _ = kill_process_group(self.family.leader, Signal::KILL);
        }
    }
}

/// Whether nobody is left. What the kernel holds stays on the guardian's list.
fn end(mut ending: Ending, family: &Family) -> bool {
    let mut tries = 0;
    loop {
        match ending.step() {
            Step::Gone => return true,
            Step::Wait(pause) => thread::sleep(pause),
            Step::Stuck if tries == STUBBORN => return false,
            Step::Stuck => {
                tries += 1;
                ending = Ending::by_force(family.clone());
            }
        }
    }
}

/// Commands whose owner has gone and whose end is not yet sure.
static PENDING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

pub(super) struct Pending;

impl Pending {
    pub(super) fn new() -> Self {
        *PENDING.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Pending
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        *PENDING.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        PENDING.1.notify_all();
    }
}

/// Wait until every abandoned command has ended, for at most this long. A program calls it
/// before it exits; the answer says whether nothing is left.
pub fn settle(longest: Duration) -> bool {
    let until = Instant::now() + longest;
    let mut pending = PENDING.0.lock().unwrap_or_else(PoisonError::into_inner);
    while *pending > 0 {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        pending = PENDING
            .1
            .wait_timeout(pending, left)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
    true
}

fn random_tag() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

/// The tag behind those of the calls we run under ourselves: a haft within a haft's command
/// starts processes that belong to both.
fn chain(tag: &str) -> String {
    match std::env::var(CALL_VARIABLE) {
        Ok(outer) if outer.len() <= 1024 => format!("{outer}:{tag}"),
        _ => tag.to_owned(),
    }
}
