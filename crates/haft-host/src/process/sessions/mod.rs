//! Commands that outlive the call which started them. They belong to this process: when it ends,
//! they are ended, and the guardian sees to it where this process cannot. Each is followed by one
//! task; its output goes to a [`ring::Ring`] on disk, so that many at once cost little memory.

mod ring;
mod session;

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use haft_core::{CancelToken, ToolError};
use tokio::net::unix::pipe::Sender;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::AbortHandle;

pub use ring::Log;
pub use session::{Session, SessionEnd};

use super::kept::Kept;
use super::noting::Noting;
use super::prepare::{self, Entered};
use super::record::Keep;
use super::run::{self, Watch, Wishes};
use super::started::{self, Beginning};
use super::terminal::{Streams, Terminal, TerminalSize};
use super::{LONGEST_TIMEOUT, RunProcesses, ShellRequest, alone, no_terminal, start_error};
use crate::ClosedPlaces;
use crate::sandbox::{Entering, Input};
use crate::undo::Mark;
use ring::Ring;
use session::{Inner, lock};

/// Sessions that may run at once.
const MOST_RUNNING: usize = 256;
/// Sessions that are remembered after their end; the oldest go first.
const MOST_ENDED: usize = 256;
/// Characters of a session's output held in memory before all of it goes to a result.
const HELD: usize = 16_000;
/// How long the end of haft waits for that of its sessions.
const LONGEST_END: Duration = Duration::from_secs(3);

/// What a session runs.
#[derive(Debug, Clone)]
pub enum Program {
    /// A line for the shell
    Line(String),
    /// A program and its arguments, no shell between
    Argv(Vec<String>),
}

/// A command that is to outlive its call.
#[derive(Debug, Clone)]
pub struct SessionRequest {
    /// A name that nobody else has
    pub id: String,
    pub program: Program,
    /// Absolute, and there
    pub cwd: PathBuf,
    /// Zero for as long as anything may run; what is asked for is bound by the configuration
    pub timeout: Duration,
    /// Its input can be written to; else it reads the end at once
    pub input: bool,
    /// Run it at a terminal of its own
    pub terminal: Option<TerminalSize>,
    /// The call that starts it; nobody but the caller's session finds this one
    pub mark: Mark,
    /// What rules close to it
    pub closed: ClosedPlaces,
}

/// Which session is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// Its id, or that of the call that started it
    Id(&'a str),
    Pid(i32),
}

/// Every session of this process, oldest first.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    all: Mutex<Vec<(Session, Option<AbortHandle>)>>,
}

impl Sessions {
    fn find(&self, owner: &str, matches: impl Fn(&Session) -> bool) -> Option<Session> {
        let all = lock(&self.all);
        let mut mine = all
            .iter()
            .rev()
            .map(|(session, _)| session)
            .filter(|one| one.inner.owner == owner && one.is_backgrounded() && matches(one));
        mine.next().cloned()
    }

    /// Take one in, if there is room.
    fn admit(&self, session: &Session) -> Result<(), ToolError> {
        let mut all = lock(&self.all);
        let running = all.iter().filter(|(one, _)| one.end().is_none()).count();
        if running >= MOST_RUNNING {
            return Err(ToolError::not_available(format!(
                "too many background sessions: {running}"
            ))
            .hint("end some with `process.kill`"));
        }
        let mut spare = (all.len() - running).saturating_sub(MOST_ENDED);
        all.retain(|(one, _)| {
            let goes = spare > 0 && one.end().is_some();
            spare -= usize::from(goes);
            !goes
        });
        all.push((session.clone(), None));
        Ok(())
    }

    fn followed_by(&self, id: &str, task: AbortHandle) {
        let mut all = lock(&self.all);
        if let Some((_, place)) = all.iter_mut().find(|(one, _)| one.inner.id == id) {
            *place = Some(task);
        }
    }

    fn remove(&self, id: &str) {
        lock(&self.all).retain(|(one, _)| one.inner.id != id);
    }
}

impl Drop for Sessions {
    /// A task that goes takes its command along.
    fn drop(&mut self) {
        for (_, task) in lock(&self.all).drain(..) {
            if let Some(task) = task {
                task.abort();
            }
        }
    }
}

impl RunProcesses {
    /// Why no command can outlive its call here, if so.
    pub fn no_background(&self) -> Option<ToolError> {
        (!self.inner.config.background).then(|| {
            ToolError::not_available(
                "background sessions end with the haft process that started them",
            )
            .hint(
                "run it in the foreground with a larger `timeout`, or start it within `haft batch`",
            )
        })
    }

    /// Start a command that goes on after the call. Nobody finds it before
    /// [`Session::to_background`].
    pub async fn begin(&self, request: SessionRequest) -> Result<Session, ToolError> {
        if let Some(error) = self.no_background() {
            return Err(error);
        }
        let command = request.program.shown();
        let (beginning, entered, input) = self.start_session(&request).await?;
        let broken =
            |error: io::Error| ToolError::failed("the session cannot be kept").caused_by(error);
        let (wishes, wanted) = unbounded_channel();
        let session = Session {
            inner: Arc::new(Inner {
                pid: beginning.started.family.leader.as_raw_pid(),
                level: entered.level(),
                started_at_ms: run::now_ms(),
                ring: Mutex::new(Ring::new(&self.ring_folder()).map_err(broken)?),
                input: tokio::sync::Mutex::new(input),
                terminal: request.terminal.is_some(),
                wishes,
                end: tokio::sync::watch::Sender::new(None),
                stop: CancelToken::new(),
                backgrounded: Mutex::new(false),
                live: Mutex::new(None),
                id: request.id,
                owner: request.mark.session,
                call: request.mark.call,
                command,
                workdir: request.cwd,
            }),
        };
        self.inner.sessions.admit(&session)?;
        let timeout = match request.timeout {
            Duration::ZERO => LONGEST_TIMEOUT,
            asked => self.inner.config.clamp_timeout(asked),
        };
        let follower = Follower {
            session: session.clone(),
            timeout,
            keep: self.session_keep(&session.inner.owner),
            sessions: Arc::downgrade(&self.inner.sessions),
            retention: self.inner.config.retention,
        };
        let task = tokio::spawn(follower.follow(beginning, entered, Some(wanted)));
        self.inner
            .sessions
            .followed_by(session.id(), task.abort_handle());
        Ok(session)
    }

    /// The caller's sessions, newest first.
    pub fn sessions(&self, owner: &str) -> Vec<Session> {
        let all = lock(&self.inner.sessions.all);
        all.iter()
            .rev()
            .map(|(session, _)| session)
            .filter(|one| one.inner.owner == owner && one.is_backgrounded())
            .cloned()
            .collect()
    }

    /// One of the caller's sessions. Of several that had the same pid, the last is meant.
    pub fn session(&self, owner: &str, wanted: Wanted<'_>) -> Result<Session, ToolError> {
        let (found, message) = match wanted {
            Wanted::Id(id) => (
                self.inner
                    .sessions
                    .find(owner, |one| one.inner.id == id || one.inner.call == id),
                format!("no such session: `{id}`"),
            ),
            Wanted::Pid(pid) => (
                self.inner.sessions.find(owner, |one| one.inner.pid == pid),
                format!("no session has this process: {pid}"),
            ),
        };
        found.ok_or_else(|| {
            let error = ToolError::failed(message);
            match self.no_background() {
                Some(none) => error.hint(none.into_body().message),
                None => error.hint(
                    "`process.list` names the sessions; they are kept 30 minutes after their end",
                ),
            }
        })
    }

    /// Drop a session that ended before it went to the background.
    pub fn forget(&self, session: &Session) {
        self.inner.sessions.remove(session.id());
    }

    /// End every session and wait for that. The program calls it before it ends.
    pub async fn end_sessions(&self) {
        let all: Vec<Session> = lock(&self.inner.sessions.all)
            .iter()
            .map(|(session, _)| session.clone())
            .collect();
        for session in &all {
            session.stop();
        }
        let ended = async {
            for session in &all {
                session.ended(None).await;
            }
        };
        // What does not end in time is left to the guardian.
        let _ = tokio::time::timeout(LONGEST_END, ended).await;
    }

    async fn start_session(
        &self,
        request: &SessionRequest,
    ) -> Result<(Beginning, Entered, Option<Sender>), ToolError> {
        let inner = &self.inner;
        let argv: Vec<&OsStr> = match &request.program {
            Program::Line(line) => vec![inner.shell.as_os_str(), "-c".as_ref(), line.as_ref()],
            Program::Argv(argv) => argv.iter().map(AsRef::as_ref).collect(),
        };
        let workspace = inner.workspace.path();
        let environment = self.environment().await;
        let (streams, how, input) = streams(request)?;
        // What it changes is kept until its end, which is not waited for here.
        let mut noting = Noting::begin(inner, Some(request.mark.clone()), &argv);
        let prepared = prepare::prepare(
            &inner.config,
            &Entering {
                workspace,
                cwd: &request.cwd,
                argv: &argv,
                input: how,
                closed: &request.closed,
            },
            environment,
            noting.watcher(),
        )?;
        let guardian = inner.guardian.clone();
        let mut beginning = started::start(
            prepared.command,
            &request.cwd,
            prepared.group,
            streams,
            guardian,
        )
        .map_err(|error| self.session_error(error, request))?;
        beginning.started.leavings = prepared.leavings;
        noting.follow(beginning.started.family.leader);
        Ok((beginning, prepared.entered, input))
    }

    fn session_error(&self, error: io::Error, request: &SessionRequest) -> ToolError {
        let told = |line: &str| ShellRequest {
            line: line.to_owned(),
            cwd: request.cwd.clone(),
            timeout: request.timeout,
            terminal: None,
            closed: ClosedPlaces::default(),
        };
        match &request.program {
            Program::Line(line) => start_error(error, &told(line), &self.inner.shell),
            Program::Argv(argv)
                if error.kind() == io::ErrorKind::NotFound && request.cwd.is_dir() =>
            {
                let program = argv.first().map(String::as_str).unwrap_or_default();
                ToolError::failed(format!("no such program: `{program}`"))
                    .hint("with `args` no shell is used: give one program, without arguments, in `command`")
                    .caused_by(error)
            }
            Program::Argv(argv) if error.kind() == io::ErrorKind::PermissionDenied => {
                let program = argv.first().map(String::as_str).unwrap_or_default();
                ToolError::failed(format!("the program may not be run: `{program}`"))
                    .caused_by(error)
            }
            Program::Argv(argv) => start_error(error, &told(&argv.join(" ")), &self.inner.shell),
        }
    }

    /// Beside the results, so that disk quotas and full disks are met in one place.
    fn ring_folder(&self) -> PathBuf {
        match &self.inner.results {
            Some(results) => results.folder_for_rings(),
            None => std::env::temp_dir(),
        }
    }

    fn session_keep(&self, owner: &str) -> Keep<'static> {
        let owner = owner.to_owned();
        let open = self.inner.results.clone().map(|results| {
            let open = move || {
                let writer = results.create(&owner)?;
                let handle = writer.handle().to_owned();
                Ok((handle, Kept::Here(Box::new(writer))))
            };
            Box::new(open) as _
        });
        Keep {
            open,
            max_bytes: self.inner.config.max_output,
            held: HELD,
        }
    }
}

/// What a session reads and writes, and where it can be written to.
fn streams(request: &SessionRequest) -> Result<(Streams, Input, Option<Sender>), ToolError> {
    let broken = |error: io::Error| ToolError::failed("the session has no input").caused_by(error);
    match (request.terminal, request.input) {
        (terminal, false) => {
            let (streams, how) = alone(terminal)?;
            Ok((streams, how, None))
        }
        (Some(size), true) => {
            let terminal = Terminal::open(size).map_err(no_terminal)?;
            let keyboard = terminal.keyboard().map_err(broken)?;
            let streams = Streams::Terminal(terminal);
            Ok((streams, Input::Terminal, Some(keyboard)))
        }
        (None, true) => {
            let (reader, writer) = io::pipe().map_err(broken)?;
            let sender = Sender::from_owned_fd(writer.into()).map_err(broken)?;
            Ok((Streams::Piped(reader.into()), Input::Plain, Some(sender)))
        }
    }
}

impl Program {
    /// As one line, for people.
    fn shown(&self) -> String {
        match self {
            Program::Line(line) => line.clone(),
            Program::Argv(argv) => argv.join(" "),
        }
    }
}

/// Stays with a session to its end, and until it is forgotten.
struct Follower {
    session: Session,
    timeout: Duration,
    keep: Keep<'static>,
    sessions: Weak<Sessions>,
    retention: Duration,
}

impl Follower {
    async fn follow(self, beginning: Beginning, entered: Entered, wishes: Wishes) {
        let session = self.session;
        let stop = session.inner.stop.clone();
        let watch = Watch {
            live: &mut |text| session.hear(text),
            cancel: &stop,
            session: &session.inner.owner,
        };
        let finished = run::follow(beginning, self.timeout, watch, self.keep, wishes)
            .await
            .and_then(|finished| entered.confirm(finished));
        let end = SessionEnd::of(finished, session.inner.started_at_ms, run::now_ms());
        if let Some(refused) = &end.refused {
            session.hear(&format!("[{}]\n", refused.message));
        }
        session.inner.end.send_replace(Some(Arc::new(end)));
        // Whoever writes now finds the end; the pipe need not stay.
        session.close_input().await;
        let id = session.inner.id.clone();
        drop(session);
        tokio::time::sleep(self.retention).await;
        if let Some(sessions) = self.sessions.upgrade() {
            sessions.remove(&id);
        }
    }
}
