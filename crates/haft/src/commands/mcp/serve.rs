//! Serving: on standard input and output, or on HTTP.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use haft_core::CancelToken;
use haft_mcp::{Fleet, HttpConfig, Server, ServerConfig};
use haft_runtime::{Injection, InjectionMode, Runtime, Scope, Session};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::token;
use crate::cli;
use crate::commands::tools::USUAL_CONTEXT;
use crate::exit;
use crate::home::Home;
use crate::offer::HouseOffer;
use crate::skills;
use crate::terminal::fail;
use crate::wiring::{House, Wants, current_policy};

/// How long the last commands may take to end.
const SETTLE: Duration = Duration::from_secs(3);

/// Nearer than the deadlines of most calls.
const HORIZON: Duration = Duration::from_secs(20);

const INSTRUCTIONS: &str = "\
Tools for files, search, git, the shell and background processes in one workspace. Paths are \
relative to the workspace. Long results are cut and name a handle: read the rest with result__read. \
A call that is refused says which command would allow it.";

pub(super) fn run(command: cli::Mcp) -> Result<u8> {
    let wants = Wants {
        background: true,
        injection: Injection {
            context_window: command.context_window,
            forced: command.discovery.then_some(InjectionMode::Discovery),
            ..Injection::default()
        },
        ..Wants::default()
    };
    let house = House::open(&command.seat, wants)?;
    // Standard output belongs to the protocol; what a person should know goes to standard error.
    fail::notices(&house.loaded.notices);
    let session = session(&house, &command.tools, command.discovery);
    // The same session, to end what its calls leave running.
    let left = session.for_request(house.cancel.clone(), None, None);
    let server = Arc::new(server(session, &house)?);
    // One caller is served quickest by one thread; tools that block have their own.
    let mut engine = match command.http {
        None => tokio::runtime::Builder::new_current_thread(),
        Some(_) => tokio::runtime::Builder::new_multi_thread(),
    };
    let engine = engine
        .enable_all()
        .build()
        .context("the runtime could not be started")?;
    let code = engine.block_on(async {
        let mut signals = Signals::new()?;
        let serving = async {
            match &command.http {
                None => {
                    let serving = on_standard_streams(&server);
                    until_stopped(&mut signals, &house.cancel, serving).await
                }
                Some(address) => {
                    let configured = &house.loaded.effective.mcp.allowed_hosts;
                    let hosts = [&*command.allow_host, configured].concat();
                    let serving = on_http(&server, address, &house.home, hosts);
                    until_stopped(&mut signals, &house.cancel, serving).await
                }
            }
        };
        let code = tokio::select! {
            code = serving => code,
            () = look_around(&house.fleet) => Ok(0),
            () = near_horizon() => Ok(0),
        };
        let ending = async {
            house.fleet.stop().await;
            house.processes.end_sessions().await;
            left.end_runs(SETTLE).await;
        };
        tokio::select! {
            () = ending => code,
            // Whoever insists is not kept waiting: what is left is ended without a farewell.
            () = signals.next() => Ok(exit::INTERRUPTED),
        }
    })?;
    engine.shutdown_background();
    haft_host::settle(SETTLE);
    if let Some(notice) = house.recording.finish() {
        fail::notice(&notice);
    }
    Ok(code)
}

/// The client's session: with the tools that were chosen, and those that find them.
fn session(house: &House, tools: &[String], discovery: bool) -> Session {
    let mut injection = house.session.injection().clone();
    let snapshot = house.runtime.registry().snapshot();
    let mut tools: Vec<String> = tools.iter().map(|word| word.trim().to_owned()).collect();
    // Which tools a server has that nobody has looked at, nobody knows.
    let words = tools.iter().map(String::as_str);
    let known = words.filter(|word| !injection.open_ended || !word.starts_with("mcp"));
    for line in snapshot.named_by_none(known) {
        fail::notice(&format!("`--tools`: {line}"));
    }
    if discovery && injection.context_window.is_none() {
        // What is found joins the list, but not without end.
        injection.context_window = Some(USUAL_CONTEXT);
    }
    if discovery && !tools.is_empty() {
        let entries = snapshot.entries().iter();
        let metas = entries.filter(|entry| entry.spec().is_meta());
        tools.extend(metas.map(|entry| entry.spec().name.to_string()));
    }
    let scope = Scope {
        allowed: (!tools.is_empty()).then_some(tools),
        denied: Vec::new(),
    };
    house.session.injecting(injection).scoped(scope)
}

fn server(session: Session, house: &House) -> Result<Server> {
    let standing = skills::standing(&house.skills);
    let config = ServerConfig {
        name: "haft".to_owned(),
        title: "haft".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instructions: Some(format!("{INSTRUCTIONS}\n{standing}").trim_end().to_owned()),
    };
    let refresh = current_policy(&house.home, &house.loaded);
    let server = Server::new(config, house.runtime.clone(), session).context("no randomness")?;
    let server = server.offering(Arc::new(HouseOffer::of(house)));
    Ok(server.refreshing(move |runtime: &Runtime| {
        if let Ok(policy) = refresh() {
            runtime.set_policy(policy);
        }
    }))
}

/// Servers that nobody has looked at are looked at meanwhile; clients hear of their tools.
async fn look_around(fleet: &Fleet) {
    fleet
        .look_around(|error| fail::notice(&error.message))
        .await;
    std::future::pending().await
}

/// The engine wakes itself whenever a deadline is set that is nearer than all others. Every call of
/// another server sets one, a minute away at most; with one that is always nearer it need not.
async fn near_horizon() {
    loop {
        tokio::time::sleep(HORIZON).await;
    }
}

async fn on_standard_streams(server: &Arc<Server>) -> Result<()> {
    let (reader, writer) = haft_host::standard_streams().context("standard input and output")?;
    server
        .serve_stream(reader, writer)
        .await
        .context("the client's stream broke")
}

async fn on_http(
    server: &Arc<Server>,
    address: &str,
    home: &Home,
    mut hosts: Vec<String>,
) -> Result<()> {
    let token = token::of(home)?;
    let listener = haft_host::listen(address)
        .await
        .with_context(|| format!("cannot listen at `{address}`"))?;
    let bound = listener.local_addr().context("the address is gone")?;
    fail::notice(&format!(
        "serving at http://{bound}/mcp; clients send the token in {} as `Authorization: Bearer`",
        home.path().join(token::FILE).display()
    ));
    if bound.ip().is_unspecified() && hosts.is_empty() {
        fail::notice(
            "requests to other names of this machine are refused: give them with `--allow-host NAME`",
        );
    }
    // Whoever chose an address may be addressed by it.
    hosts.push(bound.ip().to_string());
    let config = HttpConfig {
        token: Some(token),
        hosts,
    };
    server
        .serve_http(listener, config)
        .await
        .context("serving ended")
}

/// Signals that ask haft to end.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt()).context("signals")?,
            terminate: signal(SignalKind::terminate()).context("signals")?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Serve to the end. A signal cancels what is under way; a second one does not wait.
async fn until_stopped(
    signals: &mut Signals,
    cancel: &CancelToken,
    serving: impl Future<Output = Result<()>>,
) -> Result<u8> {
    let mut serving = std::pin::pin!(serving);
    let mut code = 0;
    loop {
        tokio::select! {
            served = &mut serving => return served.map(|()| code),
            () = signals.next() => {}
        }
        if code != 0 {
            return Ok(code);
        }
        code = exit::INTERRUPTED;
        cancel.cancel();
    }
}
