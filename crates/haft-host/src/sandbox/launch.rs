//! The launcher: a mode of our own binary that stands between haft and a sandboxed command.
//!
//! It is a program of its own because what it does to itself cannot be done to a process with
//! threads, and because starting it costs the same however large haft has grown. It leaves the
//! namespaces of the machine, starts a first process in new ones that builds the view, gives up
//! all rights and runs the command, and then waits. It ends as the command ended; when haft
//! dies, it dies, and with it everything inside.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getegid, geteuid, getpid, getppid,
    ioctl_tiocsctty, kill_process, pidfd_open, set_parent_process_death_signal, setsid, waitid,
};
use rustix::stdio::dup2_stdin;
use rustix::thread::UnshareFlags;

use super::guarded::{Guarded, IfMissing, guarded};
use super::held_signals::Gate;
use super::init::{self, Ended};
use super::newborn::{self, Newborn};
use super::placeholder::{self, Free, Placeholder};
use super::spec::Spec;
use super::{Level, filter, homes, mounts, probe, rights, sys};
use crate::watch::Guest;

/// How the launcher ends when there was no command to end as.
pub(super) const NOT_LAUNCHED: i32 = 125;

/// The line that says the command was let go, and the start of the one that says why not.
pub(super) const READY: &str = "ready\n";

/// The line that says the command ended before it was told to.
pub(super) const ENDED: &str = "ended\n";

/// Asked for instead of a spec: say what this machine offers.
pub(super) const PROBE: &str = "probe";

/// The namespaces that the launcher makes: only who is in the first can make the others, and the
/// second is for children.
const OUTER: UnshareFlags = UnshareFlags::NEWUSER.union(UnshareFlags::NEWPID);

/// The ones that the first process makes for itself and all after it. The launcher stays out of
/// them: it has to clean up in the real file system.
const INNER: UnshareFlags = UnshareFlags::NEWNS
    .union(UnshareFlags::NEWIPC)
    .union(UnshareFlags::NEWUTS)
    .union(UnshareFlags::NEWNET)
    .union(UnshareFlags::NEWCGROUP);

/// A part of the work that the kernel refused.
pub(super) struct Refused {
    what: String,
    why: String,
}

impl Refused {
    fn at(what: &str) -> impl FnOnce(io::Error) -> Refused {
        move |error| Refused {
            what: what.to_owned(),
            why: error.to_string(),
        }
    }
}

/// The launcher's whole life. The binary calls it for its hidden subcommand, with the arguments
/// after that one, before it starts any thread.
pub fn launcher_main(arguments: impl IntoIterator<Item = OsString>) -> ! {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.first().is_some_and(|first| first == PROBE) {
        probe::answer();
        std::process::exit(0);
    }
    let mut report = None;
    let refused = match launch(&arguments, &mut report) {
        Ok(ended) => follow(ended),
        Err(refused) => refused,
    };
    let line = format!("{}: {}\n", refused.what, refused.why);
    let told = report.is_some_and(|mut report| report.write_all(line.as_bytes()).is_ok());
    if !told {
        let _ = write!(io::stderr(), "sandbox: {line}");
    }
    std::process::exit(NOT_LAUNCHED)
}

/// End as the command did; as killed, if nobody could say.
fn follow(ended: Option<Ended>) -> ! {
    match ended {
        Some(Ended::Code(code)) => std::process::exit(code.into()),
        Some(Ended::Signal(signal)) => sys::die_of(signal.into()),
        None => sys::die_of(Signal::KILL.as_raw()),
    }
}

/// What the first process is to do. The places are decided on once, before anything moves.
struct Inside<'a> {
    spec: Spec,
    guarded: Vec<Guarded>,
    held: Held,
    /// The way to who wants to know of every change
    guest: Cell<Option<Guest>>,
    command: &'a [OsString],
}

fn launch(arguments: &[OsString], report: &mut Option<fs::File>) -> Result<Option<Ended>, Refused> {
    sys::close_inherited().map_err(Refused::at("open files"))?;
    let [spec, command @ ..] = arguments else {
        return Err(Refused::at("arguments")(io::ErrorKind::InvalidInput.into()));
    };
    let spec: Spec = serde_json::from_slice(spec.as_encoded_bytes())
        .map_err(|error| Refused::at("arguments")(error.into()))?;
    let parent = parent_of(&spec).map_err(Refused::at("parent"))?;
    let place = format!("/proc/{}/fd/{}", spec.parent, spec.report);
    let opened = fs::OpenOptions::new().write(true).open(place);
    *report = Some(opened.map_err(Refused::at("report"))?);
    // While it can be reached. Where it cannot, it notices that nobody comes.
    let guest = spec
        .watcher
        .as_deref()
        .and_then(|name| Guest::of(name).ok());
    let guarded = guarded(&spec);
    let mut held = Held::default();
    let inside = match held.hold(&spec, &guarded) {
        Ok(()) => Inside {
            guarded,
            held,
            guest: Cell::new(guest),
            spec,
            command,
        },
        Err(error) => {
            held.let_go();
            return Err(Refused::at("guarded places")(error));
        }
    };
    let ended = supervise(&inside, report, &parent);
    inside.held.let_go();
    ended
}

/// A handle on haft, the process and not one of its threads. It must still be our parent.
fn parent_of(spec: &Spec) -> io::Result<OwnedFd> {
    let gone = || io::Error::other("haft has ended");
    let pid = Pid::from_raw(spec.parent).ok_or_else(gone)?;
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    if getppid() == Some(pid) {
        Ok(handle)
    } else {
        Err(gone())
    }
}

/// What has to be put right in the workspace when the command has ended.
#[derive(Default)]
struct Held {
    newborns: Vec<Newborn>,
    placeholders: Vec<Placeholder>,
    free: Vec<Free>,
}

impl Held {
    fn hold(&mut self, spec: &Spec, guarded: &[Guarded]) -> io::Result<()> {
        // On an overlay names are made in the upper layer, which goes away as a whole.
        if spec.overlay.is_some() {
            return Ok(());
        }
        for place in guarded {
            if place.if_missing == IfMissing::Unmake {
                self.free.extend(placeholder::note_free(&place.path)?);
                continue;
            }
            let Some(placeholder) = placeholder::hold(&place.path, place.if_missing)? else {
                continue;
            };
            self.placeholders.push(placeholder);
            if place.if_missing == IfMissing::Newborn {
                self.newborns
                    .push(newborn::expect(&spec.state, &place.path)?);
            }
        }
        Ok(())
    }

    /// In this order: where a repository has come to be, its placeholder is none any more.
    fn let_go(self) {
        let mut told: Vec<String> = Vec::new();
        told.extend(self.newborns.into_iter().flat_map(Newborn::settle));
        self.placeholders.into_iter().for_each(Placeholder::release);
        told.extend(self.free.into_iter().filter_map(Free::restore));
        for one in told {
            let _ = writeln!(io::stderr(), "haft: {one}");
        }
    }
}

fn supervise(
    inside: &Inside<'_>,
    report: &mut Option<fs::File>,
    parent: &OwnedFd,
) -> Result<Option<Ended>, Refused> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())
        .map_err(|error| Refused::at("process handles")(error.into()))?;
    let (hear, tell) = io::pipe().map_err(Refused::at("pipe"))?;
    let gate = Gate::new().map_err(Refused::at("pipe"))?;
    leave_namespaces()?;
    sys::block_signals();
    let Some(first) = sys::fork().map_err(Refused::at("fork"))? else {
        drop(hear);
        first_process(inside, report, own, (gate, OwnedFd::from(tell).into()));
    };
    // From here on only the first process speaks; we end when it has ended.
    *report = None;
    drop(tell);
    leave_input();
    gate.open(first);
    let running = pidfd_open(first, PidfdFlags::empty())
        .map_err(|error| Refused::at("process handles")(error.into()))?;
    loop {
        let mut waiting = [
            PollFd::from_borrowed_fd(running.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(parent.as_fd(), PollFlags::IN),
        ];
        let answered = poll(&mut waiting, None);
        if answered.is_ok() && !waiting[1].revents().is_empty() {
            let _ = kill_process(first, Signal::KILL);
        }
        if answered.is_ok() && waiting.iter().any(|one| !one.revents().is_empty()) {
            let status = waitid(WaitId::Pid(first), WaitIdOptions::EXITED)
                .ok()
                .flatten();
            let failed = status.and_then(|status| status.exit_status()) == Some(NOT_LAUNCHED);
            return Ok(match Ended::read(hear) {
                None if failed => Some(Ended::Code(NOT_LAUNCHED as u8)),
                ended => ended,
            });
        }
    }
}

fn leave_namespaces() -> Result<(), Refused> {
    if geteuid().is_root() {
        sys::drop_groups().map_err(Refused::at("groups"))?;
    }
    new_namespaces(OUTER).map_err(Refused::at("namespaces"))
}

/// New namespaces, in which we are who we were: files that the command makes are the user's.
pub(super) fn new_namespaces(flags: UnshareFlags) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    sys::unshare(flags)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// The first process of the sandbox: builds it, shuts the doors, starts the command and reaps.
fn first_process(
    inside: &Inside<'_>,
    report: &mut Option<fs::File>,
    launcher: OwnedFd,
    (passed, tell): (Gate, fs::File),
) -> ! {
    let prepared = bind_to(launcher).and_then(|()| enclose(inside));
    let started = prepared.and_then(|()| {
        passed.pass();
        let gate = Gate::new().map_err(Refused::at("pipe"))?;
        if let Some(report) = report {
            report
                .write_all(READY.as_bytes())
                .map_err(Refused::at("report"))?;
        }
        let child = sys::fork().map_err(Refused::at("fork"))?;
        Ok((child, gate))
    });
    let refused = match started {
        Ok((Some(child), gate)) => {
            leave_input();
            gate.open(child);
            init::reap_until_end(child, report.take(), tell)
        }
        Ok((None, gate)) => {
            gate.pass();
            become_command(&inside.spec, inside.command)
        }
        Err(refused) => refused,
    };
    if let Some(report) = report {
        let _ = writeln!(report, "{}: {}", refused.what, refused.why);
    }
    std::process::exit(NOT_LAUNCHED)
}

/// The input is the command's alone: while we hold it too, nobody can tell that the command has
/// closed it.
fn leave_input() {
    if let Ok((nothing, _)) = io::pipe() {
        let _ = dup2_stdin(nothing);
    }
}

/// Die when the launcher dies.
fn bind_to(launcher: OwnedFd) -> Result<(), Refused> {
    let told = || Refused::at("parent");
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| told()(error.into()))?;
    let mut waiting = [PollFd::new(&launcher, PollFlags::IN)];
    let now = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match poll(&mut waiting, Some(&now)) {
        Ok(0) => Ok(()),
        Ok(_) => Err(told()(io::Error::other("the launcher has ended"))),
        Err(error) => Err(told()(error.into())),
    }
}

fn enclose(inside: &Inside<'_>) -> Result<(), Refused> {
    let spec = &inside.spec;
    sys::unshare(INNER).map_err(Refused::at("namespaces"))?;
    let homes = homes::homes(spec, |name| std::env::var_os(name));
    mounts::build(spec, &homes, &inside.guarded, &inside.held.newborns)
        .map_err(|(step, error)| Refused::at(step)(error))?;
    mounts::fresh_proc().map_err(Refused::at("fresh /proc"))?;
    if spec.level == Level::Sandboxed {
        sys::start_loopback().map_err(Refused::at("loopback"))?;
    }
    let bound = rights::bound_processes(spec.limits.processes);
    if !bound && spec.process_limit {
        let unsupported = io::Error::other("root needs Linux 6.14 for it");
        return Err(Refused::at(probe::PROCESS_LIMIT)(unsupported));
    }
    mounts::close_proc().map_err(Refused::at("fresh /proc"))?;
    rustix::process::chdir("/").map_err(|error| Refused::at("root folder")(error.into()))?;
    rights::limit(&spec.limits).map_err(Refused::at("resource limits"))?;
    rights::drop_capabilities().map_err(Refused::at("capabilities"))?;
    let writable = mounts::writable_folders(spec, &homes);
    let fenced = rights::fence(writable.iter().map(|path| path.as_path()))
        .map_err(|error| Refused::at(probe::LANDLOCK)(io::Error::other(error)))?;
    if !fenced && spec.landlock {
        return Err(Refused::at(probe::LANDLOCK)(
            io::ErrorKind::Unsupported.into(),
        ));
    }
    if let Some(guest) = inside.guest.take() {
        guest.submit();
    }
    filter::install().map_err(Refused::at("seccomp"))
}

fn become_command(spec: &Spec, command: &[OsString]) -> Refused {
    let [program, arguments @ ..] = command else {
        return Refused::at("command")(io::ErrorKind::InvalidInput.into());
    };
    if let Err(error) = setsid() {
        return Refused::at("session")(error.into());
    }
    if spec.terminal
        && let Err(error) = ioctl_tiocsctty(io::stdin())
    {
        return Refused::at("terminal")(error.into());
    }
    if let Err(error) = std::env::set_current_dir(&spec.cwd) {
        return Refused::at("working directory")(error);
    }
    // What was handed on is heard here, if not before.
    sys::unblock_signals();
    let error = Command::new(Path::new(program)).args(arguments).exec();
    Refused::at("command")(error)
}
