//! Skills: written knowledge that is loaded when it is needed. Where they lie and which of them
//! fit this machine is up to the binary.

use std::ops::Deref;
use std::sync::Arc;

use crate::{Capability, Power, ToolError};

/// A skill that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillCard {
    pub name: String,
    pub description: String,
}

/// A loaded skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    pub content: String,
    /// Files beside it that can be read through it
    pub files: Vec<String>,
}

/// The skills of this caller.
pub trait Skills: Send + Sync {
    /// Those that can be loaded here, by name.
    fn all(&self) -> Vec<SkillCard>;

    fn load(&self, name: &str) -> Result<LoadedSkill, ToolError>;

    /// A file beside a skill, by its path relative to it.
    fn read(&self, name: &str, file: &str) -> Result<String, ToolError>;
}

/// The power to load skills.
#[derive(Clone)]
pub struct UseSkills(Arc<dyn Skills>);

impl UseSkills {
    pub fn new(skills: Arc<dyn Skills>) -> Self {
        UseSkills(skills)
    }
}

impl Power for UseSkills {
    const CAPABILITIES: &'static [Capability] = &[];
}

impl Deref for UseSkills {
    type Target = dyn Skills;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}
