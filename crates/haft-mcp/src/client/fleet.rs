//! All servers that are configured, and their tools in the registry.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use haft_core::{DynTool, Source, ToolError};
use haft_runtime::Runtime;
use serde::Serialize;
use serde_json::Value;

use super::connect::Hands;
use super::definition::{self, Manifest};
use super::remote::{Remote, RemoteSpec};
use super::tool::{Agree, RemoteTool};
use super::{Record, Records};

/// Servers of others, and what is known of them.
pub struct Fleet {
    members: BTreeMap<String, Arc<Member>>,
}

struct Member {
    remote: OnceLock<Arc<Remote>>,
    spec: RemoteSpec,
    manifest: Mutex<Manifest>,
    records: Arc<dyn Records>,
    runtime: Weak<Runtime>,
}

/// How a server does.
#[derive(Debug, Clone, Serialize)]
pub struct Health {
    pub server: String,
    pub tools: usize,
    /// About what its definitions cost a model that is shown them whole
    pub tokens: usize,
    /// It has been looked at before
    pub known: bool,
    /// Tools whose definitions have changed since they were agreed to
    pub changed: Vec<String>,
}

impl Fleet {
    /// Register what is known of these servers. Nothing is started.
    pub fn gather(specs: Vec<RemoteSpec>, runtime: &Arc<Runtime>, hands: &Hands) -> Self {
        let mut members = BTreeMap::new();
        for spec in specs {
            let manifest = hands
                .records
                .load(Record::Manifest, &spec.name)
                .and_then(|bytes| serde_json::from_slice(&bytes).ok());
            let known = manifest.is_some();
            let member = Arc::new(Member {
                remote: OnceLock::new(),
                spec: spec.clone(),
                manifest: Mutex::new(manifest.unwrap_or_default()),
                records: hands.records.clone(),
                runtime: Arc::downgrade(runtime),
            });
            let renewed = {
                let member = Arc::downgrade(&member);
                Box::new(move |instructions: Option<String>, tools: Vec<Value>| {
                    if let Some(member) = member.upgrade() {
                        member.renew(instructions, tools);
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
        Fleet { members }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// Servers that nobody has looked at yet.
    pub fn unknown(&self) -> Vec<String> {
        self.health()
            .into_iter()
            .filter(|health| !health.known)
            .map(|health| health.server)
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

    /// The end of what a server said on its standard error.
    pub fn complaints(&self, server: &str) -> Option<String> {
        let member = self.members.get(server)?;
        member.remote.get().map(|remote| remote.complaints())
    }

    /// Stop whatever runs.
    pub async fn stop(&self) {
        for member in self.members.values() {
            if let Some(remote) = member.remote.get() {
                remote.stop().await;
            }
        }
    }
}

impl Member {
    fn manifest(&self) -> Manifest {
        self.manifest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn health(&self) -> Health {
        let manifest = self.manifest();
        let bytes: usize = manifest
            .tools
            .iter()
            .map(|tool| tool.to_string().len())
            .sum();
        Health {
            server: self.spec.name.clone(),
            tools: manifest.distinct().len(),
            // Four characters make about one token.
            tokens: bytes / 4,
            known: self
                .records
                .load(Record::Manifest, &self.spec.name)
                .is_some(),
            changed: manifest.agreed.into_keys().collect(),
        }
    }

    /// The server says what it offers now.
    fn renew(self: &Arc<Self>, instructions: Option<String>, tools: Vec<Value>) {
        let known = self
            .records
            .load(Record::Manifest, &self.spec.name)
            .is_some();
        {
            let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
            let new = manifest.renewed(instructions, tools);
            let same = known
                && new.tools == manifest.tools
                && new.agreed == manifest.agreed
                && new.instructions == manifest.instructions;
            if same {
                return;
            }
            *manifest = new;
        }
        self.save();
        self.register();
    }

    /// A person has agreed to a tool as it is now.
    fn agree(self: &Arc<Self>, tool: &str) {
        let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        if manifest.agreed.remove(tool).is_none() {
            return;
        }
        drop(manifest);
        self.save();
        self.register();
    }

    fn save(&self) {
        if let Ok(bytes) = serde_json::to_vec(&self.manifest()) {
            let name = &self.spec.name;
            self.records.save(Record::Manifest, name, &bytes);
        }
    }

    /// Put the tools into the registry in the place of those that were there.
    fn register(self: &Arc<Self>) {
        let (Some(runtime), Some(remote)) = (self.runtime.upgrade(), self.remote.get()) else {
            return;
        };
        let manifest = self.manifest();
        let agree: Agree = {
            let member = Arc::downgrade(self);
            Arc::new(move |tool: &str| {
                if let Some(member) = member.upgrade() {
                    member.agree(tool);
                }
            })
        };
        let tools = manifest.distinct().into_iter().filter_map(|tool| {
            let name = tool["name"].as_str()?;
            if self.spec.disabled_tools.iter().any(|off| off == name) {
                return None;
            }
            let mut spec = definition::spec(&self.spec, tool)?;
            let difference = manifest
                .agreed
                .get(name)
                .map(|agreed| definition::difference(agreed, tool));
            spec.requires_approval |= difference.is_some();
            spec.has_preview = difference.is_some();
            let tool: Arc<dyn DynTool> = Arc::new(RemoteTool {
                spec,
                name: name.to_owned(),
                remote: remote.clone(),
                difference,
                agree: agree.clone(),
            });
            Some(tool)
        });
        let source = Source::Mcp(self.spec.name.clone());
        // Removing what is there cannot fail, and what cannot be added is kept out by itself.
        let _ = runtime.registry().replace_source(&source, tools);
    }
}
