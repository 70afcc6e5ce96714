//! A worker's own life: it is told what it works with, says that it is ready, and does one job
//! after the other until its line closes. Then whoever started it is gone, and it ends too, with
//! the job it is at.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use haft_core::{CancelToken, ErrorBody, ToolError};
use serde::Serialize;
use tokio::net::unix::pipe::Receiver;

use super::job::{Bytes, Job, RunJob, Setup};
use super::wire::{self, Frames, frame};
use crate::blocking::blocking;
use crate::files::{Workspace, present_now, read_bytes_now, read_now, write_now};
use crate::process::keep_to;
use crate::{RunProcesses, Watch, settle};

/// How long the command of an abandoned job may take to end.
const SETTLE: Duration = Duration::from_secs(5);

/// All that a job needs.
#[derive(Clone)]
struct Bench {
    workspace: Arc<Workspace>,
    processes: RunProcesses,
}

/// The whole life of a worker. The binary calls it for its hidden mode and exits.
pub fn worker_main() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let lived = runtime.block_on(live());
    settle(SETTLE);
    // A thread that reads a slow disk must not hold us up.
    runtime.shutdown_background();
    lived
}

async fn live() -> io::Result<()> {
    // Input alone: output is written as it comes, and waits for whoever reads it.
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let mut frames = Frames::new(Receiver::from_owned_fd(input)?);
    let Some((wire::SETUP, content)) = frames.next().await? else {
        return Ok(());
    };
    let bench = match furnish(&serde_json::from_slice(&content)?) {
        Ok(bench) => bench,
        Err(error) => return say(wire::READY, &Err::<(), _>(error.into_body())),
    };
    say(wire::READY, &Ok::<_, ErrorBody>(()))?;
    while let Some((kind, content)) = frames.next().await? {
        // A cancel that comes when the job is already done is for nobody.
        if kind == wire::JOB {
            let job = serde_json::from_slice(&content)?;
            drop(content);
            if !work(&bench, job, &mut frames).await? {
                break;
            }
        }
    }
    Ok(())
}

fn furnish(setup: &Setup) -> Result<Bench, ToolError> {
    let workspace = Arc::new(Workspace::from_described(&setup.workspace)?);
    let results = setup.results().map(Arc::new);
    let processes = RunProcesses::new(setup.processes(), workspace.clone(), results);
    keep_to(setup.memory).map_err(|error| {
        ToolError::not_available(format!("its memory cannot be limited: {error}"))
    })?;
    Ok(Bench {
        workspace,
        processes,
    })
}

/// Do one job, and listen meanwhile. False when nobody is there any more to be told.
async fn work(bench: &Bench, job: Job, frames: &mut Frames<Receiver>) -> io::Result<bool> {
    let cancel = CancelToken::new();
    let mut doing = std::pin::pin!(done(bench.clone(), job, cancel.clone()));
    loop {
        tokio::select! {
            biased;
            frame = frames.next() => match frame? {
                Some((wire::CANCEL, _)) => cancel.cancel(),
                Some(_) => return Err(io::Error::other("a job came before the last was done")),
                None => {
                    cancel.cancel();
                    return Ok(false);
                }
            },
            done = &mut doing => {
                write(&done?)?;
                return Ok(true);
            }
        }
    }
}

/// The answer to a job, ready to be sent.
async fn done(bench: Bench, job: Job, cancel: CancelToken) -> io::Result<Vec<u8>> {
    let Bench {
        workspace,
        processes,
    } = bench;
    match job {
        Job::Run(job) => answer(run(&processes, job, &cancel).await),
        Job::Read { place, range } => {
            answer(blocking(move || read_now(&workspace, &place, range, &cancel)).await)
        }
        Job::ReadBytes { place } => {
            answer(blocking(move || read_bytes_now(&workspace, &place, &cancel).map(Bytes)).await)
        }
        Job::Write {
            place,
            content,
            mark,
        } => {
            answer(blocking(move || write_now(&workspace, &place, &content.0, mark, &cancel)).await)
        }
        Job::Present { place } => {
            answer(blocking(move || Ok(present_now(&workspace, &place, &cancel)?.map(Bytes))).await)
        }
    }
}

async fn run(
    processes: &RunProcesses,
    job: RunJob,
    cancel: &CancelToken,
) -> Result<crate::Finished, ToolError> {
    let watch = Watch {
        // When nobody listens any more, the closing line ends this job.
        live: &mut |text| drop(say(wire::LIVE, &text)),
        cancel,
        session: &job.session,
    };
    processes
        .run_here(job.request, job.environment, watch, job.mark)
        .await
}

fn answer<A: Serialize>(answer: Result<A, ToolError>) -> io::Result<Vec<u8>> {
    frame(wire::DONE, &answer.map_err(ToolError::into_body))
}

fn say(kind: u8, content: &impl Serialize) -> io::Result<()> {
    write(&frame(kind, content)?)
}

/// Straight to the pipe: whoever started us reads while we are at work.
fn write(frame: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(frame)?;
    output.flush()
}
