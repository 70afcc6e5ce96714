//! Failure as data: a code for programs, a message and a hint for the model and the person.

use std::error::Error;
use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

/// The closed set of ways a call can fail; programs branch on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The arguments do not fit the tool
    InputInvalid,
    /// Unknown, outside the view, filtered, unavailable, or lacking a backend
    NotAvailable,
    /// Refused by policy or by a person
    Denied,
    /// A deadline passed
    TimedOut,
    /// The caller gave up
    Cancelled,
    /// The world changed under the call
    Conflict,
    /// Nobody knows whether it happened
    Uncertain,
    /// The tool ran and failed
    ExecutionFailed,
}

impl ErrorCode {
    /// The code as it stands in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::InputInvalid => "input_invalid",
            ErrorCode::NotAvailable => "not_available",
            ErrorCode::Denied => "denied",
            ErrorCode::TimedOut => "timed_out",
            ErrorCode::Cancelled => "cancelled",
            ErrorCode::Conflict => "conflict",
            ErrorCode::Uncertain => "uncertain",
            ErrorCode::ExecutionFailed => "execution_failed",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What exactly went wrong, where programs have to tell more apart than the codes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// What was named is not there
    NotFound,
}

/// What whoever called is told of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    pub code: ErrorCode,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// What went wrong with a call: what is told, and the cause, which goes to the log. One word
/// wide, because every result on the way of a call has room for it.
#[derive(Debug)]
pub struct ToolError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    body: ErrorBody,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl ToolError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        ToolError::from(ErrorBody {
            code,
            message: message.into(),
            hint: None,
            reason: None,
        })
    }

    pub fn into_body(self) -> ErrorBody {
        self.0.body
    }

    pub fn input_invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InputInvalid, message)
    }

    pub fn not_available(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotAvailable, message)
    }

    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Denied, message)
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Conflict, message)
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ExecutionFailed, message)
    }

    /// What was named is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        let mut error = Self::failed(message);
        error.reason = Some(Reason::NotFound);
        error
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.body.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }
}

impl From<ErrorBody> for ToolError {
    fn from(body: ErrorBody) -> Self {
        ToolError(Box::new(Inner { body, source: None }))
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Code, message and hint read as its own.
impl Deref for ToolError {
    type Target = ErrorBody;

    fn deref(&self) -> &ErrorBody {
        &self.0.body
    }
}

impl DerefMut for ToolError {
    fn deref_mut(&mut self) -> &mut ErrorBody {
        &mut self.0.body
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}
