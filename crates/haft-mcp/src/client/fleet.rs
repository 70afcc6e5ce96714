//! All servers that are configured, and their tools in the registry.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use haft_core::{DynTool, Source, ToolError};
use haft_runtime::{LookAgain, Runtime};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::time::Instant;

use super::beside::{self, Names};
use super::connect::Hands;
use super::definition::{self, Manifest, Offered};
use super::remote::{Failure, Remote, RemoteSpec};
use super::tool::{Holds, RemoteTool, Target};
use super::words::Words;
use super::{Record, Records};

/// Servers that are looked at side by side.
const AT_ONCE: usize = 8;
/// How soon a server may be asked again for a tool that it did not have.
const BETWEEN: Duration = Duration::from_secs(5);

/// Servers of others, and what is known of them.
pub struct Fleet {
    members: BTreeMap<String, Arc<Member>>,
    changed: watch::Sender<u64>,
}

struct Member {
    remote: OnceLock<Arc<Remote>>,
    spec: RemoteSpec,
    manifest: Mutex<Arc<Manifest>>,
    /// It has been looked at before, and what was seen is kept
    known: AtomicBool,
    records: Arc<dyn Records>,
    runtime: Weak<Runtime>,
    changed: watch::Sender<u64>,
    /// When it was last asked for a tool that nobody knows
    asked: AsyncMutex<Option<Instant>>,
}

/// What a server offers beside its tools, in its own words, and the tools of ours that get it.
#[derive(Debug, Clone)]
pub struct Beside {
    pub server: String,
    /// Reads resources; none where the server has none
    pub read: Option<String>,
    /// Gets prompts; none where the server has none
    pub get: Option<String>,
    pub resources: Vec<Value>,
    pub templates: Vec<Value>,
    pub prompts: Vec<Value>,
}

impl Beside {
    /// Where a resource of this server is found among ours.
    pub fn address(&self, uri: &str) -> String {
        beside::address(&self.server, uri)
    }
}

/// How a server does.
#[derive(Debug, Clone, Serialize)]
pub struct Health {
    pub server: String,
    pub tools: usize,
    pub resources: usize,
    pub prompts: usize,
    /// About what its definitions cost a model that is shown them whole
    pub tokens: usize,
    /// It has been looked at before
    pub known: bool,
    /// What it says of itself; nobody vouches for it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Tools whose definitions have changed since they were agreed to
    pub changed: Vec<String>,
    /// Tools that are switched off; they count for nothing above
    pub off: usize,
    /// Why it could not be reached when it was last tried
    pub failure: Option<Failure>,
}

impl Fleet {
    /// Register what is known of these servers. Nothing is started.
    pub fn gather(specs: Vec<RemoteSpec>, runtime: &Arc<Runtime>, hands: &Hands) -> Self {
        let mut members = BTreeMap::new();
        let changed = watch::Sender::new(0);
        for spec in specs {
            let manifest = hands
                .records
                .load(Record::Manifest, &spec.record())
                .and_then(|bytes| serde_json::from_slice(&bytes).ok());
            let known = manifest.is_some();
            let member = Arc::new(Member {
                remote: OnceLock::new(),
                spec: spec.clone(),
                manifest: Mutex::new(manifest.unwrap_or_default()),
                known: AtomicBool::new(known),
                records: hands.records.clone(),
                runtime: Arc::downgrade(runtime),
                changed: changed.clone(),
                asked: AsyncMutex::default(),
            });
            let renewed = {
                let member = Arc::downgrade(&member);
                Box::new(move |offered: Offered| {
                    if let Some(member) = member.upgrade() {
                        member.renew(offered);
                    }
                })
            };
            let remote = Arc::new(Remote::new(spec.clone(), hands.clone(), renewed));
            let _first = member.remote.set(remote);
            if known {
                member.register();
            }
            members.insert(spec.name, member);
        }
        runtime.looking_again(looking_again(&members));
        Fleet { members, changed }
    }

    /// What the servers offer beside their tools, as far as they were looked at.
    pub fn beside(&self) -> Vec<Beside> {
        self.members
            .values()
            .map(|member| member.beside())
            .collect()
    }

    /// Counts up when resources or prompts of a server change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// Servers that nobody has looked at yet.
    pub fn unknown(&self) -> Vec<String> {
        let members = self.members.iter();
        members
            .filter(|(_, member)| !member.known.load(Ordering::Relaxed))
            .map(|(name, _)| name.clone())
            .collect()
    }

    pub fn health(&self) -> Vec<Health> {
        self.members
            .values()
            .map(|member| member.health())
            .collect()
    }

    /// Start a server if it is not running, and look at what it offers.
    pub async fn look_at(&self, server: &str) -> Result<Health, ToolError> {
        let member = self.members.get(server).ok_or_else(|| {
            ToolError::not_available(format!("no such MCP server: `{server}`"))
                .hint("list them with `haft mcp list`")
        })?;
        if let Some(remote) = member.remote.get() {
            remote.connected().await?;
        }
        Ok(member.health())
    }

    /// What can be switched off of a server: its tools and ours for it, also those that are off
    /// already. None where nobody has looked at it.
    pub fn tools(&self, server: &str) -> Option<Vec<String>> {
        let member = self.members.get(server)?;
        let manifest = member.manifest();
        let names = Names::of(&manifest);
        let theirs = manifest.distinct().into_iter();
        let tools = theirs.map(|(name, _)| name.into_owned());
        let known = member.known.load(Ordering::Relaxed);
        known.then(|| tools.chain(names.read).chain(names.get).collect())
    }

    /// Look at the servers that nobody has looked at, some at a time: one that never answers must
    /// not hide the others. What a server offers is there as soon as it has said so; failures are
    /// told.
    pub async fn look_around(&self, failed: impl Fn(ToolError)) {
        let looking = self.unknown().into_iter().map(async |server| {
            if let Err(error) = self.look_at(&server).await {
                failed(error);
            }
        });
        stream::iter(looking)
            .buffer_unordered(AT_ONCE)
            .collect()
            .await
    }

    /// The end of what a server said on its standard error.
    pub fn complaints(&self, server: &str) -> Option<String> {
        let member = self.members.get(server)?;
        member.remote.get().map(|remote| remote.complaints())
    }

    /// Stop whatever runs, all at once: each has a moment to go by itself.
    pub async fn stop(&self) {
        let remotes = self.members.values().filter_map(|one| one.remote.get());
        join_all(remotes.map(|remote| remote.stop())).await;
    }
}

/// Finds the server of a name and asks it what it has.
fn looking_again(members: &BTreeMap<String, Arc<Member>>) -> LookAgain {
    let members = members.iter();
    let members: BTreeMap<String, Weak<Member>> = members
        .map(|(name, member)| (name.clone(), Arc::downgrade(member)))
        .collect();
    Box::new(move |server: &str| {
        let member = members.get(&server.to_ascii_lowercase()).cloned();
        Box::pin(async move {
            if let Some(member) = member.and_then(|member| member.upgrade()) {
                member.ask_again().await;
            }
        })
    })
}

impl Member {
    /// Ask the server what it has, unless that was done just now: who makes up names must not keep
    /// it busy.
    async fn ask_again(&self) {
        let mut asked = self.asked.lock().await;
        if asked.is_some_and(|asked| asked.elapsed() < BETWEEN) {
            return;
        }
        if let Some(remote) = self.remote.get() {
            remote.ask_again().await;
        }
        *asked = Some(Instant::now());
    }

    fn manifest(&self) -> Arc<Manifest> {
        self.manifest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn health(&self) -> Health {
        let manifest = self.manifest();
        let tools = manifest.distinct().into_iter();
        let (off, on): (Vec<_>, Vec<_>) = tools.partition(|(name, _)| self.is_off(name));
        let bytes: usize = on.iter().map(|(_, words)| words.len()).sum();
        Health {
            server: self.spec.name.clone(),
            tools: on.len(),
            resources: manifest.resources.len() + manifest.templates.len(),
            prompts: manifest.prompts.len(),
            // Four characters make about one token.
            tokens: bytes / 4,
            known: self.known.load(Ordering::Relaxed),
            instructions: manifest.instructions.clone(),
            changed: manifest.agreed.keys().cloned().collect(),
            off: off.len(),
            failure: Failure::load(&*self.records, &self.spec.record()),
        }
    }

    fn is_off(&self, tool: &str) -> bool {
        self.spec.disabled_tools.iter().any(|off| off == tool)
    }

    fn beside(&self) -> Beside {
        let manifest = self.manifest();
        let names = Names::of(&manifest);
        let full = |name: String| format!("mcp.{}.{name}", self.spec.name);
        Beside {
            server: self.spec.name.clone(),
            read: names.read.map(full),
            get: names.get.map(full),
            resources: values(&manifest.resources),
            templates: values(&manifest.templates),
            prompts: values(&manifest.prompts),
        }
    }

    /// The server says what it offers now.
    fn renew(self: &Arc<Self>, offered: Offered) {
        let known = self.known.swap(true, Ordering::Relaxed);
        let other_things = {
            let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
            let ours = beside::ours(&self.spec.name, &manifest);
            let new = manifest.renewed(offered, &ours);
            if known && new == **manifest {
                return;
            }
            let other_things = new.resources != manifest.resources
                || new.templates != manifest.templates
                || new.prompts != manifest.prompts;
            *manifest = Arc::new(new);
            other_things
        };
        self.save();
        self.register();
        if other_things {
            self.changed.send_modify(|count| *count += 1);
        }
    }

    /// Whether a tool is still what it was when a call of it was judged. Where that was a change, the
    /// call is here because a person has seen it and said yes: to this one, not to a later one.
    fn holds(self: &Arc<Self>, tool: &str, judged: &Arc<Manifest>) -> bool {
        let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&manifest, judged) && manifest.tool(tool) != judged.tool(tool) {
            return false;
        }
        if judged.agreed.contains_key(tool) && manifest.agreed.contains_key(tool) {
            Arc::make_mut(&mut manifest).agreed.remove(tool);
            drop(manifest);
            self.save();
            self.register();
        }
        true
    }

    fn save(&self) {
        if let Ok(bytes) = serde_json::to_vec(&*self.manifest()) {
            self.records
                .save(Record::Manifest, &self.spec.record(), &bytes);
        }
    }

    /// Put the tools into the registry in the place of those that were there.
    fn register(self: &Arc<Self>) {
        let (Some(runtime), Some(remote)) = (self.runtime.upgrade(), self.remote.get()) else {
            return;
        };
        let manifest = self.manifest();
        let holds: Holds = {
            let member = Arc::downgrade(self);
            Arc::new(move |tool: &str, judged: &Arc<Manifest>| {
                let member = member.upgrade();
                member.is_some_and(|member| member.holds(tool, judged))
            })
        };
        let said: Option<Arc<str>> = manifest.instructions.as_deref().map(Arc::from);
        let tools = manifest.distinct().into_iter().filter_map(|(name, words)| {
            if self.is_off(&name) {
                return None;
            }
            let tool = words.value();
            let difference = manifest
                .agreed
                .get(&*name)
                .map(|agreed| definition::difference(&agreed.value(), &tool));
            let mut spec = definition::spec(&self.spec, tool)?;
            spec.said = said.clone();
            spec.redefined = difference.is_some();
            spec.has_preview = difference.is_some();
            let tool: Arc<dyn DynTool> = Arc::new(RemoteTool {
                spec,
                target: Target::Tool(name.into_owned()),
                remote: remote.clone(),
                difference,
                judged: manifest.clone(),
                holds: holds.clone(),
            });
            Some(tool)
        });
        let tools = tools.chain(self.others(&manifest, remote, &holds));
        let source = Source::Mcp(self.spec.name.clone());
        // Removing what is there cannot fail, and what cannot be added is kept out by itself.
        let left_out = manifest.left_out.iter().map(|left_out| {
            let name = match left_out.kind.as_str() {
                "tools" => format!("mcp.{}.{}", self.spec.name, left_out.name),
                kind => format!("mcp.{} ({kind}): {}", self.spec.name, left_out.name),
            };
            (name, left_out.reason.clone())
        });
        let registry = runtime.registry();
        let _ = registry.replace_source(&source, tools, left_out);
    }

    /// Our tools for what the server has beside its own.
    fn others(
        &self,
        manifest: &Arc<Manifest>,
        remote: &Arc<Remote>,
        holds: &Holds,
    ) -> Vec<Arc<dyn DynTool>> {
        let server = &self.spec.name;
        let names = Names::of(manifest);
        let resources = json!({
            "resources": manifest.resources,
            "resourceTemplates": manifest.templates,
        });
        let prompts = json!({"prompts": manifest.prompts});
        let read = names.read.map(|name| {
            let target = Target::Resource(resources.to_string().into());
            (beside::reading(server, &name), target)
        });
        let get = names.get.map(|name| {
            let target = Target::Prompt(prompts.to_string().into());
            (beside::getting(server, &name), target)
        });
        let is_on = |definition: &Value| {
            let off = &self.spec.disabled_tools;
            off.iter().all(|off| definition["name"] != off.as_str())
        };
        [read, get]
            .into_iter()
            .flatten()
            .filter(|(definition, _)| is_on(definition))
            .filter_map(|(definition, target)| {
                let mut spec = definition::spec(&self.spec, definition)?;
                spec.said = manifest.instructions.as_deref().map(Arc::from);
                let tool: Arc<dyn DynTool> = Arc::new(RemoteTool {
                    spec,
                    target,
                    remote: remote.clone(),
                    difference: None,
                    judged: manifest.clone(),
                    holds: holds.clone(),
                });
                Some(tool)
            })
            .collect()
    }
}

fn values(words: &[Words]) -> Vec<Value> {
    words.iter().map(Words::value).collect()
}
