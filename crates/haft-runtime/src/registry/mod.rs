//! Every tool of every source. Readers take an immutable snapshot and never lock; writers build
//! the next one and swap it whole.

mod entry;
mod names;
mod plain;
mod schema;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use haft_core::{DynTool, Module, Pack, Source, ToolContext, ToolSpec};
use serde::Serialize;
use thiserror::Error;
use tokio::sync::watch;

pub use self::entry::Entry;
use self::names::Names;
use self::schema::Schema;
use crate::{ReducerTaken, visible};

/// The live registry.
#[derive(Default)]
pub struct Registry {
    current: ArcSwap<Snapshot>,
    revision: AtomicU64,
    writing: Mutex<()>,
    changed: watch::Sender<u64>,
}

/// All tools at one moment.
#[derive(Default, Clone)]
pub struct Snapshot {
    revision: u64,
    entries: Vec<Arc<Entry>>,
    names: Names,
    quarantined: Vec<Quarantined>,
    modules: BTreeMap<&'static str, Module>,
}

/// A tool that was kept out, and why. The rest work on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quarantined {
    pub name: String,
    pub reason: String,
    /// Where it comes from, if not built in
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegisterError {
    #[error("a tool is already registered under this name: `{0}`")]
    NameTaken(String),
    #[error("`{tool}` and `{other}` both claim the alias `{alias}`")]
    AliasTaken {
        alias: String,
        tool: String,
        other: String,
    },
    #[error("not a tool name: `{0}`")]
    BadName(String),
    #[error("no such tool: `{0}`")]
    Unknown(String),
    #[error(transparent)]
    Reducer(#[from] ReducerTaken),
}

impl Registry {
    pub fn new() -> Self {
        Registry::default()
    }

    /// Tells the revision each time it changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The tools of this moment.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Grows with every change, after the change can be seen.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Add one tool, tagged with the plugin it comes from. A schema that does not compile
    /// quarantines the tool; that is not an error.
    pub fn register(
        &self,
        tool: Arc<dyn DynTool>,
        plugin: Option<&str>,
    ) -> Result<(), RegisterError> {
        self.change(|next| next.add(tool, plugin))
    }

    /// Add many tools in one step: all of them, or none if a name is taken.
    pub fn register_all(
        &self,
        tools: impl IntoIterator<Item = Arc<dyn DynTool>>,
    ) -> Result<(), RegisterError> {
        self.change(|next| tools.into_iter().try_for_each(|tool| next.add(tool, None)))
    }

    /// Add modules with their tools. Reducers are the runtime's business.
    pub fn register_packs<'a>(
        &self,
        packs: impl IntoIterator<Item = &'a Pack>,
    ) -> Result<(), RegisterError> {
        self.change(|next| {
            packs.into_iter().try_for_each(|pack| {
                next.modules.insert(pack.module.name, pack.module);
                pack.tools
                    .iter()
                    .try_for_each(|tool| next.add(tool.clone(), None))
            })
        })
    }

    /// Put a tool in the place of the one that has its name.
    pub fn replace(
        &self,
        tool: Arc<dyn DynTool>,
        plugin: Option<&str>,
    ) -> Result<(), RegisterError> {
        self.change(|next| {
            next.remove(&tool.spec().name)?;
            next.add(tool, plugin)
        })
    }

    /// Put these tools in the place of all that a source has, in one step. One that cannot be
    /// registered is kept out, and the rest work on; those that never came to be tools are given by
    /// name and reason.
    pub fn replace_source(
        &self,
        source: &Source,
        tools: impl IntoIterator<Item = Arc<dyn DynTool>>,
        left_out: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), RegisterError> {
        self.change(|next| {
            let gone: Vec<Arc<str>> = next
                .entries
                .iter()
                .filter(|entry| entry.source() == source)
                .map(|entry| entry.spec().name.clone())
                .collect();
            for name in gone {
                next.remove(&name)?;
            }
            next.quarantined
                .retain(|quarantined| quarantined.source.as_ref() != Some(source));
            for tool in tools {
                let name = tool.spec().name.to_string();
                let before = next.quarantined.len();
                if let Err(error) = next.add(tool, None) {
                    next.quarantined.push(Quarantined {
                        name,
                        reason: error.to_string(),
                        source: None,
                    });
                }
                for quarantined in &mut next.quarantined[before..] {
                    quarantined.source = Some(source.clone());
                    // A line of its own is ours to begin.
                    for text in [&mut quarantined.name, &mut quarantined.reason] {
                        *text = visible(text).replace('\n', "\\n");
                    }
                }
            }
            let source = Some(source.clone());
            next.quarantined
                .extend(left_out.into_iter().map(|(name, reason)| Quarantined {
                    name,
                    reason,
                    source: source.clone(),
                }));
            Ok(())
        })
    }

    pub fn unregister(&self, name: &str) -> Result<(), RegisterError> {
        self.change(|next| next.remove(name))
    }

    pub fn get(&self, name: &str) -> Option<Arc<Entry>> {
        self.current.load().get(name).cloned()
    }

    pub fn get_by_api_name(&self, api_name: &str) -> Option<Arc<Entry>> {
        self.current.load().get_by_api_name(api_name).cloned()
    }

    pub fn has(&self, name: &str) -> bool {
        self.current.load().get(name).is_some()
    }

    pub fn list(&self) -> Vec<Arc<Entry>> {
        self.current.load().entries.clone()
    }

    /// The tools that can be called now.
    pub fn available(&self, cx: &ToolContext) -> Vec<Arc<Entry>> {
        self.filter(|entry| entry.unavailable(cx).is_none())
    }

    pub fn for_toolset(&self, toolset: &str) -> Vec<Arc<Entry>> {
        self.filter(|entry| entry.spec().toolset.as_deref() == Some(toolset))
    }

    pub fn by_source(&self, source: &Source) -> Vec<Arc<Entry>> {
        self.filter(|entry| entry.source() == source)
    }

    fn filter(&self, keep: impl Fn(&Entry) -> bool) -> Vec<Arc<Entry>> {
        self.current
            .load()
            .entries
            .iter()
            .filter(|entry| keep(entry))
            .cloned()
            .collect()
    }

    /// Build the next snapshot from this one and swap it in, or leave everything as it was.
    fn change(
        &self,
        step: impl FnOnce(&mut Snapshot) -> Result<(), RegisterError>,
    ) -> Result<(), RegisterError> {
        let _one_writer = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Snapshot::clone(&self.current.load());
        step(&mut next)?;
        next.revision += 1;
        let revision = next.revision;
        self.current.store(Arc::new(next));
        self.revision.store(revision, Ordering::Release);
        self.changed.send_replace(revision);
        Ok(())
    }
}

impl Snapshot {
    /// Grows with every change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    pub fn quarantined(&self) -> &[Quarantined] {
        &self.quarantined
    }

    pub fn modules(&self) -> impl Iterator<Item = &Module> {
        self.modules.values()
    }

    pub fn module(&self, name: &str) -> Option<&Module> {
        self.modules.get(name)
    }

    /// By canonical name, exactly.
    pub fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.names.canonical(name).map(|index| &self.entries[index])
    }

    pub fn get_by_api_name(&self, api_name: &str) -> Option<&Arc<Entry>> {
        self.names.api(api_name).map(|index| &self.entries[index])
    }

    /// By any accepted name: exact, alias, API form, ignoring case where only one tool fits, then
    /// with the first `_` for a dot. Nothing is guessed.
    pub fn resolve(&self, name: &str) -> Option<usize> {
        self.names.resolve(name)
    }

    /// Every name a tool answers to, with the tool's position.
    pub(crate) fn all_names(&self) -> impl Iterator<Item = (&str, usize)> {
        self.names.all()
    }

    fn add(&mut self, tool: Arc<dyn DynTool>, plugin: Option<&str>) -> Result<(), RegisterError> {
        let spec = tool.spec();
        if !names::acceptable(&spec.name) {
            return Err(RegisterError::BadName(spec.name.to_string()));
        }
        // What a type says of itself can wait for the first look.
        let worded = spec.is_worded().then(|| &spec.input_schema);
        let input = worded.map(Schema::of_input).transpose();
        let schemas = input.and_then(|input| {
            // Our own tools are held to what they promise by tests.
            let promised = spec.output_schema.as_ref();
            let promised = promised.filter(|_| spec.source != Source::Builtin);
            Ok((input, promised.map(Schema::of_output).transpose()?))
        });
        let (input, output) = match schemas {
            Ok(schemas) => schemas,
            Err(reason) => {
                self.quarantined.push(Quarantined {
                    name: spec.name.to_string(),
                    reason,
                    source: None,
                });
                return Ok(());
            }
        };
        let aliases = names::aliases_of(spec);
        let api_name = self
            .names
            .claim(&spec.name, &aliases, self.entries.len(), |index| {
                self.entries[index].spec().name.to_string()
            })?;
        let entry = Entry::new(tool, api_name.into(), input, output, plugin);
        self.entries.push(Arc::new(entry));
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), RegisterError> {
        self.quarantined
            .retain(|quarantined| quarantined.name != name);
        let gone = self
            .names
            .canonical(name)
            .ok_or_else(|| RegisterError::Unknown(name.to_owned()))?;
        self.entries.remove(gone);
        self.names.forget(gone);
        Ok(())
    }
}

impl Entry {
    /// What is known about the tool.
    pub fn spec(&self) -> &ToolSpec {
        self.tool().spec()
    }
}
