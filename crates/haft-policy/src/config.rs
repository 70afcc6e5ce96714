//! The part of the config file that policy reads. Field docs are the help and the editor schema.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What one layer says about tools, agents and providers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyConfig {
    pub tools: ToolsConfig,
    /// Per-agent overrides, by agent name
    pub agents: BTreeMap<String, AgentConfig>,
    /// Per-provider overrides, by provider name
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Rules that a person answered "always" to. Never read from a config file: a file that
    /// comes with a clone must not be able to speak for the person
    #[serde(skip)]
    pub remembered: Vec<String>,
}

/// Which tools may be called, and what asks first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsConfig {
    /// Profile in force: minimal, messaging, coding, full, or one of your own
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Own profiles; one with a built-in name replaces it
    pub profiles: BTreeMap<String, ProfileConfig>,
    /// Own groups of tool patterns, named as `group:NAME`
    pub groups: BTreeMap<String, Vec<String>>,
    /// Tool patterns added to what the profile allows
    pub allow: Vec<String>,
    /// Tool patterns that nobody may call, whatever else allows them
    pub deny: Vec<String>,
    pub hooks: HooksConfig,
    /// How much is asked before a call runs
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
    pub rules: RulesConfig,
    /// Settings by module
    pub modules: BTreeMap<String, ModuleConfig>,
}

/// A named set of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileConfig {
    /// Tool patterns it holds
    pub allow: Vec<String>,
    /// Tool patterns taken out again
    pub deny: Vec<String>,
}

/// What happens around a call, by tool pattern; confirm wins over log, log over silent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HooksConfig {
    /// Ask a person first
    pub confirm: Vec<String>,
    /// Run and tell
    pub log: Vec<String>,
    /// Run without a word
    pub silent: Vec<String>,
}

/// Rules on tools and arguments, each `tool` or `tool(pattern)`; deny wins over ask, ask over
/// allow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RulesConfig {
    /// Run without asking, such as `shell.exec(git status *)`
    pub allow: Vec<String>,
    /// Ask each time, such as `file.write(**/.env)`
    pub ask: Vec<String>,
    /// Never run, such as `file.write(/etc/**)`
    pub deny: Vec<String>,
}

/// Settings of one module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModuleConfig {
    /// What agents may not do with it; set-up steps, hooks and channels are not bound
    pub constraints: Constraints,
    /// The module's own settings
    pub config: Map<String, Value>,
}

/// Constraint keys of a module: `allowed_actions`, `blocked_actions`, and what it declares.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Constraints(pub BTreeMap<String, Value>);

/// Overrides for one agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentConfig {
    /// A profile name, or `{profile, allow, deny}`
    #[serde(rename = "toolPolicy", skip_serializing_if = "Option::is_none")]
    pub tool_policy: Option<ToolPolicy>,
    /// How much is asked before a call of this agent runs
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
    /// The model it thinks with
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brain: Option<Brain>,
}

/// The model that an agent thinks with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Brain {
    /// Tokens of its context; how much of the tools it is shown follows from it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// An agent's tools: another profile, or changes to one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ToolPolicy {
    /// The profile it uses
    Profile(String),
    Changes(ToolPolicyChanges),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolPolicyChanges {
    /// The profile it uses, if not the usual one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Tool patterns added
    pub allow: Vec<String>,
    /// Tool patterns removed
    pub deny: Vec<String>,
}

/// Overrides for calls that come from one provider's model. They only narrow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// If given, only these tool patterns
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Tool patterns removed
    pub deny: Vec<String>,
    /// Tokens of its models' context, where an agent's brain does not say
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// How much a person is asked.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Autonomy {
    /// Every effect is confirmed
    #[serde(alias = "conservative")]
    Supervised,
    /// Dangerous tools are confirmed, and outside ones not known to be harmless
    #[default]
    #[serde(alias = "guided")]
    Standard,
    /// Only what a rule says is confirmed
    Autonomous,
}

impl Autonomy {
    pub const ALL: &[Autonomy] = &[
        Autonomy::Supervised,
        Autonomy::Standard,
        Autonomy::Autonomous,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Autonomy::Supervised => "supervised",
            Autonomy::Standard => "standard",
            Autonomy::Autonomous => "autonomous",
        }
    }
}

impl fmt::Display for Autonomy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Autonomy {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "supervised" | "conservative" => Ok(Autonomy::Supervised),
            "standard" | "guided" => Ok(Autonomy::Standard),
            "autonomous" => Ok(Autonomy::Autonomous),
            _ => Err(format!(
                "unknown autonomy level: `{word}`; one of `supervised`, `standard`, `autonomous`"
            )),
        }
    }
}
