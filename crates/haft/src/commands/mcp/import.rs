//! `haft mcp import`: servers that another client knows become servers of haft.

use anyhow::{Result, bail};
use haft_runtime::{mask, visible};

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
    let mut found = Vec::new();
    for (theirs, entry) in known {
        match project::server(&theirs, entry) {
            Ok((name, _)) if added.contains_key(&name) => {
                fail::notice(&format!("there is a server of this name: `{name}`"));
            }
            Ok((_, server)) if server.command.is_empty() && server.url.is_none() => {
                fail::notice(&format!(
                    "neither a program nor a URL: `{}`",
                    visible(&theirs)
                ));
            }
            Ok(server) => found.push(server),
            Err(error) => fail::notice(&format!("`{}` is left out: {error:#}", visible(&theirs))),
        }
    }
    if found.is_empty() {
        print::line(&format!("nothing to import: {}", config.path.display()));
        return Ok(0);
    }
    for (name, server) in &found {
        print::line(&format!("{}: {}", print::bold(name), told(server)));
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
    let names: Vec<String> = found.iter().map(|(name, _)| name.clone()).collect();
    servers::change(&home, |all| {
        all.extend(found);
        Ok(())
    })?;
    print::line(&format!("added: {}", names.join(", ")));
    print::line("look at their tools with `haft mcp test NAME`");
    Ok(0)
}

/// The program with its arguments or the URL, and the names of variables: their values may be
/// secret.
fn told(server: &McpServer) -> String {
    let words = match &server.url {
        Some(url) => vec![url.clone()],
        None => [std::slice::from_ref(&server.command), &*server.args].concat(),
    };
    let mut told = mask(&words.join(" ")).text.into_owned();
    if !server.env.is_empty() {
        let names: Vec<&str> = server.env.keys().map(String::as_str).collect();
        told.push_str(&format!(" (with {})", names.join(", ")));
    }
    visible(&told)
}
