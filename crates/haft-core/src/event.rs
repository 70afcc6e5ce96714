//! What listeners are told while calls run.

use std::sync::Arc;

use serde::Serialize;

use crate::ErrorCode;

/// Which call it is: shared by the call's own context and all that is told about it.
#[derive(Debug, Clone, Serialize)]
pub struct CallTag {
    pub call_id: Arc<str>,
    pub session: Arc<str>,
    /// Canonical name, or what the caller wrote while it is not resolved
    pub tool: Arc<str>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Event {
    #[serde(flatten)]
    pub call: Arc<CallTag>,
    #[serde(flatten)]
    pub kind: EventKind,
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    Begin {
        dry_run: bool,
    },
    /// A hook wants this call noted
    Noted {
        reason: String,
    },
    /// A person is being asked; the id names the question
    Asked {
        question: String,
        reason: String,
    },
    Answered {
        question: String,
        allowed: bool,
    },
    /// Output or a status line while the tool runs; secrets are masked before anyone sees it
    Progress {
        text: String,
        /// A piece of a stream, which may end in the middle of a word
        #[serde(skip)]
        piece: bool,
        /// How far it is, where that can be counted
        #[serde(flatten)]
        measure: Option<Measure>,
    },
    End {
        ok: bool,
        code: Option<ErrorCode>,
        duration_us: u64,
        chars: usize,
    },
}

/// How far a call is, in whatever it counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measure {
    pub progress: f64,
    /// What it comes to in the end, if that is known
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

pub trait EventSink: Send + Sync {
    fn emit(&self, call: &Arc<CallTag>, kind: EventKind);

    /// False when nobody would hear it, so that long texts need not be made.
    fn listening(&self) -> bool {
        true
    }
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&self, _call: &Arc<CallTag>, _kind: EventKind) {}

    fn listening(&self) -> bool {
        false
    }
}
