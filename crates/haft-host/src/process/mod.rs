//! Commands on this machine. A command is one call: it gets a filtered environment, no input,
//! one pipe for all it writes and a time limit, and when the call is over nothing that it
//! started is left. One that is to outlive its call becomes a session (see [`sessions`]). Who
//! may run what is decided elsewhere.

mod children;
mod cloned;
mod closed;
mod config;
mod descriptors;
mod family;
mod guardian;
mod kept;
mod login;
mod memory;
mod noting;
mod output;
mod partner;
mod prepare;
mod procfs;
mod record;
mod rehearse;
mod run;
mod sessions;
mod signals;
mod spare;
mod started;
mod terminal;
mod text;

#[cfg(test)]
mod tests;

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use haft_core::{CancelToken, Capability, Power, ToolError};

pub use config::{LONGEST_TIMEOUT, ProcessConfig};
pub use guardian::guardian_main;
pub use login::LoginConfig;
pub use partner::{Complaints, Partner, PartnerProgram};
pub use prepare::session_main;
pub use record::{CUT_NOTE, OUTPUT_CHARS, TAIL_CHARS};
pub use run::{Finished, ShellRequest, Watch};
pub use sessions::{Log, Program, Session, SessionEnd, SessionRequest, Wanted};
pub use signals::signal_name;
pub use started::settle;
pub use terminal::TerminalSize;
pub use text::count_chars;

pub(crate) use family::Kind;
pub(crate) use guardian::Guardian;
pub(crate) use login::Variables;
pub(crate) use memory::{keep_to, room};
pub(crate) use prepare::Group;
pub(crate) use started::{Started, start_connected};

use crate::sandbox::{Entering, Input};
use crate::undo::Mark;
use crate::workers::{Job, RunJob, Setup, Workers};
use crate::{FileResults, Workspace, filter_env};
use kept::Kept;
use login::Login;
use noting::Noting;
use record::Keep;
use sessions::Sessions;
use terminal::{Streams, Terminal};

/// Names the calls that a process runs under, outermost first, with colons between.
pub const CALL_VARIABLE: &str = "HAFT_CALL";

/// The power to run commands.
#[derive(Debug, Clone)]
pub struct RunProcesses {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: ProcessConfig,
    shell: PathBuf,
    workspace: Arc<Workspace>,
    results: Option<Arc<FileResults>>,
    guardian: Option<Arc<Guardian>>,
    sessions: Arc<Sessions>,
    login: Login,
    /// Who runs the commands that end with their call, if not we ourselves
    workers: Option<Workers>,
}

impl Power for RunProcesses {
    const CAPABILITIES: &'static [Capability] = &[Capability::ShellExec];
}

impl RunProcesses {
    /// From here on this process's open files are closed to the programs it starts; from the first
    /// command on it is the reaper of whatever they leave behind. `workspace` says where commands may
    /// start, `results` keeps the output that is too long to be answered with.
    pub fn new(
        config: ProcessConfig,
        workspace: Arc<Workspace>,
        results: Option<Arc<FileResults>>,
    ) -> Self {
        // Also to those that are started by another way.
        descriptors::close_on_exec();
        let guardian = config
            .guardian
            .clone()
            .map(|argv| Arc::new(Guardian::new(argv)));
        let shell = config.shell();
        let workers = config.workers.clone().map(|wanted| {
            let setup = Setup::new(&config, &shell, &workspace, results.as_deref());
            Workers::new(wanted, setup, guardian.clone())
        });
        RunProcesses {
            inner: Arc::new(Inner {
                shell,
                workers,
                sessions: Arc::new(Sessions::default()),
                login: Login::default(),
                config,
                workspace,
                results,
                guardian,
            }),
        }
    }

    pub fn config(&self) -> &ProcessConfig {
        &self.inner.config
    }

    /// The workers that commands run in, if they do, for other powers to use.
    pub fn workers(&self) -> Option<&Workers> {
        self.inner.workers.as_ref()
    }

    /// The shell that runs command lines.
    pub fn shell(&self) -> &Path {
        &self.inner.shell
    }

    /// The directory in which a command is to run: inside the workspace or another open root,
    /// and there. A command may still go elsewhere; what binds it is policy and the sandbox.
    pub fn directory(&self, given: Option<&str>) -> Result<PathBuf, ToolError> {
        let Some(given) = given else {
            return Ok(self.inner.workspace.path().to_owned());
        };
        let path = self.inner.workspace.resolve(given)?.path().to_owned();
        if path.is_dir() {
            return Ok(path);
        }
        let trouble = if path.exists() {
            "not a directory"
        } else {
            "no such directory"
        };
        Err(
            ToolError::failed(format!("{trouble}: `{}`", path.display()))
                .hint("give a `cwd` that exists, or leave it out to run in the workspace"),
        )
    }

    /// What a permission to run a line is bound to besides the line: the shell itself and the
    /// environment it would see. As a digest, since values are nobody's business.
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &[u8]| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        };
        add(self.inner.shell.as_os_str().as_bytes());
        if let Ok(file) = std::fs::metadata(&self.inner.shell) {
            for number in [file.dev(), file.ino(), file.size()] {
                add(&number.to_le_bytes());
            }
            add(&file.mtime_nsec().to_le_bytes());
            add(&file.mtime().to_le_bytes());
        }
        let mut environment = filter_env(std::env::vars_os(), &self.inner.config.env);
        environment.sort();
        for (name, value) in &environment {
            add(name.as_bytes());
            add(value.as_bytes());
        }
        if self.inner.config.login.is_some() {
            // Not what the start-up files come to, which takes time, but which files they are.
            let policy = &self.inner.config.env;
            add(login::stamp(&self.inner.shell, &environment, policy).as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Run a line to its end, to the end of its time, or until it is cancelled. When this
    /// returns, everything that the line started has ended; when its future is dropped, it is
    /// being ended ([`settle`] waits for that).
    pub async fn run(
        &self,
        request: ShellRequest,
        watch: Watch<'_>,
    ) -> Result<Finished, ToolError> {
        self.run_noting(request, watch, None).await
    }

    /// The same, and what the line changes is kept as the changes of this call.
    pub async fn run_noting(
        &self,
        request: ShellRequest,
        watch: Watch<'_>,
        mark: Option<Mark>,
    ) -> Result<Finished, ToolError> {
        let environment = self.environment_unless(watch.cancel).await;
        let Some(workers) = &self.inner.workers else {
            return self.run_here(request, environment, watch, mark).await;
        };
        let job = Job::Run(RunJob {
            request,
            environment,
            session: watch.session.to_owned(),
            mark,
        });
        workers.ask(&job, watch.cancel, watch.live).await
    }

    /// The same in this process, with an environment that is known.
    pub(crate) async fn run_here(
        &self,
        request: ShellRequest,
        environment: Variables,
        mut watch: Watch<'_>,
        mark: Option<Mark>,
    ) -> Result<Finished, ToolError> {
        let cloned = self.run_clone(&request, &environment, &mut watch, mark.as_ref());
        if let Some(finished) = cloned.await? {
            return Ok(finished);
        }
        let config = &self.inner.config;
        let argv = [
            self.inner.shell.as_os_str(),
            "-c".as_ref(),
            request.line.as_ref(),
        ];
        let workspace = self.inner.workspace.path();
        let (streams, input) = alone(request.terminal)?;
        let mut noting = Noting::begin(&self.inner, mark, &argv);
        let prepared = prepare::prepare(
            config,
            &Entering {
                workspace,
                cwd: &request.cwd,
                argv: &argv,
                input,
                closed: &request.closed,
            },
            environment,
            noting.watcher(),
        )?;
        let (command, entered, group) = (prepared.command, prepared.entered, prepared.group);
        let guardian = self.inner.guardian.clone();
        let mut beginning = started::start(command, &request.cwd, group, streams, guardian)
            .map_err(|error| start_error(error, &request, &self.inner.shell))?;
        beginning.started.leavings = prepared.leavings;
        noting.follow(beginning.started.family.leader);
        let timeout = config.clamp_timeout(request.timeout);
        let keep = self.keep(watch.session);
        let mut finished = run::follow(beginning, timeout, watch, keep, None).await?;
        finished.lost = noting.end(workspace).await;
        entered.confirm(finished)
    }

    /// What a command starts with: the login environment, or this process's own.
    async fn environment(&self) -> Variables {
        match &self.inner.config.login {
            Some(login) => self.inner.login.environment(&self.inner, login).await,
            None => filter_env(std::env::vars_os(), &self.inner.config.env),
        }
    }

    /// The same, but a call that is being cancelled does not wait for start-up files.
    async fn environment_unless(&self, cancel: &CancelToken) -> Variables {
        tokio::select! {
            biased;
            () = cancel.cancelled() => filter_env(std::env::vars_os(), &self.inner.config.env),
            environment = self.environment() => environment,
        }
    }

    /// Why commands do without the environment of a login shell, if they should have it.
    pub async fn login_trouble(&self) -> Option<String> {
        self.environment().await;
        self.inner.login.trouble().await
    }

    fn keep<'a>(&'a self, session: &'a str) -> Keep<'a> {
        let open = self.inner.results.as_ref().map(|results| {
            let open = move || {
                let writer = results.create(session)?;
                let handle = writer.handle().to_owned();
                Ok((handle, Kept::Here(Box::new(writer))))
            };
            Box::new(open) as _
        });
        Keep {
            open,
            max_bytes: self.inner.config.max_output,
            held: OUTPUT_CHARS,
        }
    }
}

/// The streams of a command that nobody talks to: it reads the end of its input at once.
fn alone(terminal: Option<TerminalSize>) -> Result<(Streams, Input), ToolError> {
    let Some(size) = terminal else {
        return Ok((Streams::Piped(Stdio::null()), Input::Plain));
    };
    let opened = Terminal::open(size).and_then(|terminal| {
        terminal.close_input()?;
        Ok(terminal)
    });
    let terminal = opened.map_err(no_terminal)?;
    Ok((Streams::Terminal(terminal), Input::Terminal))
}

fn no_terminal(error: io::Error) -> ToolError {
    ToolError::not_available("this machine gives no terminal to a command").caused_by(error)
}

fn start_error(error: io::Error, request: &ShellRequest, shell: &Path) -> ToolError {
    let failure = match error.kind() {
        io::ErrorKind::ArgumentListTooLong => ToolError::input_invalid(format!(
            "the command is too long: {} bytes",
            request.line.len()
        ))
        .hint("write the script to a file and run that"),
        io::ErrorKind::InvalidInput => ToolError::input_invalid("the command holds a NUL byte"),
        io::ErrorKind::WouldBlock => ToolError::failed("the system takes no more processes")
            .hint("end other processes, or try again later"),
        _ if !request.cwd.is_dir() => {
            ToolError::failed(format!("no such directory: `{}`", request.cwd.display()))
                .hint("give a `cwd` that exists, or leave it out to run in the workspace")
        }
        _ => ToolError::failed(format!("cannot start the shell: `{}`", shell.display()))
            .hint(format!("{error}; name another shell in the configuration")),
    };
    failure.caused_by(error)
}
