//! Making calls from the shell: the runtime, live output while it works, and an end on Ctrl-C
//! that leaves nothing running.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use haft_core::{Call, Event, EventKind, Person};
use haft_runtime::{Runtime, Session};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;

use super::ask::{AtTheTerminal, SaysYes, someone_is_there};
use crate::cli::Manner;
use crate::wiring::{House, Wants};

/// How long the last commands may take to end.
const SETTLE: Duration = Duration::from_secs(3);

/// What came of it.
pub(crate) struct Driven<T> {
    pub(crate) result: T,
    /// Output was shown while it came
    pub(crate) shown_live: bool,
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
    }
}

/// The call with the flags' limits.
pub(crate) fn in_manner(mut call: Call, manner: &Manner) -> Call {
    call.timeout = manner.timeout.map(Duration::from_millis);
    call.dry_run = manner.dry_run;
    call
}

/// Run the work to its end. The first Ctrl-C cancels and waits for the tidy end of every call;
/// a second one does not wait.
pub(crate) fn to_the_end<T>(
    house: &House,
    manner: &Manner,
    work: impl AsyncFnOnce(&Runtime, &Session) -> T,
) -> Result<Driven<T>> {
    let engine = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("threads could not be started")?;
    let live = !manner.json && std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    let driven = engine.block_on(async {
        let (done, over) = oneshot::channel::<()>();
        let showing = live.then(|| tokio::spawn(show_live(house.events.listen(), over)));
        let mut interrupt = signal(SignalKind::interrupt()).context("signals")?;
        let mut terminate = signal(SignalKind::terminate()).context("signals")?;
        let mut interrupted = false;
        let mut work = std::pin::pin!(work(&house.runtime, &house.session));
        let result = loop {
            tokio::select! {
                result = &mut work => break result,
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if interrupted {
                std::process::exit(crate::exit::INTERRUPTED.into());
            }
            interrupted = true;
            house.cancel.cancel();
        };
        drop(done);
        let shown_live = match showing {
            Some(showing) => showing.await.unwrap_or(false),
            None => false,
        };
        Ok::<_, anyhow::Error>(Driven {
            result,
            shown_live,
            interrupted,
        })
    })?;
    engine.shutdown_background();
    // What was started must be gone before we are.
    haft_host::settle(SETTLE);
    Ok(driven)
}

/// Print progress as it comes, until the calls are over; true if there was any.
async fn show_live(mut events: Receiver<Event>, mut over: oneshot::Receiver<()>) -> bool {
    let mut shown = false;
    loop {
        let event = tokio::select! {
            biased;
            event = events.recv() => event,
            _ = &mut over => return shown,
        };
        match event.map(|event| event.kind) {
            Ok(EventKind::Progress { text }) => {
                shown = true;
                let mut out = std::io::stdout().lock();
                let _ = out.write_all(haft_runtime::visible(&text).as_bytes());
                let _ = out.flush();
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return shown,
        }
    }
}
