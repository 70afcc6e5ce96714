//! The way to ask a person. Who answers, and where, is up to the front end.

use serde::Serialize;
use serde_json::Value;

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

/// Ends the name of a form's field that takes an answer in other words than those that the field
/// before it offers.
pub const OWN_WORDS: &str = "_other";

/// Something a tool needs from the caller's side while it runs, in the words of MCP.
#[derive(Debug, Clone, PartialEq)]
pub struct Inquiry {
    /// Names it among the inquiries of one call
    pub key: String,
    pub kind: InquiryKind,
    pub params: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InquiryKind {
    /// A form for the person
    Elicitation,
    /// A completion by the caller's model
    Sampling,
    /// The folders the caller works in
    Roots,
}

pub trait Person: Send + Sync {
    /// The person's answer, or none when nobody is there.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Answer>>;

    /// What a running tool wants to know from whoever called it. None where the other end does
    /// not do such things, or nobody is there.
    fn inquire<'a>(&'a self, inquiry: &'a Inquiry) -> BoxFuture<'a, Option<Value>> {
        let _ = inquiry;
        Box::pin(async { None })
    }
}
