//! `haft mcp add`, `remove`, `list` and `test`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use haft_core::{Answer, Person, Question};
use haft_mcp::Health;
use haft_runtime::{mask, visible};
use serde_json::json;

use crate::cli::Seat;
use crate::config::McpServer;
use crate::exit;
use crate::home::Home;
use crate::recording::Recording;
use crate::servers::{self, From, Kept};
use crate::terminal::ask::{AtTheTerminal, someone_is_there};
use crate::terminal::fail::{self, Failed, Usage};
use crate::terminal::{print, show, table};
use crate::wiring::{House, Wants};

/// How long what was started may take to end.
const SETTLE: Duration = Duration::from_secs(3);

/// Add a server: a command is code, so a person sees all of it first.
pub(super) fn add(name: &str, env: &[String], yes: bool, command: Vec<String>) -> Result<u8> {
    servers::check_name(name)?;
    let mut words = command.into_iter();
    let mut server = McpServer {
        command: words.next().unwrap_or_default(),
        args: words.collect(),
        ..McpServer::default()
    };
    for setting in env {
        let Some((key, value)) = setting.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            bail!(Usage(format!("`--env` takes KEY=VALUE, got `{setting}`")));
        };
        server.env.insert(key.to_owned(), value.to_owned());
    }
    let home = Home::locate()?;
    if servers::added(&home)?.contains_key(name) {
        bail!(Failed {
            message: format!("there is a server of this name: `{name}`"),
            hint: Some(format!("remove it first: `haft mcp remove {name}`")),
        });
    }
    if !yes && !agreed(name, &server)? {
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

fn agreed(name: &str, server: &McpServer) -> Result<bool> {
    if !someone_is_there() {
        bail!(Failed {
            message: "adding a server starts its program, and nobody is there to agree".to_owned(),
            hint: Some("pass `--yes`".to_owned()),
        });
    }
    let mut summary = format!(
        "run: {:?}",
        [std::slice::from_ref(&server.command), &*server.args].concat()
    );
    for key in server.env.keys() {
        summary.push_str(&format!("\nwith: {key}"));
    }
    let question = Question {
        id: String::new(),
        tool: format!("mcp.{name}"),
        summary: visible(&summary),
        detail: None,
        reason: "this program runs with your rights whenever its tools are called".to_owned(),
        rule: None,
    };
    let engine = engine()?;
    let answer = engine.block_on(AtTheTerminal.ask(&question));
    Ok(answer == Some(Answer::Yes))
}

fn engine() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime could not be started")
}

fn forget(home: &Home, name: &str) -> Result<()> {
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
    let configured = servers::all(&house.home, &mut house.loaded)?;
    let of = |name: &str| health.iter().find(|health| health.server == name);
    if as_json {
        let all: Vec<_> = configured
            .iter()
            .map(|(name, (server, from))| {
                let args = server.args.iter().map(|arg| mask(arg).text);
                json!({"name": name, "command": server.command, "args": args.collect::<Vec<_>>(),
                    "disabled": server.disabled, "from": from.as_str(), "health": of(name)})
            })
            .collect();
        show::json(&all)?;
        return Ok(0);
    }
    if configured.is_empty() {
        print::line("no MCP server is configured; add one with `haft mcp add NAME COMMAND…`");
        return Ok(0);
    }
    let rows = configured.iter().map(|(name, (server, from))| {
        let (tools, tokens, state) = row(server, *from, of(name));
        vec![name.clone(), state, tools, tokens, visible(&server.command)]
    });
    table::print(&["server", "state", "tools", "tokens", "command"], rows);
    Ok(0)
}

fn row(server: &McpServer, from: From, health: Option<&Health>) -> (String, String, String) {
    let state = match health {
        _ if server.disabled => "off".to_owned(),
        None => "left out".to_owned(),
        Some(health) if !health.known => "not looked at".to_owned(),
        Some(health) if !health.changed.is_empty() => {
            format!("{} changed", health.changed.len())
        }
        Some(_) => format!("ready ({})", from.as_str()),
    };
    let number = |count: fn(&Health) -> usize| {
        health.map_or(String::new(), |health| count(health).to_string())
    };
    (
        number(|health| health.tools),
        number(|health| health.tokens),
        state,
    )
}

fn open(workspace: Option<PathBuf>) -> Result<House> {
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
    if looked.is_err() {
        // One of them may say why it is not there.
        fail::notices(&house.loaded.notices);
    }
    let health = looked?;
    print::line(&format!(
        "{name}: {} tools, about {} tokens",
        health.tools, health.tokens
    ));
    for tool in &health.changed {
        fail::notice(&format!(
            "changed since it was agreed to: {}",
            visible(tool)
        ));
    }
    let snapshot = house.runtime.registry().snapshot();
    let prefix = format!("mcp.{name}.");
    for bad in snapshot.quarantined() {
        if bad.name.starts_with(&prefix) {
            fail::notice(&format!("left out: {}: {}", visible(&bad.name), bad.reason));
        }
    }
    Ok(0)
}
