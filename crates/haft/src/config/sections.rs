//! The keys of a config, as types. Doc comments become the help and the JSON Schema that editors
//! read. A value that is not given stays empty here, so that files can be laid over each other;
//! the accessors know what holds then.

// Long because it is the list of all keys, section by section.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_host::{Retention, WorkersConfig};
use haft_policy::{AgentConfig, PolicyConfig, ProviderConfig, ToolsConfig};
use haft_runtime::InjectionMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const RESULT_BUDGET: u64 = 80_000;
const TIMEOUT_MS: u64 = 30_000;
const MAX_TIMEOUT_MS: u64 = 30 * 60 * 1000;
const MAX_OUTPUT: u64 = 10 << 20;
const LOGIN_TIMEOUT_MS: u64 = 5000;
const KEEP_DAYS: u64 = 30;
const MIB: u64 = 1 << 20;
const KEEP_RECORDS_DAYS: u64 = 365;

/// Settings of haft: the owner's `config.yaml`, and `haft.yaml` in a workspace
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Which tools may be called, and what is asked first
    pub(crate) tools: ToolsConfig,
    /// What differs for an agent, by its name
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) agents: BTreeMap<String, AgentConfig>,
    /// What differs for a model provider, by its name
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// Budgets and deadlines of calls
    pub(crate) runtime: RuntimeSection,
    /// What file tools may reach
    pub(crate) files: FilesSection,
    /// What helps with the work itself
    pub(crate) dev: DevSection,
    /// How commands are run
    pub(crate) shell: ShellSection,
    /// What is kept from the programs that tools start
    pub(crate) isolation: IsolationSection,
    /// How changes of files are kept, so that they can be undone
    pub(crate) undo: UndoSection,
    /// How long whole results are kept behind their handles
    pub(crate) results: ResultsSection,
    /// How long the record of calls is kept
    pub(crate) journal: JournalSection,
    /// Servers whose tools haft offers as its own
    pub(crate) mcp: McpSection,
    /// Processes of haft's own in which commands run and files are read and written
    pub(crate) workers: WorkersSection,
}

/// Servers whose tools haft offers as its own
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct McpSection {
    /// MCP servers by name
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) servers: BTreeMap<String, McpServer>,
    /// Names by which clients may address `haft mcp --http`, beside those of this machine itself
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allowed_hosts: Vec<String>,
}

/// What is known of haft at a server at which one logs in. Most need nothing of this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpOauth {
    /// The client id, where the server registers nobody by itself
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_id: Option<String>,
    /// Its secret, best as `secret:NAME`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
    /// The URL of a document that describes this client, for servers that take one as the id
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_metadata_url: Option<String>,
    /// Scopes to ask for, in the place of those that the server proposes
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) scopes: Vec<String>,
}

impl McpOauth {
    fn is_default(&self) -> bool {
        *self == McpOauth::default()
    }
}

/// One MCP server: a program that speaks MCP on its standard streams, or a URL
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct McpServer {
    /// The program, for a server that haft starts
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) command: String,
    /// The URL, for a server that is reached over streamable HTTP
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// Headers sent with each request, such as `Authorization: Bearer ${secret:NAME}`
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, String>,
    /// It lies on this machine or in a private network, though its name does not say so
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) private: bool,
    /// For servers at which one logs in with `haft mcp login`
    #[serde(skip_serializing_if = "McpOauth::is_default")]
    pub(crate) oauth: McpOauth,
    /// Its arguments
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) args: Vec<String>,
    /// Variables it sees beside the few that every program needs; `${NAME}` and
    /// `${NAME:-default}` are filled in from haft's own environment, `secret:NAME` and
    /// `${secret:NAME}` from `haft secret`
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) env: BTreeMap<String, String>,
    /// Folder it runs in; the workspace if not given
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cwd: Option<String>,
    /// Switched off
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) disabled: bool,
    /// Tools of it that are switched off
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) disabled_tools: Vec<String>,
    /// Longest silence during a call in milliseconds; 60000 if not given
    #[schemars(range(min = 1, max = 86_400_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_ms: Option<u64>,
    /// Milliseconds without a call after which it is stopped; 300000 if not given
    #[schemars(range(min = 1, max = 86_400_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idle_ms: Option<u64>,
    /// Believe what the server says of its tools, so that those that only read are not asked about
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) trust_annotations: bool,
}

/// Budgets and deadlines of calls
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RuntimeSection {
    /// Characters of results in one turn, shared by the calls of a batch; 80000 if not given
    #[schemars(range(min = 100, max = 100_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result_budget: Option<u64>,
    /// Deadline of a call in milliseconds, where the tool states none; 30000 if not given
    #[schemars(range(min = 1, max = 86_400_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_ms: Option<u64>,
    /// Longest deadline in milliseconds that any call may have; 1800000 if not given
    #[schemars(range(min = 1, max = 86_400_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_timeout_ms: Option<u64>,
    /// Tokens of the context of models that neither an agent's brain nor a provider tells about; if
    /// not given, MCP clients are shown every tool, and `haft tools inject` reckons with 8000
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context_window: Option<u64>,
    /// How much of the tools models are shown, whatever fits; by what fits if not given
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_injection: Option<ToolInjection>,
    /// Modules whose tools are shown with their schemas, whatever fits
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) direct_modules: Vec<String>,
}

/// How much of the tools models are shown
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolInjection {
    /// Every tool with its schema
    Direct,
    /// Every tool by name and one line
    CompactDirect,
    /// Meta-tools, with which the rest is found
    Discovery,
}

impl From<ToolInjection> for InjectionMode {
    fn from(mode: ToolInjection) -> Self {
        match mode {
            ToolInjection::Direct => InjectionMode::Direct,
            ToolInjection::CompactDirect => InjectionMode::CompactDirect,
            ToolInjection::Discovery => InjectionMode::Discovery,
        }
    }
}

/// What helps with the work itself
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DevSection {
    /// Folders with skills, beside the home's and the project's own: absolute, `~/…`, or relative
    /// to the workspace; those in the workspace count once they are trusted
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) skills: Vec<String>,
}

/// What file tools may reach
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FilesSection {
    /// Directories beside the workspace that file tools may use: absolute, `~/…`, or (in a
    /// `haft.yaml`) relative to the workspace
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) roots: Vec<String>,
}

/// How commands are run
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ShellSection {
    /// Bytes of a command's output that are kept; 10485760 if not given
    #[schemars(range(min = 1000, max = 10_000_000_000u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_output: Option<u64>,
    /// Give commands the environment that a login shell sets up, read once; `true` if not given
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) login: Option<bool>,
    /// Milliseconds that the start-up files of a login shell may take; 5000 if not given
    #[schemars(range(min = 1, max = 60_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) login_timeout_ms: Option<u64>,
}

/// How changes of files are kept, so that they can be undone
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UndoSection {
    /// Keep what calls change; yes if not given
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
    /// Largest file, in bytes, whose content is kept; 268435456 if not given
    #[schemars(range(min = 1, max = 1_000_000_000_000u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_file: Option<u64>,
    /// Bytes that are kept of all the files one call changes; 2147483648 if not given
    #[schemars(range(min = 1, max = 1_000_000_000_000u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_call: Option<u64>,
    /// Days after which a call can no longer be undone; 30 if not given
    #[schemars(range(min = 1, max = 36_500))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep_days: Option<u64>,
    /// Bytes that are kept of all calls together, the oldest go first; 5368709120 if not given
    #[schemars(range(min = 1, max = 1_000_000_000_000u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep_bytes: Option<u64>,
}

/// How long whole results are kept behind their handles
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ResultsSection {
    /// Days after which a handle no longer opens anything; 30 if not given
    #[schemars(range(min = 1, max = 36_500))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep_days: Option<u64>,
    /// Bytes that are kept of all results together, the oldest go first; 1073741824 if not given
    #[schemars(range(min = 1, max = 1_000_000_000_000u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep_bytes: Option<u64>,
}

/// Processes of haft's own in which commands run and files are read and written
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WorkersSection {
    /// Use workers; if not given, only when `count` is
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
    /// Workers at once, 0 for none; 4 if not given
    #[schemars(range(min = 0, max = 256))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<u64>,
    /// Megabytes of memory that one worker may have; its commands have limits of their own. 256
    /// if not given
    #[schemars(range(min = 32, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_mb: Option<u64>,
}

/// How long the record of calls is kept
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct JournalSection {
    /// Days after which a call is no longer in the journal; 365 if not given
    #[schemars(range(min = 1, max = 36_500))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep_days: Option<u64>,
    /// Bytes that the records may take together, about, the oldest go first; 2147483648 if not
    /// given
    #[schemars(range(min = 1, max = 1_000_000_000_000u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep_bytes: Option<u64>,
}

/// What is kept from the programs that tools start
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct IsolationSection {
    /// How far the programs that tools start are shut in; `sandboxed` if not given
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) level: Option<IsolationLevel>,
    /// Parts of the sandbox that this machine lacks and that it goes without
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) without: Vec<WeakerMode>,
    /// Environment variables that programs get although their names look like secrets
    #[serde(rename = "envVars", skip_serializing_if = "Vec::is_empty")]
    pub(crate) env_vars: Vec<String>,
    /// Places in home directories that sandboxed programs may read besides what they need to run:
    /// absolute, `~/…`, or (in a `haft.yaml`) relative to the workspace
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) readable: Vec<String>,
}

/// From open to closed.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum IsolationLevel {
    /// Your own rights on this machine
    Shared,
    /// The same rights, with only its own runs to look back on
    Scoped,
    /// The workspace to write in, the rest to read or hidden, no network
    #[default]
    Sandboxed,
    /// A temporary place only, no network, hardly any environment
    AirGapped,
}

impl From<IsolationLevel> for haft_host::Level {
    fn from(level: IsolationLevel) -> Self {
        match level {
            IsolationLevel::Shared => haft_host::Level::Shared,
            IsolationLevel::Scoped => haft_host::Level::Scoped,
            IsolationLevel::Sandboxed => haft_host::Level::Sandboxed,
            IsolationLevel::AirGapped => haft_host::Level::AirGapped,
        }
    }
}

/// A weaker sandbox, by what it lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WeakerMode {
    /// Mounts alone say what may be written, for kernels without Landlock
    NoLandlock,
    /// Root's programs may start as many processes as they like, for kernels before 6.14
    NoProcessLimit,
}

impl From<WeakerMode> for haft_host::Weaker {
    fn from(mode: WeakerMode) -> Self {
        match mode {
            WeakerMode::NoLandlock => haft_host::Weaker::NoLandlock,
            WeakerMode::NoProcessLimit => haft_host::Weaker::NoProcessLimit,
        }
    }
}

impl IsolationSection {
    pub(crate) fn level(&self) -> IsolationLevel {
        self.level.unwrap_or_default()
    }

    /// What programs are kept to.
    pub(crate) fn holds(&self) -> haft_host::Isolation {
        haft_host::Isolation {
            level: self.level().into(),
            without: self.without.iter().map(|&mode| mode.into()).collect(),
        }
    }
}

impl ResultsSection {
    pub(crate) fn retention(&self) -> Retention {
        retention(self.keep_days, self.keep_bytes.unwrap_or(1 << 30))
    }
}

impl JournalSection {
    pub(crate) fn retention(&self) -> Retention {
        let days = self.keep_days.or(Some(KEEP_RECORDS_DAYS));
        retention(days, self.keep_bytes.unwrap_or(2 << 30))
    }
}

fn retention(days: Option<u64>, bytes: u64) -> Retention {
    Retention {
        age: Duration::from_secs(days.unwrap_or(KEEP_DAYS) * 24 * 60 * 60),
        bytes,
    }
}

impl UndoSection {
    pub(crate) fn retention(&self) -> Retention {
        retention(self.keep_days, self.keep_bytes.unwrap_or(5 << 30))
    }

    pub(crate) fn enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    pub(crate) fn limits(&self) -> haft_host::UndoConfig {
        let usual = haft_host::UndoConfig::default();
        haft_host::UndoConfig {
            max_file: self.max_file.unwrap_or(usual.max_file),
            max_call: self.max_call.unwrap_or(usual.max_call),
        }
    }
}

impl WorkersSection {
    /// Whoever gives a number wants them; `enabled` alone brings the usual number.
    pub(crate) fn enabled(&self) -> bool {
        self.enabled.unwrap_or(self.count.is_some()) && self.count() > 0
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.unwrap_or(WorkersConfig::COUNT as u64)
    }

    pub(crate) fn memory_mb(&self) -> u64 {
        self.memory_mb.unwrap_or(WorkersConfig::MEMORY / MIB)
    }
}

impl RuntimeSection {
    pub(crate) fn result_budget(&self) -> u64 {
        self.result_budget.unwrap_or(RESULT_BUDGET)
    }

    pub(crate) fn timeout_ms(&self) -> u64 {
        let given = self.timeout_ms.unwrap_or(TIMEOUT_MS);
        given.min(self.max_timeout_ms())
    }

    pub(crate) fn max_timeout_ms(&self) -> u64 {
        self.max_timeout_ms.unwrap_or(MAX_TIMEOUT_MS)
    }
}

impl ShellSection {
    pub(crate) fn max_output(&self) -> u64 {
        self.max_output.unwrap_or(MAX_OUTPUT)
    }

    pub(crate) fn login(&self) -> bool {
        self.login.unwrap_or(true)
    }

    pub(crate) fn login_timeout_ms(&self) -> u64 {
        self.login_timeout_ms.unwrap_or(LOGIN_TIMEOUT_MS)
    }
}

impl Config {
    /// Tokens of the context of the model that calls, as far as it is known.
    pub(crate) fn context_window(
        &self,
        agent: Option<&str>,
        provider: Option<&str>,
    ) -> Option<u64> {
        let agent = agent.and_then(|name| self.agents.get(name)?.brain.as_ref()?.context_window);
        let provider = || provider.and_then(|name| self.providers.get(name)?.context_window);
        agent.or_else(provider).or(self.runtime.context_window)
    }

    /// The part that policy judges by.
    pub(super) fn policy(&self) -> PolicyConfig {
        PolicyConfig {
            tools: self.tools.clone(),
            agents: self.agents.clone(),
            providers: self.providers.clone(),
            remembered: Vec::new(),
        }
    }

    /// With every value that holds written out.
    pub(super) fn spelled_out(&self) -> Config {
        let mut config = self.clone();
        config.runtime.result_budget = Some(self.runtime.result_budget());
        config.runtime.timeout_ms = Some(self.runtime.timeout_ms());
        config.runtime.max_timeout_ms = Some(self.runtime.max_timeout_ms());
        config.shell.max_output = Some(self.shell.max_output());
        config.shell.login = Some(self.shell.login());
        config.shell.login_timeout_ms = Some(self.shell.login_timeout_ms());
        config.isolation.level = Some(self.isolation.level());
        let undo = self.undo.limits();
        config.undo.enabled = Some(self.undo.enabled());
        config.undo.max_file = Some(undo.max_file);
        config.undo.max_call = Some(undo.max_call);
        config.undo.keep_days.get_or_insert(KEEP_DAYS);
        config.undo.keep_bytes = Some(self.undo.retention().bytes);
        config.results.keep_days.get_or_insert(KEEP_DAYS);
        config.results.keep_bytes = Some(self.results.retention().bytes);
        config.workers.enabled = Some(self.workers.enabled());
        config.workers.count = Some(self.workers.count());
        config.workers.memory_mb = Some(self.workers.memory_mb());
        config.journal.keep_days.get_or_insert(KEEP_RECORDS_DAYS);
        config.journal.keep_bytes = Some(self.journal.retention().bytes);
        config.tools.policy.get_or_insert_with(|| "full".to_owned());
        config.tools.autonomy.get_or_insert_default();
        config
    }
}
