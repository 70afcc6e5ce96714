//! Making calls from the shell: the runtime, live output while it works, and an end on Ctrl-C
//! that leaves nothing running.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use haft_core::{Call, Person};
use haft_runtime::{Injection, Runtime, Session};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::ask::{AtTheTerminal, SaysYes, someone_is_there};
use super::fail;
use super::live::{self, Shown, Voices};
use crate::cli::Manner;
use crate::wiring::{House, Wants};

/// How long the last commands may take to end.
const SETTLE: Duration = Duration::from_secs(3);

/// What came of it.
pub(crate) struct Driven<T> {
    pub(crate) result: T,
    pub(crate) shown: Shown,
    pub(crate) interrupted: bool,
}

/// Whom to ask and how much room there is.
pub(crate) fn wants(manner: &Manner) -> Wants {
    let person: Option<Arc<dyn Person>> = if manner.yes {
        Some(Arc::new(SaysYes))
    } else if someone_is_there() {
        Some(Arc::new(AtTheTerminal))
    } else {
        None
    };
    Wants {
        person,
        budget: manner.budget,
        calls: true,
        outlet: None,
        browser: None,
        background: false,
        injection: Injection::default(),
    }
}

/// The call with the flags' limits.
pub(crate) fn in_manner(mut call: Call, manner: &Manner) -> Call {
    call.timeout = manner.timeout.map(Duration::from_millis);
    call.dry_run = manner.dry_run;
    call
}

/// Run the work to its end.
pub(crate) fn to_the_end<T>(
    house: &House,
    manner: &Manner,
    voices: Voices,
    work: impl AsyncFnOnce(&Runtime, &Session) -> T,
) -> Result<Driven<T>> {
    let driven = drive(house, manner, voices, work);
    close(house);
    driven
}

/// The same, and show what came of it before the books are closed: nobody has to wait for that.
pub(crate) fn to_the_answer<T>(
    house: &House,
    manner: &Manner,
    voices: Voices,
    work: impl AsyncFnOnce(&Runtime, &Session) -> T,
    show: impl FnOnce(Driven<T>) -> Result<u8>,
) -> Result<u8> {
    let shown = drive(house, manner, voices, work).and_then(show);
    close(house);
    shown
}

/// The first Ctrl-C cancels and waits for the tidy end of every call; a second one does not wait.
fn drive<T>(
    house: &House,
    manner: &Manner,
    voices: Voices,
    work: impl AsyncFnOnce(&Runtime, &Session) -> T,
) -> Result<Driven<T>> {
    house.recording.begin();
    let live = !manner.json && std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    // One call that nobody watches needs no threads of ours: what waits for the disk has its own.
    let mut engine = match voices {
        Voices::One if !live => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let engine = engine
        .worker_threads(2)
        .enable_all()
        .build()
        .context("threads could not be started")?;
    let driven = engine.block_on(async {
        let (done, over) = oneshot::channel::<()>();
        let showing = live.then(|| tokio::spawn(live::show(house.events.listen(), over, voices)));
        let mut interrupt = signal(SignalKind::interrupt()).context("signals")?;
        let mut terminate = signal(SignalKind::terminate()).context("signals")?;
        let (mut interrupted, mut prepared) = (false, false);
        let mut work = std::pin::pin!(work(&house.runtime, &house.session));
        let result = loop {
            tokio::select! {
                biased;
                result = &mut work => break result,
                // While the tool is at work we have time.
                () = std::future::ready(()), if !prepared => {
                    haft_runtime::prepare_to_mask();
                    prepared = true;
                    continue;
                }
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if interrupted {
                std::process::exit(crate::exit::INTERRUPTED.into());
            }
            interrupted = true;
            house.cancel.cancel();
        };
        // Sessions belong to this process, so they end with the last call.
        house.fleet.stop().await;
        house.processes.end_sessions().await;
        house.session.end_runs(SETTLE).await;
        drop(done);
        let shown = match showing {
            Some(showing) => showing.await.unwrap_or_default(),
            None => Shown::default(),
        };
        Ok::<_, anyhow::Error>(Driven {
            result,
            shown,
            interrupted,
        })
    })?;
    engine.shutdown_background();
    Ok(driven)
}

/// What was started must be gone before we are, and what is to last must be written.
fn close(house: &House) {
    haft_host::settle(SETTLE);
    house.tidy();
    if let Some(notice) = house.recording.finish() {
        fail::notice(&notice);
    }
}
