//! The life of one command in the foreground: started, read, ended, reported.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use haft_core::{CancelToken, ToolError};
use rustix::process::{Signal, WaitIdStatus};
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, sleep_until};

use crate::place::path_bytes;
use crate::{ClosedPlaces, Level, Lost};

use super::family::{Ending, Step};
use super::output::Output;
use super::record::{Keep, Record, Recorded};
use super::signals::signal_name;
use super::started::{Beginning, Started};
use super::terminal::TerminalSize;

/// How long reading may go on before others are let in. Whoever hears the output may be slow, and
/// a flood of it would keep a deadline around the call from being noticed.
const BREATH: Duration = Duration::from_millis(10);

/// A line for the shell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ShellRequest {
    pub line: String,
    /// Absolute, and there
    #[serde(with = "path_bytes")]
    pub cwd: PathBuf,
    /// Zero for as long as the configuration allows
    pub timeout: Duration,
    /// Run it at a terminal of its own
    pub terminal: Option<TerminalSize>,
    /// What rules close to it
    pub closed: ClosedPlaces,
}

/// A command that has ended, with all it started.
#[derive(Debug, Serialize, Deserialize)]
pub struct Finished {
    /// None when a signal ended it
    pub exit_code: Option<i32>,
    /// The signal that ended it: `SIGTERM`
    pub signal: Option<String>,
    pub timed_out: bool,
    pub cancelled: bool,
    /// What it was really kept to
    pub level: Level,
    /// Milliseconds since 1970
    pub started_at_ms: u64,
    pub ended_at_ms: u64,
    pub duration: Duration,
    /// The time it was given
    pub timeout: Duration,
    /// The last [`super::OUTPUT_CHARS`] characters of output and errors, in the order written
    pub output: String,
    /// The last [`super::TAIL_CHARS`] of them
    pub tail: String,
    /// There was more than `output` holds
    pub truncated: bool,
    pub total_bytes: u64,
    pub total_chars: usize,
    /// Where the whole output can be read, when `output` is not all of it
    pub handle: Option<String>,
    /// Bytes of the beginning that it holds, if that is not all
    pub kept_bytes: Option<u64>,
    /// Why there is none, if there should be
    pub keep_error: Option<String>,
    /// What it changed that cannot be put back
    pub lost: Vec<Lost>,
}

/// Who looks on while a command runs, and what may stop it.
pub struct Watch<'a> {
    /// Told every piece of output as it comes
    pub live: &'a mut (dyn FnMut(&str) + Send),
    pub cancel: &'a CancelToken,
    /// Whose result the whole output becomes once it is too long to be held
    pub session: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Exited,
    TimedOut,
    Cancelled,
}

/// Signals that somebody wants sent. They are sent by whoever follows the command, since nobody
/// else knows that its number is still its own.
pub(super) type Wishes = Option<UnboundedReceiver<Signal>>;

/// A command being followed.
struct Following<'a> {
    started: Started,
    exit: AsyncFd<OwnedFd>,
    output: Output,
    record: Record<'a>,
    wishes: Wishes,
}

/// Follow a command to its end. Dropping the future ends the command.
pub(super) async fn follow(
    beginning: Beginning,
    timeout: Duration,
    watch: Watch<'_>,
    keep: Keep<'_>,
    wishes: Wishes,
) -> Result<Finished, ToolError> {
    let begun = Instant::now();
    let started_at_ms = now_ms();
    let broken =
        |error: io::Error| ToolError::failed("the command cannot be followed").caused_by(error);
    let mut following = Following {
        started: beginning.started,
        exit: wait_for(beginning.exit).map_err(broken)?,
        output: Output::new(beginning.output).map_err(broken)?,
        record: Record::new(watch.live, keep),
        wishes,
    };
    let stop = following.until_stopped(begun + timeout, watch.cancel).await;
    // What has ended by now was stopped by nobody, whichever of the two was noticed first.
    let stop = match following.started.lives() {
        true => stop,
        false => Stop::Exited,
    };
    let status = following.end(stop).await;
    let recorded = following.record.finish();
    Ok(report(
        status,
        stop,
        recorded,
        Times {
            started_at_ms,
            duration: begun.elapsed(),
            timeout,
        },
    ))
}

impl Following<'_> {
    async fn until_stopped(&mut self, deadline: Instant, cancel: &CancelToken) -> Stop {
        let mut cancelled = pin!(cancel.cancelled());
        let mut late = pin!(sleep_until(deadline));
        let mut breath = Instant::now();
        loop {
            if breath.elapsed() > BREATH {
                yield_now().await;
                breath = Instant::now();
            }
            // In this order, so that a flood of output delays neither an end nor a stop.
            tokio::select! {
                biased;
                () = &mut cancelled => return Stop::Cancelled,
                () = &mut late => return Stop::TimedOut,
                _ = self.exit.readable() => return Stop::Exited,
                signal = wish(&mut self.wishes) => self.started.family.send(signal),
                piece = self.output.next() => self.record.push(piece),
            }
        }
    }

    /// End whoever is left, reading on meanwhile, and let go of the leader.
    async fn end(&mut self, stop: Stop) -> Option<WaitIdStatus> {
        let family = self.started.family.clone();
        let mut ending = match stop {
            Stop::Exited => Ending::after_exit(family),
            Stop::TimedOut | Stop::Cancelled => Ending::by_force(family),
        };
        let gone = loop {
            match ending.step() {
                Step::Gone => break true,
                // Its guard goes on trying when this call is over.
                Step::Stuck => break false,
                Step::Wait(pause) => self.read_for(pause).await,
            }
        };
        while let Some(piece) = self.output.rest().await {
            self.record.push(piece);
        }
        let status = self.started.family.leader_status();
        if gone {
            self.started.let_go();
        }
        status
    }

    async fn read_for(&mut self, time: Duration) {
        let mut over = pin!(sleep(time));
        loop {
            tokio::select! {
                biased;
                () = &mut over => return,
                piece = self.output.next() => self.record.push(piece),
            }
        }
    }
}

pub(super) fn wait_for(exit: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is the same open descriptor until it is dropped, and the `AsyncFd`
    // takes itself off the reactor before it drops what it owns.
    #[allow(unsafe_code)]
    let waiting = unsafe { AsyncFd::register_with_interest(exit, Interest::READABLE) };
    waiting.map_err(io::Error::from)
}

/// The next signal to be sent, or never when nobody can ask for one.
async fn wish(wishes: &mut Wishes) -> Signal {
    if let Some(open) = wishes
        && let Some(signal) = open.recv().await
    {
        return signal;
    }
    *wishes = None;
    std::future::pending().await
}

struct Times {
    started_at_ms: u64,
    duration: Duration,
    timeout: Duration,
}

fn report(status: Option<WaitIdStatus>, stop: Stop, recorded: Recorded, times: Times) -> Finished {
    Finished {
        exit_code: status.as_ref().and_then(WaitIdStatus::exit_status),
        signal: status
            .as_ref()
            .and_then(WaitIdStatus::terminating_signal)
            .map(signal_name),
        timed_out: stop == Stop::TimedOut,
        cancelled: stop == Stop::Cancelled,
        level: Level::Shared,
        started_at_ms: times.started_at_ms,
        ended_at_ms: times.started_at_ms + times.duration.as_millis() as u64,
        duration: times.duration,
        timeout: times.timeout,
        output: recorded.output,
        tail: recorded.tail,
        truncated: recorded.truncated,
        total_bytes: recorded.bytes,
        total_chars: recorded.chars,
        handle: recorded.handle,
        kept_bytes: recorded.kept_bytes,
        keep_error: recorded.spill_error.map(|error| error.to_string()),
        lost: Vec::new(),
    }
}

pub(super) fn now_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}
