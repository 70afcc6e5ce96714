//! `haft mcp add`, `remove`, `list` and `test`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use haft_core::{Answer, Person, Question};
use haft_mcp::{Failure, Health, HttpServer};
use haft_runtime::{mask, visible};
use jiff::Timestamp;
use serde_json::json;

use crate::cli::{McpAdd, Seat};
use crate::config::McpServer;
use crate::exit;
use crate::home::Home;
use crate::recording::Recording;
use crate::servers::{self, From, Kept};
use crate::terminal::ask::{AtTheTerminal, someone_is_there};
use crate::terminal::fail::{self, Failed, Usage};
use crate::terminal::{print, show, table};
use crate::wiring::{House, Wants};

/// Characters of what a server says of itself that `test` shows.
const SAID: usize = 1_000;
/// How long what was started may take to end.
pub(super) const SETTLE: Duration = Duration::from_secs(3);

/// Add a server: a command is code, so a person sees all of it first.
pub(super) fn add(added: McpAdd) -> Result<u8> {
    let name = &added.name;
    servers::check_name(name)?;
    let mut server = described(&added)?;
    let home = Home::locate()?;
    if servers::added(&home)?.contains_key(name) {
        bail!(Failed {
            message: format!("there is a server of this name: `{name}`"),
            hint: Some(format!("remove it first: `haft mcp remove {name}`")),
        });
    }
    servers::locate(&mut server, &engine()?);
    if !added.yes && !agreed(name, &server)? {
        fail::error(&format!("`{name}` was not added"), None);
        return Ok(exit::FAILED);
    }
    forget(&home, name)?;
    servers::change(&home, |all| {
        all.insert(name.to_owned(), server);
        Ok(())
    })?;
    print::line(&format!("added: {name}"));
    test(name, None)
}

/// The server as the command line describes it.
fn described(added: &McpAdd) -> Result<McpServer> {
    let pair = |flag: &str, text: &str, sign: char| {
        let parts = text.split_once(sign).filter(|(key, _)| !key.is_empty());
        match parts {
            Some((key, value)) => Ok((key.trim().to_owned(), value.trim_start().to_owned())),
            None => Err(Usage(format!(
                "`{flag}` takes KEY{sign}VALUE, got `{text}`"
            ))),
        }
    };
    let mut words = added.command.iter().cloned();
    let first = words.next().unwrap_or_default();
    let scheme = first.split_once("://").map(|(scheme, _)| scheme);
    let is_url = matches!(scheme, Some("http" | "https"));
    if let Some(scheme) = scheme.filter(|scheme| !is_url && !scheme.contains('/')) {
        bail!(Usage(format!(
            "a server is reached by `http://` or `https://`, not by `{}://`",
            scheme.escape_debug()
        )));
    }
    let mut server = McpServer {
        args: words.collect(),
        ..McpServer::default()
    };
    if is_url && server.args.is_empty() && added.env.is_empty() {
        server.url = Some(first);
    } else if is_url {
        bail!(Usage(
            "a URL takes neither arguments nor `--env`; flags of haft go before it".to_owned()
        ));
    } else {
        server.command = first;
    }
    for setting in &added.env {
        let (key, value) = pair("--env", setting, '=')?;
        server.env.insert(key, value);
    }
    for setting in &added.header {
        let (key, value) = pair("--header", setting, ':')?;
        server.headers.insert(key, value);
    }
    if !server.headers.is_empty() && server.url.is_none() {
        bail!(Usage("`--header` is for a server at a URL".to_owned()));
    }
    expect_usable(&server)?;
    Ok(server)
}

/// What could never work is not kept. Places that are filled in later are left alone.
fn expect_usable(server: &McpServer) -> Result<()> {
    let Some(url) = server.url.as_ref().filter(|url| !url.contains("${")) else {
        return Ok(());
    };
    let plain = |name: &String| (name.clone(), String::new());
    let http = HttpServer {
        url: url.clone(),
        headers: server.headers.keys().map(plain).collect(),
        ..HttpServer::default()
    };
    match http.problem() {
        Some(problem) => bail!(Usage(problem)),
        None => Ok(()),
    }
}

fn agreed(name: &str, server: &McpServer) -> Result<bool> {
    if !someone_is_there() {
        bail!(Failed {
            message: "adding a server starts or reaches it, and nobody is there to agree"
                .to_owned(),
            hint: Some("pass `--yes`".to_owned()),
        });
    }
    let (mut summary, reason) = match &server.url {
        Some(url) => (
            format!("reach: {url}"),
            "this server sees the arguments of its tools whenever they are called",
        ),
        None => (
            format!(
                "run: {:?}",
                [std::slice::from_ref(&server.command), &*server.args].concat()
            ),
            "this program runs with your rights whenever its tools are called",
        ),
    };
    if server.private {
        summary.push_str("\nwhich is on this machine or in a private network");
    }
    for key in server.env.keys().chain(server.headers.keys()) {
        summary.push_str(&format!("\nwith: {key}"));
    }
    let question = Question {
        id: String::new(),
        tool: format!("mcp.{name}"),
        summary: visible(&summary),
        detail: None,
        reason: reason.to_owned(),
        rule: None,
    };
    let engine = engine()?;
    let answer = engine.block_on(AtTheTerminal.ask(&question));
    Ok(answer == Some(Answer::Yes))
}

pub(super) fn engine() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime could not be started")
}

fn forget(home: &Home, name: &str) -> Result<()> {
    servers::forget_login(home, name)?;
    Kept::new(home, Arc::new(Recording::new(home))).forget(name)
}

pub(super) fn remove(name: &str) -> Result<u8> {
    let home = Home::locate()?;
    servers::change(&home, |all| match all.remove(name) {
        Some(_) => Ok(()),
        None => bail!(Failed {
            message: format!("no server of this name was added: `{name}`"),
            hint: Some("list them with `haft mcp list`".to_owned()),
        }),
    })?;
    forget(&home, name)?;
    print::line(&format!("removed: {name}"));
    Ok(0)
}

pub(super) fn list(as_json: bool, workspace: Option<PathBuf>) -> Result<u8> {
    let mut house = open(workspace)?;
    let health = house.fleet.health();
    // What is said of them here is said once.
    house.loaded.notices.clear();
    let configured = servers::all(&house.home, &mut house.loaded)?;
    let of = |name: &str| health.iter().find(|health| health.server == name);
    let rows = configured.iter().map(|(name, (server, from))| {
        let health = of(name);
        let left_out = match health.is_none() && !server.disabled {
            true => servers::problem(&house.home, name, server),
            false => None,
        };
        (name, server, *from, health, left_out)
    });
    let rows: Vec<_> = rows.collect();
    if as_json {
        let all: Vec<_> = rows
            .iter()
            .map(|(name, server, from, health, left_out)| {
                let args = server.args.iter().map(|arg| mask(arg).text);
                let url = server.url.as_ref().map(|url| mask(url).text);
                json!({"name": name, "command": mask(&server.command).text, "url": url,
                    "args": args.collect::<Vec<_>>(), "disabled": server.disabled,
                    "disabled_tools": server.disabled_tools, "from": from.as_str(),
                    "health": health, "left_out": left_out})
            })
            .collect();
        show::json(&all)?;
        fail::notices(&house.loaded.notices);
        return Ok(0);
    }
    if configured.is_empty() && house.loaded.notices.is_empty() {
        print::line("no MCP server is configured; add one with `haft mcp add NAME COMMAND…`");
        return Ok(0);
    }
    table::print(
        &[
            "server",
            "state",
            "tools",
            "resources",
            "prompts",
            "tokens",
            "command or URL",
        ],
        rows.iter().map(|(name, server, from, health, _)| {
            let place = server.url.as_ref().unwrap_or(&server.command);
            let mut row = vec![(*name).clone(), state(server, *from, *health)];
            row.extend(counts(*health));
            row.push(visible(&mask(place).text));
            row
        }),
    );
    fail::notices(&house.loaded.notices);
    for (name, _, _, health, left_out) in &rows {
        if let Some(reason) = left_out {
            fail::notice(&format!("`{name}` is left out: {reason}"));
        }
        if let Some(failure) = health.and_then(|health| health.failure.as_ref()) {
            fail::notice(&told(failure));
        }
        left_out_tools(&house, name);
    }
    Ok(0)
}

fn told(failure: &Failure) -> String {
    let at = i64::try_from(failure.at).ok();
    let at = at.and_then(|at| Timestamp::from_second(at).ok());
    let hint = failure.hint.as_ref().map(|hint| format!("; {hint}"));
    format!(
        "{}, at {}{}",
        failure.reason,
        at.map(|at| at.to_string()).unwrap_or_default(),
        hint.unwrap_or_default()
    )
}

/// Tools of a server that cannot be used, each with the reason.
fn left_out_tools(house: &House, server: &str) {
    let snapshot = house.runtime.registry().snapshot();
    let prefix = format!("mcp.{server}.");
    for bad in snapshot.quarantined() {
        if bad.name.starts_with(&prefix) {
            fail::notice(&format!("left out: {}: {}", visible(&bad.name), bad.reason));
        }
    }
}

fn state(server: &McpServer, from: From, health: Option<&Health>) -> String {
    match health {
        _ if server.disabled => "off".to_owned(),
        None => "left out".to_owned(),
        Some(health) if health.failure.is_some() => "failed".to_owned(),
        Some(health) if !health.known => "not looked at".to_owned(),
        Some(health) if !health.changed.is_empty() => {
            format!("{} changed", health.changed.len())
        }
        Some(_) => format!("ready ({})", from.as_str()),
    }
}

/// Tools, resources, prompts and tokens of a server, as far as they are known.
fn counts(health: Option<&Health>) -> [String; 4] {
    let numbers = health.map(|health| {
        [
            health.tools,
            health.resources,
            health.prompts,
            health.tokens,
        ]
    });
    numbers.map_or_else(Default::default, |numbers| {
        numbers.map(|number| number.to_string())
    })
}

pub(super) fn open(workspace: Option<PathBuf>) -> Result<House> {
    let seat = Seat {
        workspace,
        ..Seat::default()
    };
    House::open(&seat, Wants::default())
}

pub(super) fn test(name: &str, workspace: Option<PathBuf>) -> Result<u8> {
    let house = open(workspace)?;
    let engine = engine()?;
    let looked = engine.block_on(async {
        let looked = house.fleet.look_at(name).await;
        let complaints = house.fleet.complaints(name).unwrap_or_default();
        house.fleet.stop().await;
        (looked, complaints)
    });
    engine.shutdown_background();
    haft_host::settle(SETTLE);
    let (looked, complaints) = looked;
    if !complaints.trim().is_empty() {
        fail::notice(&format!("what `{name}` said on its standard error:"));
        for line in complaints.lines() {
            fail::notice(&format!("  {}", visible(line)));
        }
    }
    let health = looked.map_err(|mut error| {
        // Nobody is sent to the command that they have just typed.
        let here = format!("`haft mcp test {name}`");
        let elsewhere = |said: &String| !said.contains(&here);
        let notices = house.loaded.notices.iter().cloned();
        // One of them may say why it is not there.
        fail::notices(&notices.filter(elsewhere).collect::<Vec<_>>());
        error.hint = error.hint.take().filter(elsewhere);
        error
    })?;
    print::line(&format!(
        "{name}: {} tools, {} resources, {} prompts, about {} tokens",
        health.tools, health.resources, health.prompts, health.tokens
    ));
    if let Some(said) = &health.instructions {
        print::line("what it says of itself, in its own words:");
        let shown: String = said.chars().take(SAID).collect();
        for line in shown.lines() {
            print::line(&format!("  {line}"));
        }
        if shown.len() < said.len() {
            print::line("  … (`haft mcp list --json` has more)");
        }
    }
    for tool in &health.changed {
        fail::notice(&format!(
            "changed since it was agreed to: {}",
            visible(tool)
        ));
    }
    left_out_tools(&house, name);
    Ok(0)
}
