//! What a person has switched off of the servers in a `.mcp.json`. That file comes with a clone and
//! belongs to all who work on it, so this lies in haft's own home, by workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::config::McpServer;
use crate::home::{Home, path_text};

const FILE: &str = "mcp-switched-off.json";
const LARGEST: u64 = 1 << 20;

/// Workspaces to servers.
type All = BTreeMap<String, BTreeMap<String, Off>>;

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Off {
    /// The whole server
    pub(crate) server: bool,
    pub(crate) tools: BTreeSet<String>,
}

fn read(home: &Home) -> Result<All> {
    match home.read(FILE, LARGEST)? {
        None => Ok(All::new()),
        Some(bytes) => serde_json::from_slice(&bytes)
            .with_context(|| format!("`{}` cannot be read", home.path().join(FILE).display())),
    }
}

/// Switch off what was switched off in this workspace.
pub(super) fn apply(
    home: &Home,
    workspace: &Path,
    servers: &mut BTreeMap<String, McpServer>,
) -> Result<()> {
    if servers.is_empty() {
        return Ok(());
    }
    let all = read(home)?;
    let Some(off) = all.get(path_text(workspace)?) else {
        return Ok(());
    };
    for (name, off) in off {
        if let Some(server) = servers.get_mut(name) {
            server.disabled |= off.server;
            server.disabled_tools.extend(off.tools.iter().cloned());
        }
    }
    Ok(())
}

/// Switch something of a server on or off.
pub(crate) fn change(
    home: &Home,
    workspace: &Path,
    server: &str,
    edit: impl FnOnce(&mut Off),
) -> Result<()> {
    let _lock = home.lock(FILE)?;
    let mut all = read(home)?;
    let here = all.entry(path_text(workspace)?.to_owned()).or_default();
    edit(here.entry(server.to_owned()).or_default());
    here.retain(|_, off| *off != Off::default());
    all.retain(|_, here| !here.is_empty());
    home.write_json(FILE, &all)?;
    Ok(())
}
