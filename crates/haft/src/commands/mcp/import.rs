//! `haft mcp import`: servers that another client knows become servers of haft.

use anyhow::{Result, bail};
use haft_runtime::{mask, visible};

use super::servers::engine;
use crate::clients::Client;
use crate::config::McpServer;
use crate::exit;
use crate::home::Home;
use crate::servers::{self, project};
use crate::terminal::ask;
use crate::terminal::fail::{self, Failed};
use crate::terminal::print;

pub(super) fn run(client: Client, yes: bool) -> Result<u8> {
    let config = client.config()?;
    let known = client
        .servers(&config.text)
        .map_err(|error| error.context(config.path.display().to_string()))?;
    let home = Home::locate()?;
    let added = servers::added(&home)?;
    let entries = known
        .iter()
        .map(|one| (one.name.clone(), one.entry.clone()));
    let taken = project::taken(entries);
    fail::notices(&taken.left_out);
    let mut found = taken.servers;
    found.retain(|name, _| {
        let is_there = added.contains_key(name);
        if is_there {
            fail::notice(&format!("there is a server of this name: `{name}`"));
        }
        !is_there
    });
    if found.is_empty() {
        print::line(&format!("nothing to import: {}", config.path.display()));
        return Ok(0);
    }
    for (name, server) in &found {
        print::line(&format!("{}: {}", print::bold(name), told(server)));
    }
    for one in &known {
        let told = one.notes.iter();
        told.for_each(|note| fail::notice(&format!("`{}`: {note}", one.name)));
    }
    match yes
        .then_some(true)
        .or_else(|| ask::yes_or_no("take these over?"))
    {
        Some(true) => {}
        Some(false) => {
            fail::error("nothing was taken over", None);
            return Ok(exit::FAILED);
        }
        None => bail!(Failed {
            message: "nobody is there to agree".to_owned(),
            hint: Some("pass `--yes`".to_owned()),
        }),
    }
    let engine = engine()?;
    for server in found.values_mut() {
        servers::locate(server, &engine);
    }
    let names: Vec<String> = found.keys().cloned().collect();
    servers::change(&home, |all| {
        all.extend(found);
        Ok(())
    })?;
    print::line(&format!("added: {}", names.join(", ")));
    print::line("look at their tools with `haft mcp test NAME`");
    Ok(0)
}

/// The program with its arguments or the URL, and the names of variables and headers: their values
/// may be secret.
fn told(server: &McpServer) -> String {
    let words = match &server.url {
        Some(url) => vec![url.clone()],
        None => [std::slice::from_ref(&server.command), &*server.args].concat(),
    };
    let mut told = mask(&words.join(" ")).text.into_owned();
    let names: Vec<&str> = [&server.env, &server.headers]
        .into_iter()
        .flat_map(|group| group.keys().map(String::as_str))
        .collect();
    if !names.is_empty() {
        told.push_str(&format!(" (with {})", names.join(", ")));
    }
    if server.disabled {
        told.push_str(" (off)");
    }
    visible(&told)
}
