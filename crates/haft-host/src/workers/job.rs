//! What a worker can be asked to do, and what it works with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::files::Described;
use crate::place::path_bytes;
use crate::process::Variables;
use crate::{
    EnvPolicy, FileResults, LineRange, Mark, ProcessConfig, Resolved, Sandbox, ShellRequest,
    Workspace,
};

/// One part of a call, as a power would do it. Each has its own kind of answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    Run(RunJob),
    Read {
        place: Resolved,
        range: LineRange,
    },
    ReadBytes {
        place: Resolved,
    },
    Write {
        place: Resolved,
        content: Bytes,
        mark: Mark,
    },
    Present {
        place: Resolved,
    },
}

/// A command with the environment it gets.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunJob {
    pub(crate) request: ShellRequest,
    pub(crate) environment: Variables,
    /// Whose result the whole output becomes
    pub(crate) session: String,
    /// Whose changes those of the command are, if they are kept
    pub(crate) mark: Option<Mark>,
}

impl Job {
    /// Whether it can leave something changed behind.
    pub(super) fn changes(&self) -> bool {
        match self {
            Job::Run(_) | Job::Write { .. } => true,
            Job::Read { .. } | Job::ReadBytes { .. } | Job::Present { .. } => false,
        }
    }
}

/// What every job of a worker shares: the powers of the process that started it, in words.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(super) workspace: Described,
    #[serde(with = "path_bytes")]
    shell: PathBuf,
    max_output: u64,
    max_timeout: Duration,
    pub(super) env: EnvPolicy,
    sandbox: Option<Sandbox>,
    session: Option<Vec<OsString>>,
    watched: Option<Vec<OsString>>,
    results: Option<OsString>,
    pub(super) memory: u64,
}

impl Setup {
    pub(crate) fn new(
        config: &ProcessConfig,
        shell: &Path,
        workspace: &Workspace,
        results: Option<&FileResults>,
    ) -> Self {
        Setup {
            workspace: workspace.described(),
            shell: shell.to_owned(),
            max_output: config.max_output,
            max_timeout: config.max_timeout,
            env: config.env.clone(),
            sandbox: config.sandbox.clone(),
            session: config.session.clone(),
            watched: config.watched.clone(),
            results: results.map(|results| results.folder_for_rings().into_os_string()),
            memory: u64::MAX,
        }
    }

    /// With this much memory for each worker.
    pub(super) fn within(mut self, memory: u64) -> Self {
        self.memory = memory;
        self
    }

    /// The same way to run commands. Nothing of it starts a guardian or a worker: the process
    /// above has both.
    pub(super) fn processes(&self) -> ProcessConfig {
        ProcessConfig {
            max_output: self.max_output,
            max_timeout: self.max_timeout,
            env: self.env.clone(),
            shell: Some(self.shell.clone()),
            sandbox: self.sandbox.clone(),
            session: self.session.clone(),
            watched: self.watched.clone(),
            ..ProcessConfig::default()
        }
    }

    pub(super) fn results(&self) -> Option<FileResults> {
        let dir = self.results.clone()?;
        Some(FileResults::at(dir.into()))
    }
}

/// Bytes as text.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bytes(#[serde(with = "base64_bytes")] pub(crate) Vec<u8>);

pub(crate) mod base64_bytes {
    use std::borrow::Cow;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD_NO_PAD;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD_NO_PAD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        STANDARD_NO_PAD
            .decode(text.as_bytes())
            .map_err(serde::de::Error::custom)
    }
}
