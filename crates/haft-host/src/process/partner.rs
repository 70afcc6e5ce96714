//! A program that we talk with for as long as it runs: what it says on its standard output is for
//! us, what it says on its standard error for whoever looks into its faults.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_core::ToolError;

use tokio::net::unix::pipe;
use tokio::sync::watch;

use super::RunProcesses;
use super::family::Kind;
use super::prepare::plain;
use super::run::wait_for;
use super::started::{Started, start_connected};
use crate::sandbox::Input;
use crate::{Reader, Writer, filter_env};

/// Bytes of its standard error that are kept, the last ones.
const COMPLAINTS: usize = 64 * 1024;
/// How long it may take to end after its input has.
const FAREWELL: Duration = Duration::from_secs(2);

/// What to run. The program sees the few variables that every program needs, and these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartnerProgram {
    pub command: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    /// The workspace, if not given
    pub cwd: Option<PathBuf>,
}

/// A running program. Dropping it ends it with all it started.
pub struct Partner {
    started: Started,
    exit: OwnedFd,
    complaints: Complaints,
}

/// The end of what a program said on its standard error.
#[derive(Debug, Clone, Default)]
pub struct Complaints(Arc<Heard>);

#[derive(Debug, Default)]
struct Heard {
    bytes: Mutex<Vec<u8>>,
    /// There is nothing more to hear
    over: watch::Sender<bool>,
}

impl Complaints {
    pub fn text(&self) -> String {
        let bytes = self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Wait until the program has nothing more to say, but no longer than this: what it started may
    /// go on.
    pub async fn whole(&self, patience: Duration) {
        let mut over = self.0.over.subscribe();
        let _ = tokio::time::timeout(patience, over.wait_for(|over| *over)).await;
    }

    fn push(&self, more: &[u8]) {
        let mut bytes = self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(more);
        let excess = bytes.len().saturating_sub(COMPLAINTS);
        if excess > 0 {
            bytes.drain(..excess);
            // What is left of a line that was cut could be the end of a secret, which nobody would
            // know again.
            let whole = bytes.iter().position(|&byte| byte == b'\n');
            bytes.drain(..whole.map_or(0, |end| end + 1));
        }
    }
}

impl RunProcesses {
    /// Start a program to talk with. To be called inside a runtime.
    pub fn partner(
        &self,
        program: &PartnerProgram,
    ) -> Result<(Partner, Reader, Writer), ToolError> {
        let failed = |error: io::Error| {
            ToolError::failed(format!("cannot start `{}`: {error}", program.command))
                .hint("is it installed, and on the PATH?")
        };
        let arguments: Vec<OsString> = [&program.command]
            .into_iter()
            .chain(&program.args)
            .map(OsString::from)
            .collect();
        let argv: Vec<_> = arguments.iter().map(OsString::as_os_str).collect();
        let (mut command, group) = plain(&self.inner.config, &argv, Input::Plain)?;
        command
            .env_clear()
            .envs(filter_env(std::env::vars_os(), &self.inner.config.env))
            .envs(program.env.iter().cloned());
        let directory = match &program.cwd {
            Some(cwd) => cwd.clone(),
            None => self.inner.workspace.path().to_owned(),
        };
        let (partner, reader, writer) = self.connect(command, directory, group).map_err(failed)?;
        Ok((partner, reader, writer))
    }

    fn connect(
        &self,
        mut command: Command,
        directory: PathBuf,
        group: super::prepare::Group,
    ) -> io::Result<(Partner, Reader, Writer)> {
        let (their_input, our_output) = io::pipe()?;
        let (our_input, their_output) = io::pipe()?;
        let (errors, their_errors) = io::pipe()?;
        command
            .stdin(their_input)
            .stdout(their_output)
            .stderr(their_errors);
        let guardian = self.inner.guardian.clone();
        let (started, exit) = start_connected(command, &directory, group, Kind::Command, guardian)?;
        let complaints = Complaints::default();
        let errors = pipe::Receiver::from_owned_fd(errors.into())?;
        // Ends with the pipe, which ends with the program.
        tokio::spawn(listen_to(errors, complaints.clone()));
        let partner = Partner {
            started,
            exit,
            complaints,
        };
        let reader = pipe::Receiver::from_owned_fd(our_input.into())?;
        let writer = pipe::Sender::from_owned_fd(our_output.into())?;
        Ok((partner, Box::new(reader), Box::new(writer)))
    }
}

async fn listen_to(errors: pipe::Receiver, complaints: Complaints) {
    let mut buffer = [0; 4096];
    while errors.readable().await.is_ok() {
        match errors.try_read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => complaints.push(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    complaints.0.over.send_replace(true);
}

impl Partner {
    pub fn complaints(&self) -> Complaints {
        self.complaints.clone()
    }

    pub fn pid(&self) -> i32 {
        self.started.family.leader.as_raw_pid()
    }

    /// Its input has ended: give it a moment to go by itself, then end it.
    pub async fn farewell(self) {
        if let Ok(exit) = wait_for(self.exit) {
            let _ = tokio::time::timeout(FAREWELL, exit.readable()).await;
        }
        drop(self.started);
    }
}
