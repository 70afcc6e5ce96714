//! `.mcp.json`, the file that several clients share: servers that came with a project. They start
//! programs, so they count only once a person has trusted exactly these bytes.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use haft_runtime::visible;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::config::{self, McpServer};
use crate::home::Home;
use crate::trust::{ProjectFile, Standing, Trust};

/// The part of the file that haft reads. Other keys belong to other clients.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Shared {
    #[serde(rename = "mcpServers")]
    servers: Map<String, Value>,
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
    /// Some clients have it the other way round
    enabled: Option<bool>,
    #[serde(alias = "disabledTools")]
    disabled_tools: Vec<String>,
    timeout_ms: Option<u64>,
}

/// Servers as other clients write them, with the names that they have here.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) servers: BTreeMap<String, McpServer>,
    /// Those that cannot be used, each with the reason
    pub(crate) left_out: Vec<String>,
}

/// What the file says, or why it cannot be understood.
pub(crate) fn parse(bytes: &[u8]) -> Result<Taken> {
    let shared: Shared = serde_json::from_slice(bytes).context("not what `.mcp.json` holds")?;
    Ok(taken(shared.servers))
}

/// One that cannot be used keeps no other from being taken.
pub(crate) fn taken(entries: impl IntoIterator<Item = (String, Value)>) -> Taken {
    let mut taken = Taken::default();
    // A name that is as it should be goes before one that only becomes the same.
    let mut entries: Vec<_> = entries.into_iter().collect();
    entries.sort_by_key(|(theirs, _)| plain(theirs) != *theirs);
    for (theirs, entry) in entries {
        let name = plain(&theirs);
        let server = match taken.servers.contains_key(&name) {
            true => Err(anyhow::anyhow!(
                "its name becomes `{name}` here, and so does another one: rename it there"
            )),
            false => server(&name, entry),
        };
        match server {
            Ok(server) => drop(taken.servers.insert(name, server)),
            Err(error) => {
                let told = format!("`{}` is left out: {error:#}", visible(&theirs));
                taken.left_out.push(told);
            }
        }
    }
    taken
}

fn server(name: &str, entry: Value) -> Result<McpServer> {
    super::check_name(name)?;
    let entry: Entry = serde_json::from_value(entry).context("not what such an entry holds")?;
    if entry.command.is_empty() && entry.url.is_none() {
        bail!("neither a program nor a URL");
    }
    Ok(McpServer {
        disabled: entry.disabled || entry.enabled == Some(false),
        command: entry.command,
        args: entry.args,
        env: entry.env,
        cwd: entry.cwd,
        url: entry.url,
        headers: entry.headers,
        disabled_tools: entry.disabled_tools,
        timeout_ms: entry.timeout_ms,
        ..McpServer::default()
    })
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
        Ok(taken) => {
            let told = taken.left_out.iter();
            notices.extend(told.map(|told| format!("of `.mcp.json` {told}")));
            taken.servers
        }
        Err(reason) => {
            notices.push(format!("servers of `.mcp.json` are left out: {reason:#}"));
            BTreeMap::new()
        }
    }
}

fn trusted(home: &Home, workspace: &Path) -> Result<Taken> {
    let file = ProjectFile::Servers;
    let Some((_, bytes)) = config::read_project_file(workspace, file.name())? else {
        return Ok(Taken::default());
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
        let taken = parse(
            br#"{"mcpServers": {
                "My Server.2": {"command": "npx", "args": ["-y", "x"], "env": {"A": "${B}"}, "type": "stdio"},
                "off": {"command": "y", "disabled": true, "alwaysAllow": ["z"]},
                "not on": {"command": "y", "enabled": false, "disabledTools": ["z"]}
            }, "inputs": []}"#,
        )
        .unwrap();
        let servers = &taken.servers;
        assert_eq!(
            servers.keys().collect::<Vec<_>>(),
            ["my-server-2", "not-on", "off"]
        );
        assert_eq!(servers["my-server-2"].args, ["-y", "x"]);
        assert!(servers["off"].disabled && servers["not-on"].disabled);
        assert_eq!(servers["not-on"].disabled_tools, ["z"]);
        assert_eq!(taken.left_out, [""; 0]);
        for bad in ["", "7", r#"{"mcpServers": [1]}"#] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn one_that_cannot_be_used_is_left_out_alone() {
        let taken = parse(
            br#"{"mcpServers": {"a": {"command": 7}, "B C": {"command": "one"},
                "b-c": {"command": "two"}, "b.c": {"command": "three"}, "d": {}, "": {"command": "x"}}}"#,
        )
        .unwrap();
        let names: Vec<_> = taken.servers.keys().collect();
        assert_eq!(names, ["b-c"]);
        assert_eq!(taken.servers["b-c"].command, "two");
        let told = taken.left_out.join("\n");
        for part in [
            "`a` is left out: not what",
            "`B C` is left out: its name becomes `b-c`",
            "`b.c`",
            "`d`",
            "``",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}
