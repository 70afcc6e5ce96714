//! The MCP servers that are configured: those in the config, and those that `haft mcp add` has put
//! into haft's own record. What is known of their tools is kept beside.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use haft_host::PartnerProgram;
use haft_mcp::{Manifests, RemoteSpec};

use crate::config::{Loaded, McpServer};
use crate::home::Home;
use crate::terminal::fail::Failed;

const FILE: &str = "mcp-servers.json";
const LARGEST: u64 = 1 << 20;
const LARGEST_MANIFEST: u64 = 64 << 20;
const TIMEOUT_MS: u64 = 60_000;
const IDLE_MS: u64 = 300_000;

/// Where a server was configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Config,
    Added,
}

impl From {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            From::Config => "config",
            From::Added => "added",
        }
    }
}

/// Servers that were added by hand.
pub(crate) fn added(home: &Home) -> Result<BTreeMap<String, McpServer>> {
    match home.read(FILE, LARGEST)? {
        None => Ok(BTreeMap::new()),
        Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            Failed {
                message: format!(
                    "`{}` cannot be read: {error}",
                    home.path().join(FILE).display()
                ),
                hint: None,
            }
            .into()
        }),
    }
}

/// Change the servers that were added by hand.
pub(crate) fn change(
    home: &Home,
    edit: impl FnOnce(&mut BTreeMap<String, McpServer>) -> Result<()>,
) -> Result<()> {
    home.ensure()?;
    let _lock = home.lock(FILE)?;
    let mut servers = added(home)?;
    edit(&mut servers)?;
    home.write_json(FILE, &servers)?;
    Ok(())
}

/// All of them. A name in the config goes before the same one that was added.
pub(crate) fn all(home: &Home, loaded: &Loaded) -> Result<BTreeMap<String, (McpServer, From)>> {
    let mut all: BTreeMap<_, _> = added(home)?
        .into_iter()
        .map(|(name, server)| (name, (server, From::Added)))
        .collect();
    for (name, server) in &loaded.effective.mcp.servers {
        all.insert(name.clone(), (server.clone(), From::Config));
    }
    Ok(all)
}

/// A name that can stand in the names of tools.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 40 || !name.chars().all(good) || name.contains("__") {
        bail!(Failed {
            message: format!("not a name for a server: `{}`", name.escape_debug()),
            hint: Some("use up to 40 of `a-z 0-9 - _`, and no `__`".to_owned()),
        });
    }
    Ok(())
}

/// The servers that are switched on, ready to be started. One that cannot be is left out, and the
/// reason is told.
pub(crate) fn ready(home: &Home, loaded: &mut Loaded) -> Vec<RemoteSpec> {
    let servers = match all(home, loaded) {
        Ok(servers) => servers,
        Err(error) => {
            loaded.notices.push(error.to_string());
            return Vec::new();
        }
    };
    let mut ready = Vec::new();
    for (name, (server, _)) in servers {
        if server.disabled {
            continue;
        }
        match spec(&name, &server) {
            Ok(spec) => ready.push(spec),
            Err(error) => {
                let notice = format!("the MCP server `{name}` is left out: {error}");
                loaded.notices.push(notice);
            }
        }
    }
    ready
}

fn spec(name: &str, server: &McpServer) -> Result<RemoteSpec> {
    check_name(name)?;
    if server.command.is_empty() {
        bail!("it has no `command`");
    }
    let fill = |text: &String| filled(text, &|name| std::env::var(name).ok());
    let env = server
        .env
        .iter()
        .map(|(key, value)| Ok((key.clone(), fill(value)?)))
        .collect::<Result<Vec<_>>>()?;
    let args = server.args.iter().map(fill).collect::<Result<Vec<_>>>()?;
    Ok(RemoteSpec {
        name: name.to_owned(),
        program: PartnerProgram {
            command: fill(&server.command)?,
            args,
            env,
            cwd: server.cwd.as_ref().map(PathBuf::from),
        },
        timeout: Duration::from_millis(server.timeout_ms.unwrap_or(TIMEOUT_MS)),
        idle: Duration::from_millis(server.idle_ms.unwrap_or(IDLE_MS)),
        disabled_tools: server.disabled_tools.clone(),
        trust_annotations: server.trust_annotations,
    })
}

/// The text with `${NAME}` and `${NAME:-default}` filled in.
fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            bail!("`${{` is not closed");
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let value = variable(name).filter(|value| !value.is_empty());
        match value.or(default.map(str::to_owned)) {
            Some(value) => out.push_str(&value),
            None => bail!("`{name}` is not set"),
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

/// What is known of servers, in haft's home.
pub(crate) struct Kept(pub(crate) Home);

impl Kept {
    fn file(server: &str) -> String {
        format!("mcp-manifest-{server}.json")
    }

    /// Forget what is known of a server.
    pub(crate) fn forget(&self, server: &str) {
        let _ = std::fs::remove_file(self.0.path().join(Self::file(server)));
    }
}

impl Manifests for Kept {
    fn load(&self, server: &str) -> Option<Vec<u8>> {
        let file = Self::file(server);
        self.0.read(&file, LARGEST_MANIFEST).ok().flatten()
    }

    fn save(&self, server: &str, manifest: &[u8]) {
        // What cannot be kept is looked at again.
        if self.0.ensure().is_ok() {
            let _ = self.0.write(&Self::file(server), manifest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in() {
        let variable = |name: &str| (name == "TOKEN").then(|| "t".to_owned());
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(filled(text, &variable).ok().as_deref(), expected, "{text}");
        };
        check("plain $TOKEN", Some("plain $TOKEN"));
        check("a${TOKEN}b${TOKEN:-x}", Some("atbt"));
        check("${NONE:-x}", Some("x"));
        check("${NONE:-}", Some(""));
        check("${NONE}", None);
        check("${TOKEN", None);
    }

    #[test]
    fn names_can_stand_in_names_of_tools() {
        for good in ["a", "git-hub", "a_b", "7"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "A", "a.b", "a b", "a__b", "../x", "ä"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
