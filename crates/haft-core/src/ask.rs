//! The way to ask a person. Who answers, and where, is up to the front end.

use serde::Serialize;

use crate::BoxFuture;

/// What a person is shown before a call may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// 128 random bits, hex
    pub id: String,
    pub tool: String,
    /// What exactly would happen: command, paths, arguments; control characters made visible
    pub summary: String,
    /// More to look at, such as a diff
    pub detail: Option<String>,
    /// Why it is asked
    pub reason: String,
    /// The rule that "always" would store; none where nothing may be remembered
    pub rule: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Yes,
    No,
    /// Yes, and remember the rule shown
    Always,
}

pub trait Person: Send + Sync {
    /// The person's answer, or none when nobody is there.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Answer>>;
}
