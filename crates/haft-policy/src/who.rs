//! What policy is made of, and for whom it is asked.

use haft_core::Identity;

use crate::config::{Autonomy, PolicyConfig};

/// One layer of config, and the name that explanations give it.
#[derive(Debug, Clone)]
pub struct Layer {
    pub from: String,
    pub config: PolicyConfig,
}

/// Whose call it is, as far as policy cares.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Who {
    pub agent: Option<String>,
    pub provider: Option<String>,
    pub identity: Identity,
    /// Profile chosen on the command line
    pub profile: Option<String>,
    /// Autonomy chosen on the command line
    pub autonomy: Option<Autonomy>,
}
