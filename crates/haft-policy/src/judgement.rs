//! What policy says about a tool or a call, and why.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::config::Autonomy;

/// Ordered so that the strictest is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A verdict with everything that led to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judgement {
    pub verdict: Verdict,
    pub rules: Vec<RuleHit>,
    pub reason: String,
    /// The exact rule that "always" would store; none where nothing may be remembered
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remember: Option<String>,
    pub decision: Decision,
}

/// A rule that led to a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleHit {
    /// As its owner wrote it, or the name of what is built in
    pub rule: String,
    /// The layer it stands in
    pub from: String,
    /// `allow`, `ask` or `deny`
    pub effect: String,
}

impl RuleHit {
    pub(crate) fn new(rule: impl Into<String>, from: impl Into<String>, effect: Verdict) -> Self {
        RuleHit {
            rule: rule.into(),
            from: from.into(),
            effect: effect.as_str().to_owned(),
        }
    }
}

/// Hooks and autonomy turned into one answer, as audits keep it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    pub action: HookAction,
    /// The level or a rule asked although the hooks did not
    pub overridden: bool,
    pub reason: String,
    pub level: Autonomy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookAction {
    Silent,
    Log,
    Confirm,
    /// No hook says so: rules do, and then hooks have no say
    Deny,
}

impl HookAction {
    pub fn as_str(self) -> &'static str {
        match self {
            HookAction::Silent => "silent",
            HookAction::Log => "log",
            HookAction::Confirm => "confirm",
            HookAction::Deny => "deny",
        }
    }
}

impl Judgement {
    /// The strictest of several layers' judgements, with the rules of all that were as strict.
    /// A rule that two layers share is named once, by the first.
    pub(crate) fn strictest(judgements: Vec<Judgement>) -> Option<Judgement> {
        let verdict = judgements.iter().map(|one| one.verdict).max()?;
        let action = judgements.iter().map(|one| one.decision.action).max()?;
        let (mut deciding, others): (Vec<_>, Vec<_>) = judgements
            .into_iter()
            .partition(|one| one.verdict == verdict);
        // What one layer would not let a person remember is not remembered.
        let remember = deciding
            .iter()
            .all(|one| one.remember == deciding[0].remember);
        let rest = deciding.split_off(1);
        let mut result = deciding.pop()?;
        if !remember {
            result.remember = None;
        }
        for hit in rest.into_iter().flat_map(|one| one.rules) {
            let known = |other: &RuleHit| other.rule == hit.rule && other.effect == hit.effect;
            if !result.rules.iter().any(known) {
                result.rules.push(hit);
            }
        }
        if action > result.decision.action
            && let Some(louder) = others.into_iter().find(|one| one.decision.action == action)
        {
            result.decision = louder.decision;
        }
        Some(result)
    }
}
