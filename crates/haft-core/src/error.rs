//! Failure as data: a code for programs, a message and a hint for the model and the person.

use std::error::Error;
use std::fmt;

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

/// What went wrong with a call. `source` goes to the log, the rest to whoever called.
#[derive(Debug)]
pub struct ToolError {
    pub code: ErrorCode,
    pub message: String,
    pub hint: Option<String>,
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl ToolError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        ToolError {
            code,
            message: message.into(),
            hint: None,
            source: None,
        }
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

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}
