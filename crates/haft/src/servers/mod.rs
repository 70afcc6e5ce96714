//! The MCP servers that are configured: those in the config, those that `haft mcp add` has put
//! into haft's own record, and those of a trusted `.mcp.json`. What is known of their tools is kept
//! beside.

mod fill;
pub(crate) mod forgotten;
pub(crate) mod project;
pub(crate) mod switched;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use haft_host::PartnerProgram;
use haft_mcp::{HttpServer, OauthSpec, Record, Records, RemoteSpec, Way};
use haft_runtime::mask;

use crate::config::{Loaded, McpServer};
use crate::home::Home;
use crate::recording::{Recording, failed};
use crate::secrets;
use crate::terminal::fail::Failed;
use fill::{Values, filled};

const FILE: &str = "mcp-servers.json";
/// The kind of thing that a manifest is in the store.
const MANIFEST: &str = "mcp-manifest";
/// Why a server could not be reached.
const FAILURE: &str = "mcp-failure";
/// The workspace from which it was last looked at.
const PLACE: &str = "mcp-place";
const LARGEST: u64 = 1 << 20;
const TIMEOUT_MS: u64 = 60_000;
const IDLE_MS: u64 = 300_000;

/// Where a server was configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Config,
    Added,
    /// The project's `.mcp.json`
    Project,
}

impl From {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            From::Config => "config",
            From::Added => "added",
            From::Project => ".mcp.json",
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

/// Note of a server that is about to be added where it lies. Only now its name may lead inside: one
/// that comes to do so later is not what was agreed to.
pub(crate) fn locate(server: &mut McpServer, engine: &tokio::runtime::Runtime) {
    if let Some(url) = server.url.as_ref().filter(|url| !url.contains("${")) {
        let web = haft_host::Web::new(haft_host::Reach::public());
        server.private |= engine.block_on(web.leads_inside(url));
    }
}

/// All of them. A name in the config goes before the same one that was added, and that before one
/// of the project: what comes with a clone takes nothing over.
pub(crate) fn all(home: &Home, loaded: &mut Loaded) -> Result<BTreeMap<String, (McpServer, From)>> {
    let mut of_project = project::servers(home, &loaded.workspace, &mut loaded.notices);
    switched::apply(home, &loaded.workspace, &mut of_project)?;
    let mut all: BTreeMap<_, _> = of_project
        .into_iter()
        .map(|(name, server)| (name, (server, From::Project)))
        .collect();
    for (name, server) in added(home)? {
        all.insert(name, (server, From::Added));
    }
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
    let mut hidden = Vec::new();
    let mut left_out = Vec::new();
    for (name, (server, from)) in servers {
        if server.disabled {
            continue;
        }
        match spec(&name, &server, &Here(home), &mut hidden) {
            Ok(mut spec) => {
                spec.identity = identity(&server, from, &loaded.workspace);
                ready.push(spec);
            }
            Err(error) => left_out.push(format!("the MCP server `{name}` is left out: {error}")),
        }
    }
    if !hidden.is_empty() {
        haft_runtime::hide(hidden);
    }
    let told = left_out.iter().map(|told| mask(told).text.into_owned());
    loaded.notices.extend(told);
    ready
}

/// What a server is, as it is configured: values of secrets do not count, since a new one does not
/// make it another server. What a project brings may mean something else in the next.
fn identity(server: &McpServer, from: From, workspace: &Path) -> String {
    let place = (from == From::Project).then_some(workspace);
    let McpServer {
        command,
        args,
        cwd,
        url,
        ..
    } = server;
    let text = format!("{:?}", (command, args, cwd, url, place));
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

/// Why a server cannot be started as it is configured, if so.
pub(crate) fn problem(home: &Home, name: &str, server: &McpServer) -> Option<String> {
    let mut hidden = Vec::new();
    let error = spec(name, server, &Here(home), &mut hidden).err()?;
    haft_runtime::hide(hidden);
    Some(mask(&error.to_string()).text.into_owned())
}

/// Variables of this process and secrets of this home.
struct Here<'a>(&'a Home);

impl Values for Here<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn secret(&self, name: &str) -> Result<Option<String>> {
        secrets::get(self.0, name)
    }
}

fn spec(
    name: &str,
    server: &McpServer,
    values: &dyn Values,
    hidden: &mut Vec<String>,
) -> Result<RemoteSpec> {
    check_name(name)?;
    let mut fill = |key: &str, text: &str| filled(text, key, values, hidden);
    let mut env = Vec::with_capacity(server.env.len());
    for (key, value) in &server.env {
        env.push((key.clone(), fill(key, value)?));
    }
    let args: Result<Vec<_>> = server.args.iter().map(|arg| fill("", arg)).collect();
    let way = match (&server.url, server.command.is_empty()) {
        (None, true) => bail!("it has neither `command` nor `url`"),
        (Some(_), false) => bail!("it has both `command` and `url`"),
        (None, false) => Way::Program(PartnerProgram {
            args: args?,
            command: fill("", &server.command)?,
            env,
            cwd: server.cwd.as_ref().map(PathBuf::from),
        }),
        (Some(url), true) => Way::Http(http(server, fill("", url)?, &mut fill)?),
    };
    Ok(RemoteSpec {
        name: name.to_owned(),
        identity: String::new(),
        way,
        timeout: Duration::from_millis(server.timeout_ms.unwrap_or(TIMEOUT_MS)),
        idle: Duration::from_millis(server.idle_ms.unwrap_or(IDLE_MS)),
        disabled_tools: server.disabled_tools.clone(),
        trust_annotations: server.trust_annotations,
    })
}

fn http(
    server: &McpServer,
    url: String,
    fill: &mut dyn FnMut(&str, &str) -> Result<String>,
) -> Result<HttpServer> {
    let mut headers = Vec::with_capacity(server.headers.len());
    for (name, value) in &server.headers {
        headers.push((name.clone(), fill(name, value)?));
    }
    let oauth = &server.oauth;
    let secret = oauth.client_secret.as_ref();
    let http = HttpServer {
        url,
        headers,
        private: server.private,
        oauth: OauthSpec {
            client_id: oauth.client_id.clone(),
            client_secret: secret
                .map(|secret| fill("client_secret", secret))
                .transpose()?,
            client_metadata_url: oauth.client_metadata_url.clone(),
            scopes: oauth.scopes.clone(),
        },
    };
    match http.problem() {
        Some(problem) => bail!("{problem}"),
        None => Ok(http),
    }
}

/// What is known of servers: what they offer in the store, logins in files of their own.
pub(crate) struct Kept {
    home: Home,
    recording: Arc<Recording>,
    workspace: Option<String>,
    /// A person logs in anew: the login that is there is neither used nor touched
    anew: bool,
}

fn login_file(server: &str) -> String {
    format!("mcp-login-{server}.json")
}

/// Where a login lies that is being made.
fn new_login_file(server: &str) -> String {
    format!("mcp-login-{server}.new.json")
}

/// Begin to log in anew: what an earlier attempt may have left goes.
pub(crate) fn begin_login(home: &Home, server: &str) -> Result<()> {
    Ok(home.remove(&new_login_file(server))?)
}

/// Put a login that was made in the place of the one before; false if none was made.
pub(crate) fn finish_login(home: &Home, server: &str) -> Result<bool> {
    let made = home.read(&new_login_file(server), LARGEST)?;
    if let Some(login) = &made {
        home.write(&login_file(server), login)?;
        home.remove(&new_login_file(server))?;
    }
    Ok(made.is_some())
}

/// Whether there is a login at a server.
pub(crate) fn has_login(home: &Home, server: &str) -> bool {
    matches!(home.read(&login_file(server), LARGEST), Ok(Some(_)))
}

/// Forget the login at a server.
pub(crate) fn forget_login(home: &Home, server: &str) -> Result<()> {
    Ok(home.remove(&login_file(server))?)
}

impl Kept {
    pub(crate) fn new(home: &Home, recording: Arc<Recording>) -> Self {
        Kept {
            home: home.clone(),
            recording,
            workspace: None,
            anew: false,
        }
    }

    /// Seen from a workspace.
    pub(crate) fn seen_from(mut self, workspace: &Path) -> Self {
        self.workspace = workspace.to_str().map(str::to_owned);
        self
    }

    /// For a person who logs in, whatever login there is.
    pub(crate) fn anew(mut self, anew: bool) -> Self {
        self.anew = anew;
        self
    }

    fn login_file(&self, server: &str) -> String {
        match self.anew {
            true => new_login_file(server),
            false => login_file(server),
        }
    }

    /// Forget what the servers of a name offer, and why they were not there.
    pub(crate) fn forget(&self, server: &str) -> Result<()> {
        self.drop_kept(MANIFEST, server)?;
        self.drop_kept(FAILURE, server)?;
        self.drop_kept(PLACE, server)
    }

    fn drop_kept(&self, kind: &'static str, server: &str) -> Result<()> {
        let name = server.to_owned();
        // The record of one server, or all of a name.
        let is_one = move |found: &str| found == name || found.split('#').next() == Some(&name);
        let kept = haft_store::Values::peek(self.home.path(), kind);
        if kept.is_ok_and(|kept| !kept.iter().any(|(found, _)| is_one(found))) {
            return Ok(());
        }
        let values = self.recording.values().map_err(failed)?;
        let gone = values.remove(kind, move |found, _| is_one(found));
        gone.wait().map_err(failed)?;
        Ok(())
    }
}

impl Records for Kept {
    fn load(&self, record: Record, server: &str) -> Option<Vec<u8>> {
        let kind = match record {
            Record::Login => {
                let file = self.login_file(server);
                return self.home.read(&file, LARGEST).ok().flatten();
            }
            Record::Failure => FAILURE,
            Record::Manifest => MANIFEST,
        };
        let found = haft_store::Values::peek_at(self.home.path(), kind, server);
        found.ok().flatten()
    }

    fn save(&self, record: Record, server: &str, bytes: &[u8]) {
        // What cannot be kept is looked at again, or logged in to again.
        let kind = match record {
            Record::Login => {
                if self.home.ensure().is_ok() {
                    let _ = self.home.write(&self.login_file(server), bytes);
                }
                return;
            }
            Record::Failure if bytes.is_empty() => {
                let _ = self.drop_kept(FAILURE, server);
                return;
            }
            Record::Failure => FAILURE,
            Record::Manifest => MANIFEST,
        };
        if let Ok(values) = self.recording.values() {
            if let Some(workspace) = &self.workspace {
                values.put_soon(PLACE, server, workspace.clone().into_bytes());
            }
            let _ = values.put(kind, server, bytes.to_vec()).wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
