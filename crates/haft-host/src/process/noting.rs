//! Keeps what a command changes, while it runs: a thread of its own listens to the kernel.

use std::ffi::OsStr;
use std::path::Path;
use std::thread;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::sync::oneshot;

use super::Inner;
use super::started::Pending;
use crate::Level;
use crate::undo::{Lost, Mark};
use crate::watch::{Seen, Watcher};

/// A command whose changes are noted, if they are.
pub(super) enum Noting {
    /// Nobody wants them
    Off,
    Ready(Box<Watcher>),
    Running(oneshot::Receiver<Seen>),
    /// They cannot be, for this reason
    Failed(String),
}

/// Programs that run others with more rights than their caller has. The kernel lets nobody watch
/// such a program who has no more rights himself, so what they change is not known.
const GAINING: [&str; 3] = ["sudo", "doas", "pkexec"];

/// The same, but a word that stands in many lines: only as a command.
const BECOMING: &str = "su";

/// The program by which a command would gain rights, if it may be going to.
fn gains_rights(argv: &[&OsStr]) -> Option<&'static str> {
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    for (number, text) in argv.iter().filter_map(|word| word.to_str()).enumerate() {
        let between = |sign: char| sign.is_whitespace() || ";&|(){}`'\"$".contains(sign);
        for word in text.split(between) {
            if let Some(found) = GAINING.into_iter().find(|one| *one == name(word)) {
                return Some(found);
            }
        }
        // The words of an argument list are commands only where they come first.
        let commands = text.split([';', '&', '|', '(', ')', '`', '\'', '"', '\n']);
        let mut firsts = commands.filter_map(|command| command.split_whitespace().next());
        let is_line = number == 0 || argv.get(1).is_some_and(|word| *word == "-c");
        if is_line && firsts.any(|first| name(first) == BECOMING) {
            return Some(BECOMING);
        }
    }
    None
}

impl Noting {
    pub(super) fn begin(inner: &Inner, mark: Option<Mark>, argv: &[&OsStr]) -> Self {
        let Some(mark) = mark.filter(|_| inner.config.watched.is_some()) else {
            return Noting::Off;
        };
        // In a sandbox nobody becomes more either way, and root is all there is.
        let level = inner.config.sandbox.as_ref().map(|sandbox| sandbox.level());
        if !level.is_some_and(Level::is_enforced)
            && !rustix::process::geteuid().is_root()
            && let Some(program) = gains_rights(argv)
        {
            return Noting::Failed(format!(
                "it runs `{program}`, which cannot give rights to a command that is watched"
            ));
        }
        let workspace = &inner.workspace;
        let recorder = match workspace.recorder(mark) {
            Ok(Some(recorder)) => recorder,
            Ok(None) => return Noting::Off,
            Err(error) => return Noting::Failed(error.into_body().message),
        };
        let roots = match workspace.open_roots() {
            Ok(roots) => roots,
            Err(error) => return Noting::Failed(error.into_body().message),
        };
        match Watcher::new(recorder, roots, workspace.home().to_owned()) {
            Ok(watcher) => Noting::Ready(Box::new(watcher)),
            Err(error) => Noting::Failed(format!("it could not be watched: {error}")),
        }
    }

    /// The name that the command is told.
    pub(super) fn watcher(&self) -> Option<&str> {
        match self {
            Noting::Ready(watcher) => Some(watcher.name()),
            _ => None,
        }
    }

    /// The command has started.
    pub(super) fn follow(&mut self, leader: Pid) {
        let watcher = match std::mem::replace(self, Noting::Off) {
            Noting::Ready(watcher) => watcher,
            other => {
                *self = other;
                return;
            }
        };
        // Here, where nobody has let go of it yet: it may end before the thread begins.
        let running = match pidfd_open(leader, PidfdFlags::empty()) {
            Ok(running) => running,
            Err(error) => {
                *self = Noting::Failed(format!("it could not be watched: {error}"));
                return;
            }
        };
        let (tell, told) = oneshot::channel();
        let pending = Pending::new();
        let thread = thread::Builder::new()
            .name("haft-noting".into())
            .spawn(move || {
                // Nobody may listen any more: it is on the disk all the same.
                let _ = tell.send(watcher.follow(leader, &running));
                drop(pending);
            });
        *self = match thread {
            Ok(_) => Noting::Running(told),
            Err(error) => Noting::Failed(format!("it could not be watched: {error}")),
        };
    }

    /// The command has ended: what it changed that cannot be put back.
    pub(super) async fn end(self, workspace: &Path) -> Vec<Lost> {
        let (mut lost, trouble) = match self {
            Noting::Off => return Vec::new(),
            Noting::Ready(_) => (Vec::new(), Some("it was never watched".to_owned())),
            Noting::Failed(why) => (Vec::new(), Some(why)),
            Noting::Running(told) => match told.await {
                Ok(seen) => (seen.lost, seen.trouble),
                Err(_) => (Vec::new(), Some("whoever watched it is gone".to_owned())),
            },
        };
        lost.extend(trouble.map(|why| {
            let why = format!("not all changes of the command are known: {why}");
            Lost::for_good(workspace.to_owned(), why)
        }));
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_would_gain_rights() {
        let line = |line: &str| gains_rights(&["/bin/sh".as_ref(), "-c".as_ref(), line.as_ref()]);
        for (text, expected) in [
            ("sudo apt update", Some("sudo")),
            ("cd x && /usr/bin/sudo -n true", Some("sudo")),
            ("bash -c 'sudo true'", Some("sudo")),
            ("echo $(doas id)", Some("doas")),
            ("true; su -c id", Some("su")),
            ("(su)", Some("su")),
            ("grep su file", None),
            ("cat sudoers pseudo", None),
            ("ls", None),
        ] {
            assert_eq!(line(text), expected, "{text}");
        }
        assert_eq!(
            gains_rights(&["pkexec".as_ref(), "id".as_ref()]),
            Some("pkexec")
        );
        assert_eq!(gains_rights(&["su".as_ref()]), Some("su"));
        assert_eq!(gains_rights(&["grep".as_ref(), "su".as_ref()]), None);
    }
}
