//! Watching what a command does to files. The kernel stops it before each call that could change
//! one, tells us, and lets it go on when what is there has been kept. The command works on the
//! real files the whole time; what it costs grows with what it changes, not with the workspace.
//!
//! This is for putting back what programs do, not for holding them: one that wants to can change
//! a name between our look and its own.

mod calls;
mod resolve;
mod sys;

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, statat};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind,
    connect, listen, recvmsg, sendmsg, socket_with, sockopt::socket_peercred,
};
use rustix::process::Pid;

use crate::undo::{Lost, Recorded, Recorder, Touch};
use calls::Does;
use resolve::{Last, Roots};

/// Ready to watch a command that is about to start.
#[derive(Debug)]
pub(crate) struct Watcher {
    name: String,
    door: OwnedFd,
    roots: Roots,
    recorder: Recorder,
    /// Roots that were no repository: a sandbox makes one after the command's end
    no_repository: Vec<usize>,
}

const REPOSITORY: &str = ".git";

/// What was seen of a command that has ended.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// What it changed that cannot be put back
    pub(crate) lost: Vec<Lost>,
    /// Why it was not watched, or not to the end
    pub(crate) trouble: Option<String>,
}

impl Watcher {
    /// `home` is haft's own folder, which is not watched.
    pub(crate) fn new(
        recorder: Recorder,
        roots: Vec<(PathBuf, OwnedFd)>,
        home: PathBuf,
    ) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = format!("haft-{:032x}", u128::from_be_bytes(random));
        let door = stream()?;
        bind(&door, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
        listen(&door, 1)?;
        let has_none = |(_, (_, root)): &(usize, &(PathBuf, OwnedFd))| {
            statat(root, REPOSITORY, AtFlags::SYMLINK_NOFOLLOW).is_err()
        };
        let no_repository = roots.iter().enumerate().filter(has_none);
        Ok(Watcher {
            name,
            door,
            no_repository: no_repository.map(|(number, _)| number).collect(),
            roots: Roots { roots, home },
            recorder,
        })
    }

    /// What the command is told, to find us.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Watch until nobody is left of the command, whose first process `running` stands for. Blocks.
    pub(crate) fn follow(mut self, leader: Pid, running: &OwnedFd) -> Seen {
        let mut trouble = None;
        let watched = self.handle(leader, running).and_then(|handle| {
            if let Err(error) = self.serve(&handle, &mut trouble) {
                trouble.get_or_insert(format!("the kernel told no more: {error}"));
            }
            // Whoever led it in tidies up behind it.
            gone(running)
        });
        if let Err(error) = watched {
            trouble.get_or_insert(format!("it could not be watched: {error}"));
        }
        let recorded = self
            .note_repositories()
            .and_then(|()| self.recorder.sync())
            .and_then(|()| self.recorder.finish())
            .unwrap_or_else(|error| {
                trouble.get_or_insert(format!("what it changed could not be noted: {error}"));
                Recorded::default()
            });
        Seen {
            lost: recorded.lost,
            trouble,
        }
    }

    fn note_repositories(&mut self) -> io::Result<()> {
        for &root in &self.no_repository {
            self.recorder.arrived(root, Path::new(REPOSITORY))?;
        }
        Ok(())
    }

    /// The kernel's handle, as the command hands it over at its start. Only our own child is
    /// believed.
    fn handle(&self, leader: Pid, running: &OwnedFd) -> io::Result<OwnedFd> {
        loop {
            if !ready(&self.door, running)? {
                return Err(io::Error::other("it ended before it began"));
            }
            let guest = accept_with(&self.door, SocketFlags::CLOEXEC)?;
            if socket_peercred(&guest)?.pid == leader {
                return take(&guest);
            }
        }
    }

    fn serve(&mut self, handle: &OwnedFd, trouble: &mut Option<String>) -> io::Result<()> {
        loop {
            let mut waiting = [PollFd::new(handle, PollFlags::IN)];
            match poll(&mut waiting, None) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            if !waiting[0].revents().contains(PollFlags::IN) {
                return Ok(());
            }
            let Some(notice) = sys::receive(handle)? else {
                continue;
            };
            if let Err(error) = self.look(handle, &notice) {
                trouble.get_or_insert(format!("something could not be kept: {error}"));
            }
            sys::let_go(handle, notice.id);
        }
    }

    /// Keep what this call is about to change.
    fn look(&mut self, handle: &OwnedFd, notice: &sys::Notice) -> io::Result<()> {
        let mut touched = Vec::new();
        self.touched(notice, &mut touched);
        if !sys::still_waits(handle, notice.id) {
            return Ok(());
        }
        for ((root, path), touch) in touched {
            self.recorder.touch(root, &path, touch)?;
        }
        Ok(())
    }

    fn touched(&self, notice: &sys::Notice, into: &mut Vec<(resolve::Found, Touch)>) {
        let arguments = &notice.arguments;
        let find = |named: calls::Named, last: Last| {
            // Descriptors are numbers of 32 bits, whatever stands above them.
            let folder = named.folder.map(|index| arguments[index] as i32);
            let path = resolve::text(notice.thread, arguments[named.path]).ok()?;
            self.roots.named(notice.thread, folder, &path, last)
        };
        let mut add = |found: Option<resolve::Found>, touch: Touch| {
            into.extend(found.map(|found| (found, touch)));
        };
        match calls::does(notice.number) {
            None => {}
            Some(Does::Opens(named, flags)) => {
                let flags = arguments[flags] as i32;
                let exclusive = libc::O_CREAT | libc::O_EXCL;
                let itself = flags & libc::O_NOFOLLOW != 0 || flags & exclusive == exclusive;
                let last = if itself { Last::Itself } else { Last::Followed };
                add(find(named, last), Touch::Here);
            }
            Some(Does::Creates(named) | Does::Writes(named)) => {
                add(find(named, Last::Followed), Touch::Here);
            }
            Some(Does::Names(named)) => add(find(named, Last::Itself), Touch::Here),
            Some(Does::Removes(named)) => add(find(named, Last::Itself), Touch::Vacated),
            Some(Does::Marks(named)) => add(find(named, Last::Followed), Touch::Mode),
            Some(Does::MarksOpen(index)) => {
                let found = self.roots.open_file(notice.thread, arguments[index] as i32);
                add(found, Touch::Mode);
            }
            Some(Does::Renames(from, to, flags)) => {
                let (from, to) = (find(from, Last::Itself), find(to, Last::Itself));
                let swaps = flags
                    .is_some_and(|index| arguments[index] & u64::from(libc::RENAME_EXCHANGE) != 0);
                // What leaves the workspace is as good as removed.
                let stays = if to.is_some() {
                    Touch::Moved
                } else {
                    Touch::Tree
                };
                let comes = match (swaps, from.is_some()) {
                    (false, _) => Touch::Vacated,
                    (true, true) => Touch::Moved,
                    (true, false) => Touch::Tree,
                };
                add(from, stays);
                add(to, comes);
            }
            Some(Does::Links(from, to)) => {
                add(find(from, Last::Itself), Touch::Here);
                add(find(to, Last::Itself), Touch::Here);
            }
        }
    }
}

fn stream() -> rustix::io::Result<OwnedFd> {
    socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
}

/// Wait for a guest at the door; false when the command has ended without one.
fn ready(door: &OwnedFd, running: &OwnedFd) -> io::Result<bool> {
    loop {
        let mut waiting = [
            PollFd::new(door, PollFlags::IN),
            PollFd::new(running, PollFlags::IN),
        ];
        match poll(&mut waiting, None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        if !waiting[0].revents().is_empty() {
            return Ok(true);
        }
        if !waiting[1].revents().is_empty() {
            return Ok(false);
        }
    }
}

/// Wait for the end of a process.
fn gone(running: &OwnedFd) -> io::Result<()> {
    loop {
        match poll(&mut [PollFd::new(running, PollFlags::IN)], None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => return other.map(drop).map_err(io::Error::from),
        }
    }
}

fn take(guest: &OwnedFd) -> io::Result<OwnedFd> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut data = [IoSliceMut::new(&mut byte)];
    recvmsg(guest, &mut data, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut handles) = message
            && let Some(handle) = handles.next()
        {
            return Ok(handle);
        }
    }
    Err(io::Error::other(
        "this kernel does not offer it, or it is watched already",
    ))
}

/// The way from a command that is to be watched to its watcher.
#[derive(Debug)]
pub(crate) struct Guest(OwnedFd);

impl Guest {
    /// Find the watcher of this name. Done while it can be reached.
    pub(crate) fn of(name: &str) -> io::Result<Self> {
        let guest = stream()?;
        connect(&guest, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
        Ok(Guest(guest))
    }

    /// From here on every change of this process and of all it starts is told. Where that is not
    /// to be had the watcher hears so, and the command runs all the same.
    pub(crate) fn submit(self) {
        let Ok(handle) = sys::install(&calls::filter()) else {
            return;
        };
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let handles = [handle.as_fd()];
        ancillary.push(SendAncillaryMessage::ScmRights(&handles));
        // A watcher that is gone has taken the command's life with it.
        let _ = sendmsg(
            &self.0,
            &[IoSlice::new(b"w")],
            &mut ancillary,
            SendFlags::empty(),
        );
    }
}

/// The wrapper around a command that runs in no sandbox: give the watcher its handle, then become
/// the command. The binary calls it for its hidden subcommand, with the arguments after that one.
pub fn watched_main(mut arguments: impl Iterator<Item = OsString>) -> io::Error {
    let name = arguments.next().unwrap_or_default();
    if let Some(guest) = name.to_str().and_then(|name| Guest::of(name).ok()) {
        // Only who may not become more may be watched, unless it is root.
        if !rustix::process::geteuid().is_root() {
            let _ = rustix::thread::set_no_new_privs(true);
        }
        guest.submit();
    }
    match arguments.next() {
        Some(program) => Command::new(program).args(arguments).exec(),
        None => io::ErrorKind::InvalidInput.into(),
    }
}
