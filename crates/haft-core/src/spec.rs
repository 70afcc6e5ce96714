//! What is known about a tool before it is called.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::words::Lazily;
use crate::{Capability, Words, api_name, module_of};

/// Everything about a tool that listings, models, policy and stages need to know. Its words read
/// as its own.
#[derive(Debug, Clone, Serialize)]
pub struct ToolSpec {
    /// Canonical, dotted: `file.read`
    pub name: Arc<str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(flatten)]
    words: Lazily,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The group it belongs to, and its category in discovery
    pub module: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolset: Option<String>,
    pub tags: Vec<String>,
    /// Other names it answers to
    pub aliases: Vec<String>,
    /// Parameters that carry somebody's content: records keep a digest of them. `list[].name` is a
    /// name in each item of a list
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub private: Vec<String>,
    pub examples: Vec<Example>,
    pub side_effects: Vec<String>,
    pub repeat: Repeat,
    pub risk: Risk,
    pub capabilities: Vec<Capability>,
    /// How models come to know of it
    pub exposure: Exposure,
    /// Passes toolset allow lists
    pub always_include: bool,
    pub eager_input_streaming: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_result_chars: Option<usize>,
    /// Hard deadline, where the usual one does not fit
    #[serde(
        rename = "timeout_ms",
        serialize_with = "millis",
        skip_serializing_if = "Option::is_none"
    )]
    pub timeout: Option<Duration>,
    /// Longest silence between two signs of life
    #[serde(
        rename = "idle_timeout_ms",
        serialize_with = "millis",
        skip_serializing_if = "Option::is_none"
    )]
    pub idle_timeout: Option<Duration>,
    pub output_is_untrusted: bool,
    /// Notes stand in what it answers, which may be forgotten
    #[serde(skip)]
    pub output_is_forgettable: bool,
    pub requires_approval: bool,
    /// Whoever it belongs to has changed it since it was agreed to: no rule speaks for it until a
    /// person has seen the change
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub redefined: bool,
    /// What it does cannot be put back
    pub irreversible: bool,
    /// It touches nothing beyond the place it comes from, by a word that the owner trusts
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub closed_world: bool,
    /// What whoever it comes from says of all its tools together; nobody vouches for it
    #[serde(skip)]
    pub said: Option<Arc<str>>,
    /// It can say what it would do
    pub has_preview: bool,
    /// It can tell whether an interrupted call happened
    pub has_verify: bool,
    /// Finding out what a call touches takes its time: folders are walked
    #[serde(skip)]
    pub surveys: bool,
    /// Whatever goes on in its place, it answers with an account of it: `success`, `data`, `error`
    /// and `metadata`
    #[serde(skip)]
    pub gives_account: bool,
    pub source: Source,
}

fn millis<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_millis() as u64)
        .serialize(serializer)
}

impl Deref for ToolSpec {
    type Target = Words;

    fn deref(&self) -> &Words {
        self.words.get()
    }
}

impl ToolSpec {
    /// A spec with nothing known but the name and the schema: unsafe to repeat, medium risk.
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<String>, schema: Value) -> Self {
        let words = Words {
            description: description.into(),
            input_schema: schema,
            ..Words::default()
        };
        ToolSpec::saying(name.into(), words.into())
    }

    /// The same, with words that are made at the first look.
    pub fn described_later(name: impl Into<Arc<str>>, words: fn() -> Words) -> Self {
        ToolSpec::saying(name.into(), Lazily::later(words))
    }

    fn saying(name: Arc<str>, words: Lazily) -> Self {
        ToolSpec {
            title: String::new(),
            words,
            output_schema: None,
            module: module_of(&name).to_owned(),
            name,
            toolset: None,
            tags: Vec::new(),
            aliases: Vec::new(),
            private: Vec::new(),
            examples: Vec::new(),
            side_effects: Vec::new(),
            repeat: Repeat::Unsafe,
            risk: Risk::Medium,
            capabilities: Vec::new(),
            exposure: Exposure::Domain,
            always_include: false,
            eager_input_streaming: false,
            max_result_chars: None,
            timeout: None,
            idle_timeout: None,
            output_is_untrusted: false,
            output_is_forgettable: false,
            requires_approval: false,
            redefined: false,
            irreversible: false,
            closed_world: false,
            said: None,
            has_preview: false,
            has_verify: false,
            surveys: false,
            gives_account: false,
            source: Source::Builtin,
        }
    }

    /// Change what is said of it.
    pub fn reword(&mut self, change: impl FnOnce(&mut Words)) {
        self.words.change(change);
    }

    /// Whether its words are there already, and not only the way to make them.
    pub fn is_worded(&self) -> bool {
        self.words.is_made()
    }

    /// Whether it is one of our tools about tools: policy judges what they call, not them.
    pub fn is_meta(&self) -> bool {
        self.source == Source::Builtin && self.exposure.is_meta()
    }

    /// The name as providers accept it, unless another tool has it already.
    pub fn api_name(&self) -> String {
        api_name(&self.name, 0)
    }

    /// The part of the name after its module.
    pub fn action(&self) -> &str {
        self.name
            .strip_prefix(self.module.as_str())
            .and_then(|rest| rest.strip_prefix('.'))
            .unwrap_or(&self.name)
    }

    #[must_use]
    pub fn irreversible(mut self) -> Self {
        self.irreversible = true;
        self
    }

    #[must_use]
    pub fn titled(mut self, title: &str) -> Self {
        self.title = title.to_owned();
        self
    }

    #[must_use]
    pub fn aliases(mut self, aliases: &[&str]) -> Self {
        self.aliases
            .extend(aliases.iter().map(|&alias| alias.to_owned()));
        self
    }

    #[must_use]
    pub fn private(mut self, parameters: &[&str]) -> Self {
        self.private
            .extend(parameters.iter().map(|&name| name.to_owned()));
        self
    }

    #[must_use]
    pub fn forgettable(mut self) -> Self {
        self.output_is_forgettable = true;
        self
    }

    #[must_use]
    pub fn tags(mut self, tags: &[&str]) -> Self {
        self.tags.extend(tags.iter().map(|&tag| tag.to_owned()));
        self
    }

    #[must_use]
    pub fn side_effects(mut self, effects: &[&str]) -> Self {
        self.side_effects
            .extend(effects.iter().map(|&effect| effect.to_owned()));
        self
    }

    #[must_use]
    pub fn example(mut self, title: &str, args: Value, expect: Value) -> Self {
        self.examples.push(Example {
            title: title.to_owned(),
            args,
            expect,
        });
        self
    }

    #[must_use]
    pub fn risk(mut self, risk: Risk) -> Self {
        self.risk = risk;
        self
    }
}

/// A call and what it answers, shown as help and run as a test. Every key of `expect` must be in
/// the structured result with that value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Example {
    pub title: String,
    pub args: Value,
    pub expect: Value,
}

/// What happens when a call is made twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// Changes nothing
    Read,
    /// The second time changes nothing more
    Idempotent,
    /// Safe with the same idempotency key
    Keyed,
    #[default]
    Unsafe,
}

/// How a tool is shown to a model that cannot be shown everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exposure {
    /// With its schema, as one line, or to be found, by how much room there is
    #[default]
    Domain,
    /// With its schema, however little room there is
    Direct,
    /// A meta-tool that every mode shows
    EveryMode,
    /// A meta-tool for models that do not see the schemas
    WithoutSchemas,
    /// A meta-tool for models that do not see the tools
    WithoutTools,
}

impl Exposure {
    /// Whether it is a tool about tools: shown where it helps, never searched for.
    pub fn is_meta(self) -> bool {
        !matches!(self, Exposure::Domain | Exposure::Direct)
    }
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    Low,
    #[default]
    Medium,
    High,
}

/// Where a tool comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    #[default]
    Builtin,
    Plugin(String),
    Mcp(String),
    Node(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Builtin => f.write_str("builtin"),
            Source::Plugin(id) => write!(f, "plugin:{id}"),
            Source::Mcp(server) => write!(f, "mcp:{server}"),
            Source::Node(node) => write!(f, "node:{node}"),
        }
    }
}

/// A module: what `haft tools` calls a group and discovery a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Module {
    pub name: &'static str,
    pub summary: &'static str,
    /// Keys it takes under `tools.modules.X.constraints`, besides `allowed_actions` and
    /// `blocked_actions`
    pub constraints: &'static [ConstraintSpec],
}

/// A constraint key that a module understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ConstraintSpec {
    pub name: &'static str,
    pub kind: ConstraintKind,
    pub description: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintKind {
    String,
    StringList,
    Integer,
    Boolean,
}
