//! `.mcp.json`, the file that several clients share: servers that came with a project. They start
//! programs, so they count only once a person has trusted exactly these bytes.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::config::{self, McpServer};
use crate::home::Home;
use crate::trust::{ProjectFile, Standing, Trust};

/// The part of the file that haft reads. Other keys belong to other clients.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Shared {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, Entry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    disabled: bool,
}

/// What the file says, or why it cannot be understood.
pub(crate) fn parse(bytes: &[u8]) -> Result<BTreeMap<String, McpServer>> {
    let shared: Shared = serde_json::from_slice(bytes).context("not what `.mcp.json` holds")?;
    let servers = shared.servers.into_iter();
    Ok(servers
        .map(|(name, entry)| (plain(&name), entry.into_server()))
        .collect())
}

/// A server as other clients write it, with the name that it has here.
pub(crate) fn server(name: &str, entry: Value) -> Result<(String, McpServer)> {
    let entry: Entry = serde_json::from_value(entry).context("not what such an entry holds")?;
    Ok((plain(name), entry.into_server()))
}

impl Entry {
    fn into_server(self) -> McpServer {
        McpServer {
            command: self.command,
            args: self.args,
            env: self.env,
            cwd: self.cwd,
            url: self.url,
            headers: self.headers,
            disabled: self.disabled,
            ..McpServer::default()
        }
    }
}

/// A name as it can stand in the names of tools: other clients are less strict.
fn plain(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        let c = match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() || c == '-' => c,
            '_' if !out.ends_with('_') => '_',
            _ => '-',
        };
        out.push(c);
    }
    out.truncate(40);
    out
}

/// The servers of a trusted file; of any other, none and a notice.
pub(super) fn servers(
    home: &Home,
    workspace: &Path,
    notices: &mut Vec<String>,
) -> BTreeMap<String, McpServer> {
    match trusted(home, workspace) {
        Ok(servers) => servers,
        Err(reason) => {
            notices.push(format!("servers of `.mcp.json` are left out: {reason:#}"));
            BTreeMap::new()
        }
    }
}

fn trusted(home: &Home, workspace: &Path) -> Result<BTreeMap<String, McpServer>> {
    let file = ProjectFile::Servers;
    let Some((_, bytes)) = config::read_project_file(workspace, file.name())? else {
        return Ok(BTreeMap::new());
    };
    match Trust::read(home).standing(workspace, file, &bytes) {
        Standing::Trusted => parse(&bytes),
        Standing::Changed => {
            bail!("it has changed since it was trusted: look at it with `haft trust`")
        }
        Standing::New => bail!("it is not trusted: look at it with `haft trust`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shared_format_is_read_and_the_rest_is_left_to_others() {
        let servers = parse(
            br#"{"mcpServers": {
                "My Server.2": {"command": "npx", "args": ["-y", "x"], "env": {"A": "${B}"}, "type": "stdio"},
                "off": {"command": "y", "disabled": true, "alwaysAllow": ["z"]}
            }, "inputs": []}"#,
        )
        .unwrap();
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["my-server-2", "off"]);
        assert_eq!(servers["my-server-2"].args, ["-y", "x"]);
        assert!(servers["off"].disabled);
        for bad in ["", "7", r#"{"mcpServers": {"a": {"command": 7}}}"#] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
