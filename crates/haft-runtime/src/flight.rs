//! One call on its way: what every stage may look at, and what stages leave for the outcome.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use haft_core::{Call, Effects, Meta, Outcome, Ruling, ToolContext};
use serde_json::Value;

use crate::scheduler::{Lane, Ticket};
use crate::{Entry, Runtime, Session, View};

/// Where calls come in: the same for all of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Gate<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) session: &'a Session,
    pub(crate) view: &'a View,
    pub(crate) lane: Lane,
    /// Characters that each call may answer with
    pub(crate) budget: usize,
}

pub(crate) struct Flight<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) session: &'a Session,
    pub(crate) view: &'a View,
    /// As given, then as repaired by `validate`
    pub(crate) args: Arc<Value>,
    /// The caller's own, shorter deadline
    pub(crate) timeout: Option<Duration>,
    pub(crate) cx: ToolContext,
    pub(crate) lane: Lane,
    /// Its place in the order, once it is known to touch something
    pub(crate) ticket: Option<Ticket<'a>>,
    pub(crate) started: Instant,
    /// Position in the view, once the name is resolved
    pub(crate) found: Option<usize>,
    pub(crate) meta: Meta,
    /// It answers with an account of what goes on in its place
    pub(crate) account: bool,
    /// What the record of this call will say, where one is kept
    pub(crate) note: Option<Box<Note>>,
}

/// A call that is over, and when it was.
pub(crate) struct Landed {
    pub(crate) outcome: Outcome,
    pub(crate) at: Instant,
}

/// What stages leave for the record.
#[derive(Default)]
pub(crate) struct Note {
    /// The arguments are what the tool asks for, under its own names
    pub(crate) fits: bool,
    pub(crate) effects: OnceLock<Arc<Effects>>,
    pub(crate) ruling: OnceLock<Ruling>,
    /// Where words of its commands led when it was judged
    pub(crate) resolved: OnceLock<Vec<(PathBuf, String, PathBuf)>>,
    /// What a person said
    pub(crate) answer: OnceLock<&'static str>,
    /// The record that was made before it ran
    pub(crate) intended: Option<i64>,
    /// Of the whole result
    pub(crate) digest: Option<[u8; 32]>,
    /// The same in full, where it is kept
    pub(crate) text: Option<String>,
    /// The call whose answer this is
    pub(crate) same_as: Option<String>,
    /// Why its result is not shortened by a reducer, for whoever reads it
    pub(crate) unreduced: Option<String>,
}

impl Flight<'_> {
    /// What a person said to the question of this call.
    pub(crate) fn answered(&self, answer: &'static str) {
        if let Some(note) = &self.note {
            let _ = note.answer.set(answer);
        }
    }

    /// Another call goes on in the place of this one.
    pub(crate) fn give_way(&mut self, call: Call) {
        self.cx.resolved(&call.name);
        self.args = call.args;
        self.fits(false);
    }

    /// Whether the arguments are what the tool asks for.
    pub(crate) fn fits(&mut self, fits: bool) {
        if let Some(note) = &mut self.note {
            note.fits = fits;
        }
    }

    /// The tool, once its name is resolved.
    pub(crate) fn entry(&self) -> Option<&Arc<Entry>> {
        self.found.map(|index| self.view.entry(index))
    }
}
