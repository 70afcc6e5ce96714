//! Errors and notices on standard error, with the hint apart, and the exit code they mean.

use std::ffi::OsString;
use std::fmt;
use std::io::Write;

use haft_core::{ErrorBody, ErrorCode, ToolError};
use haft_policy::PolicyError;

use haft_runtime::{mask, visible};
use serde_json::json;

use crate::config::ConfigError;
use crate::exit;

/// The command line or its JSON could not be understood.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// The command was understood and failed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failed {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// A policy that does not compile, with its hint.
#[derive(Debug)]
pub(crate) struct Hinted(PolicyError);

impl From<PolicyError> for Hinted {
    fn from(error: PolicyError) -> Self {
        Hinted(error)
    }
}

impl Hinted {
    /// The same with the place in a file that its word stands at, where `place` can tell.
    pub(crate) fn placed(mut self, place: impl Fn(&str) -> Option<String>) -> Self {
        if let Some(found) = self.0.word.as_deref().and_then(place) {
            self.0.from = found;
        }
        self
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl std::error::Error for Hinted {}

/// Say what went wrong and give the exit code. A program that reads JSON gets it as JSON.
pub(crate) fn report(problem: &anyhow::Error) -> u8 {
    let hint = if let Some(failed) = problem.downcast_ref::<Failed>() {
        failed.hint.clone()
    } else if let Some(hinted) = problem.downcast_ref::<Hinted>() {
        hinted.0.hint.clone()
    } else if let Some(tool) = problem.downcast_ref::<ToolError>() {
        tool.hint.clone()
    } else {
        None
    };
    // An error may quote what a server or a config was given.
    let hidden = |text: &str| mask(text).text.into_owned();
    let message = hidden(&format!("{problem:#}"));
    let hint = hint.map(|hint| hidden(&hint));
    error(&message, hint.as_deref());
    let usage = problem.downcast_ref::<Usage>().is_some();
    if json_is_asked(std::env::args_os()) {
        let tool = problem.downcast_ref::<ToolError>();
        let config = problem.downcast_ref::<ConfigError>();
        let code = match (tool, config) {
            (Some(tool), _) => tool.code,
            (None, Some(config)) => config.code(),
            (None, None) if usage => ErrorCode::InputInvalid,
            (None, None) => ErrorCode::ExecutionFailed,
        };
        let body = ErrorBody {
            code,
            message,
            hint,
            reason: tool.and_then(|tool| tool.reason),
        };
        let _ = writeln!(std::io::stdout(), "{}", json!({"ok": false, "error": body}));
    }
    match usage {
        true => exit::USAGE,
        false => exit::FAILED,
    }
}

/// Whether the command line says `--json`. It may not have been understood, so only its words
/// are looked at; after `--` they are a caller's.
fn json_is_asked(words: impl Iterator<Item = OsString>) -> bool {
    words
        .take_while(|word| word != "--")
        .any(|word| word == "--json")
}

pub(crate) fn error(message: &str, hint: Option<&str>) {
    anstream::eprintln!("\u{1b}[31merror\u{1b}[0m: {}", visible(message));
    if let Some(hint) = hint {
        anstream::eprintln!("\u{1b}[36mhint\u{1b}[0m: {}", visible(hint));
    }
}

pub(crate) fn notice(text: &str) {
    anstream::eprintln!("\u{1b}[33mnotice\u{1b}[0m: {}", visible(text));
}

pub(crate) fn notices(texts: &[String]) {
    texts.iter().for_each(|text| notice(text));
}
