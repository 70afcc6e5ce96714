//! Who may call what, and what needs asking. Pure functions: config in, judgement out. The host
//! resolves paths, the runtime asks people; nothing here does either.

mod binding;
mod bound;
mod call;
mod classics;
mod closed;
mod command;
mod config;
mod constraint;
mod coverage;
mod destroys;
mod error;
mod files;
mod git;
mod glob;
mod judgement;
mod layer;
mod named;
mod outputs;
mod path;
mod pattern;
mod policy;
mod profile;
mod programs;
mod remember;
mod rule;
mod scripts;
pub mod shell;
mod tokens;
mod traps;
mod who;

pub use bound::Bound;
pub use config::{
    AgentConfig, Autonomy, Constraints, HooksConfig, ModuleConfig, PolicyConfig, ProfileConfig,
    ProviderConfig, RulesConfig, ToolPolicy, ToolPolicyChanges, ToolsConfig,
};
pub use constraint::check_constraints;
pub use destroys::destroys;
pub use error::PolicyError;
pub use files::reads_around;
pub use judgement::{Decision, HookAction, Judgement, RuleHit, Verdict};
pub use path::Places;
pub use pattern::names_tool;
pub use policy::{Policy, RuleLine};
pub use profile::built_in_profiles;
pub use rule::{READING_TOOLS, RUNNING_TOOLS, WRITING_TOOLS};
pub use who::{Layer, Who};

#[cfg(test)]
mod tests;
