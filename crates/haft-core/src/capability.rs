//! Capabilities say what a tool can do to the world; powers are the handles that let it. A tool
//! names its power in its type, the power names its capabilities, each capability names the
//! backend it needs: so a tool can touch nothing that policy and listings do not know of.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// What a tool can do, as nodes report it and skills require it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Capability {
    #[serde(rename = "filesystem.list")]
    FilesystemList,
    #[serde(rename = "filesystem.read")]
    FilesystemRead,
    #[serde(rename = "filesystem.write")]
    FilesystemWrite,
    #[serde(rename = "filesystem.edit")]
    FilesystemEdit,
    #[serde(rename = "text.search")]
    TextSearch,
    #[serde(rename = "shell.exec")]
    ShellExec,
    #[serde(rename = "storage.results")]
    StorageResults,
    #[serde(rename = "storage.memory")]
    StorageMemory,
    #[serde(rename = "storage.journal")]
    StorageJournal,
    #[serde(rename = "attachments.read")]
    AttachmentsRead,
    #[serde(rename = "network.request")]
    NetworkRequest,
    #[serde(rename = "secrets.read")]
    SecretsRead,
}

impl Capability {
    pub const ALL: [Capability; 12] = [
        Capability::FilesystemList,
        Capability::FilesystemRead,
        Capability::FilesystemWrite,
        Capability::FilesystemEdit,
        Capability::TextSearch,
        Capability::ShellExec,
        Capability::StorageResults,
        Capability::StorageMemory,
        Capability::StorageJournal,
        Capability::AttachmentsRead,
        Capability::NetworkRequest,
        Capability::SecretsRead,
    ];

    pub fn id(self) -> &'static str {
        match self {
            Capability::FilesystemList => "filesystem.list",
            Capability::FilesystemRead => "filesystem.read",
            Capability::FilesystemWrite => "filesystem.write",
            Capability::FilesystemEdit => "filesystem.edit",
            Capability::TextSearch => "text.search",
            Capability::ShellExec => "shell.exec",
            Capability::StorageResults => "storage.results",
            Capability::StorageMemory => "storage.memory",
            Capability::StorageJournal => "storage.journal",
            Capability::AttachmentsRead => "attachments.read",
            Capability::NetworkRequest => "network.request",
            Capability::SecretsRead => "secrets.read",
        }
    }

    /// What must be there for this capability to work.
    pub fn backend(self) -> Backend {
        match self {
            Capability::FilesystemList
            | Capability::FilesystemRead
            | Capability::FilesystemWrite
            | Capability::FilesystemEdit
            | Capability::TextSearch => Backend::FsReach,
            Capability::ShellExec => Backend::Process,
            Capability::StorageResults | Capability::StorageMemory | Capability::StorageJournal => {
                Backend::Storage
            }
            Capability::AttachmentsRead => Backend::Attachments,
            Capability::NetworkRequest => Backend::Network,
            Capability::SecretsRead => Backend::Secrets,
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// The kinds of backend a host can offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    Network,
    Secrets,
    Storage,
    FsReach,
    Process,
    Attachments,
}

impl Backend {
    pub const ALL: [Backend; 6] = [
        Backend::Network,
        Backend::Secrets,
        Backend::Storage,
        Backend::FsReach,
        Backend::Process,
        Backend::Attachments,
    ];

    pub fn id(self) -> &'static str {
        match self {
            Backend::Network => "network",
            Backend::Secrets => "secrets",
            Backend::Storage => "storage",
            Backend::FsReach => "fs_reach",
            Backend::Process => "process",
            Backend::Attachments => "attachments",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A handle that a tool may touch. The host implements it.
pub trait Power: Send + Sync + 'static {
    const CAPABILITIES: &'static [Capability];
}

/// The power of a tool that touches nothing.
impl Power for () {
    const CAPABILITIES: &'static [Capability] = &[];
}

/// The powers one caller has, by type. What is not in here cannot be touched.
#[derive(Default, Clone)]
pub struct Powers {
    /// A handful: looking through a list is quicker than hashing
    by_type: Vec<(TypeId, Arc<dyn Any + Send + Sync>)>,
    backends: Vec<Backend>,
    withheld: Vec<(Backend, &'static str)>,
}

impl Powers {
    /// No power but the empty one, which everybody has.
    pub fn none() -> Self {
        Powers::default()
    }

    pub fn insert<P: Power>(&mut self, power: P) {
        for capability in P::CAPABILITIES {
            if !self.backends.contains(&capability.backend()) {
                self.backends.push(capability.backend());
            }
        }
        self.by_type.retain(|(kind, _)| *kind != TypeId::of::<P>());
        self.by_type.push((TypeId::of::<P>(), Arc::new(power)));
    }

    pub fn get<P: Power>(&self) -> Option<&P> {
        if let Some(empty) = (&() as &dyn Any).downcast_ref() {
            return Some(empty);
        }
        let (_, power) = self
            .by_type
            .iter()
            .find(|(kind, _)| *kind == TypeId::of::<P>())?;
        power.downcast_ref()
    }

    pub fn has(&self, backend: Backend) -> bool {
        self.backends.contains(&backend)
    }

    /// Say why this caller has none of a backend that the host could offer.
    pub fn withhold(&mut self, backend: Backend, why: &'static str) {
        self.withheld.push((backend, why));
    }

    /// Why there is none of it, where that was said.
    pub fn why_not(&self, backend: Backend) -> Option<&'static str> {
        let said = self.withheld.iter().find(|(one, _)| *one == backend);
        said.map(|(_, why)| *why)
    }
}

impl fmt::Debug for Powers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Powers")
            .field("backends", &self.backends)
            .finish_non_exhaustive()
    }
}
