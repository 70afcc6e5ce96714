//! One worker, seen from the process that started it: started, asked, and ended with its owner.

use std::fmt;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use haft_core::{CancelToken, ErrorBody, ToolError};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde::de::DeserializeOwned;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Instant, sleep_until, timeout};

use super::WorkersConfig;
use super::job::{Job, Setup};
use super::wire::{self, Frames, frame};
use crate::filter_env;
use crate::process::{Group, Guardian, Kind, Started, start_connected};

/// How long a worker may take to be ready.
const START: Duration = Duration::from_secs(10);
/// How long a worker may take to give up a job; longer than a command takes to be killed.
const GIVE_UP: Duration = Duration::from_secs(5);
/// How much of its last words is read.
const LAST_WORDS: u64 = 4096;

/// A worker that has nothing to do. Dropped, it is ended with all it started.
#[derive(Debug)]
pub(super) struct Hand {
    to: Sender,
    from: Frames<Receiver>,
    /// Only read when it is dead
    errors: OwnedFd,
    started: Started,
    /// Readable once it is dead
    exit: OwnedFd,
}

/// Why a worker is of no more use.
#[derive(Debug)]
pub(super) enum Broken {
    /// It is dead, and this is what is known about it
    Dead(String),
    /// It did not give up a job that was cancelled
    Deaf,
    /// It lives, and says what nobody understands
    Confused(String),
}

impl Broken {
    pub(super) fn lacked_memory(&self) -> bool {
        const SIGNS: [&str; 2] = ["memory allocation", "spawn worker thread"];
        matches!(self, Broken::Dead(words) if SIGNS.iter().any(|sign| words.contains(sign)))
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Dead(words) => f.write_str(words),
            Broken::Deaf => f.write_str("it did not give up its job"),
            Broken::Confused(what) => write!(f, "it gave a wrong answer: {what}"),
        }
    }
}

/// Start a worker; what is left is to wait until it is ready. It gets the environment of a
/// command: whatever a job could make it tell, there is no secret in it.
pub(super) fn start<'a>(
    config: &WorkersConfig,
    setup: &'a Setup,
    guardian: Option<Arc<Guardian>>,
) -> Result<impl Future<Output = Result<Hand, String>> + use<'a>, String> {
    let hand = spawn(config, setup, guardian).map_err(|error| error.to_string())?;
    Ok(ready(hand, setup))
}

fn spawn(
    config: &WorkersConfig,
    setup: &Setup,
    guardian: Option<Arc<Guardian>>,
) -> io::Result<Hand> {
    let (program, arguments) = config
        .program
        .split_first()
        .ok_or_else(|| io::Error::other("the path of haft itself is not known"))?;
    let (its_input, to) = io::pipe()?;
    let (from, its_output) = io::pipe()?;
    let (errors, its_errors) = io::pipe()?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(filter_env(std::env::vars_os(), &setup.env))
        .envs(config.variables.iter().cloned())
        .stdin(its_input)
        .stdout(its_output)
        .stderr(its_errors);
    let (started, exit) = start_connected(
        command,
        Path::new("/"),
        Group::Given,
        Kind::Worker,
        guardian,
    )?;
    Ok(Hand {
        to: Sender::from_owned_fd(to.into())?,
        from: Frames::new(Receiver::from_owned_fd(from.into())?),
        errors: errors.into(),
        started,
        exit,
    })
}

async fn ready(mut hand: Hand, setup: &Setup) -> Result<Hand, String> {
    let greeting = async {
        hand.send(wire::SETUP, setup).await?;
        match hand.receive().await? {
            (wire::READY, content) => Ok(serde_json::from_slice::<Result<(), ErrorBody>>(&content)),
            (other, _) => Err(unexpected(other)),
        }
    };
    match timeout(START, greeting).await {
        Ok(Ok(Ok(Ok(())))) => Ok(hand),
        Ok(Ok(Ok(Err(failure)))) => Err(failure.message),
        Ok(Ok(Err(error))) => Err(error.to_string()),
        Ok(Err(broken)) => Err(broken.to_string()),
        Err(_) => Err(format!("it was not ready after {} s", START.as_secs())),
    }
}

impl Hand {
    pub(super) fn lives(&self) -> bool {
        self.started.lives()
    }

    /// Have a job done. A cancel is passed on; the answer is then the job's own.
    pub(super) async fn ask<A: DeserializeOwned>(
        &mut self,
        job: &Job,
        cancel: &CancelToken,
        live: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Result<A, ToolError>, Broken> {
        self.send(wire::JOB, job).await?;
        let mut deadline = None;
        loop {
            let received = tokio::select! {
                received = self.receive() => received?,
                () = cancel.cancelled(), if deadline.is_none() => {
                    deadline = Some(Instant::now() + GIVE_UP);
                    self.send(wire::CANCEL, &()).await?;
                    continue;
                }
                () = passed(deadline) => return Err(Broken::Deaf),
            };
            match received {
                (wire::LIVE, content) => live(&understood::<String>(&content)?),
                (wire::DONE, content) => {
                    let done = understood::<Result<A, ErrorBody>>(&content)?;
                    return Ok(done.map_err(ToolError::from));
                }
                (other, _) => return Err(unexpected(other)),
            }
        }
    }

    async fn send(&mut self, kind: u8, content: &impl serde::Serialize) -> Result<(), Broken> {
        let frame = frame(kind, content).map_err(|error| Broken::Confused(error.to_string()))?;
        match self.to.write_all(&frame).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.died().await),
        }
    }

    async fn receive(&mut self) -> Result<(u8, Vec<u8>), Broken> {
        match self.from.next().await {
            Ok(Some(frame)) => Ok(frame),
            Ok(None) => Err(self.died().await),
            Err(error) => Err(Broken::Confused(error.to_string())),
        }
    }

    /// It has closed its end: wait for its status and its last words.
    async fn died(&mut self) -> Broken {
        let status = match timeout(GIVE_UP, self.started.ended(&self.exit)).await {
            Ok(status) => status,
            Err(_) => "it closed its line".to_owned(),
        };
        match last_words(&self.errors) {
            Some(words) => Broken::Dead(format!("{status}: {words}")),
            None => Broken::Dead(status),
        }
    }
}

/// What was written to standard error, in one line.
fn last_words(errors: &OwnedFd) -> Option<String> {
    fcntl_setfl(errors, fcntl_getfl(errors).ok()? | OFlags::NONBLOCK).ok()?;
    let mut words = Vec::new();
    // The end, an empty pipe held open by somebody else, or enough of it: all the same to us.
    let _ = std::fs::File::from(errors.try_clone().ok()?)
        .take(LAST_WORDS)
        .read_to_end(&mut words);
    let words = String::from_utf8_lossy(&words).into_owned();
    // What comes after them is where in the program it happened.
    let told = |line: &&str| !line.starts_with("note: ") && !line.starts_with("stack backtrace");
    let words: Vec<&str> = words.lines().take_while(told).collect();
    let words = words.join(" ").trim().to_owned();
    (!words.is_empty()).then_some(words)
}

fn understood<T: DeserializeOwned>(content: &[u8]) -> Result<T, Broken> {
    serde_json::from_slice(content).map_err(|error| Broken::Confused(error.to_string()))
}

fn unexpected(kind: u8) -> Broken {
    Broken::Confused(format!("a message of kind {kind}"))
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
