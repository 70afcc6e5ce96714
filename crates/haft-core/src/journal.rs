//! What is written down about a call, and where it is handed to. The pipeline fills these in; a
//! store keeps them. Nothing here is made when nobody records.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::{BoxFuture, Caller, Effects, ErrorCode, Repeat, ToolError};

/// What is known of a call before its tool runs.
#[derive(Clone)]
pub struct Intent {
    pub call_id: Arc<str>,
    /// Canonical name, or what the caller wrote where it is no tool
    pub tool: Arc<str>,
    pub caller: Arc<Caller>,
    /// Profile and autonomy chosen for this caller, beyond config
    pub profile: Option<String>,
    pub autonomy: Option<&'static str>,
    pub args: Arc<Value>,
    pub private: Private,
    pub effects: Option<Arc<Effects>>,
    /// Where words of its commands led when it was judged: folder, word, path
    pub resolved: Vec<(PathBuf, String, PathBuf)>,
    pub repeat: Repeat,
    pub dry_run: bool,
    pub ruling: Option<Ruling>,
    /// The caller's own name for this piece of work, the same when it is tried again
    pub key: Option<Arc<str>>,
}

/// Which arguments are somebody's content: a digest of them is kept, not their text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Private {
    /// These; `list[].name` is a name in each item of a list
    Named(Vec<String>),
    /// Whatever is text: nobody can tell what is what
    Everything,
}

/// What policy said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ruling {
    /// `allow`, `ask` or `deny`
    pub verdict: &'static str,
    /// The rules that led to it, each with its layer
    pub rules: Vec<String>,
    pub reason: String,
    /// The rule that "always" would have stored
    pub remember: Option<String>,
    /// Digest of the policy
    pub policy: String,
    /// What a person said, if one was asked: `yes`, `no`, `always` or `nobody`
    pub answer: Option<&'static str>,
    /// A place with keys that no sandbox hides from it, if that is why it was asked about
    pub exposed: Option<String>,
}

/// How a call ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    pub code: Option<ErrorCode>,
    pub message: Option<String>,
    pub duration: Duration,
    /// Characters of the whole result, and of what was shown of it
    pub chars: usize,
    pub shown: usize,
    /// Secrets that were masked in the answer
    pub masked: usize,
    pub reduced: bool,
    pub truncated: bool,
    pub handle: Option<String>,
    /// What kind of call it was, where its result was shortened: the tool, and its command
    pub subject: Option<String>,
    /// Digest of the whole result, to be compared with that of a later call
    pub digest: Option<[u8; 32]>,
    /// The whole result of a call that only reads, where it is short
    pub text: Option<String>,
    /// The call whose answer this is: the same work was done before
    pub same_as: Option<String>,
}

/// A call that was made before under the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Its record
    pub seq: i64,
    pub call_id: String,
    /// It was the same tool with the same arguments
    pub same_work: bool,
    pub state: EarlierState,
    /// Where its whole result is
    pub handle: Option<String>,
}

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierState {
    Running,
    /// Nobody knows whether it happened
    Uncertain,
    Done,
    /// It failed or was refused, so it may be tried again
    NotDone,
}

/// Keeps the record of calls.
pub trait Recorder: Send + Sync {
    /// Write down that a call with effects is about to happen. What it answers names the record;
    /// it answers once the record survives a loss of power, and until then nothing may happen.
    fn intend(&self, intent: Intent) -> BoxFuture<'_, Result<i64, ToolError>>;

    /// Take over how a call ended, without making the caller wait. `intended` is the record that
    /// was made before it ran, if one was.
    fn ended(&self, intent: Intent, intended: Option<i64>, ending: Ending);

    /// What is known of the newest call of this session under the same key. Only calls with
    /// effects count.
    fn earlier(&self, intent: &Intent) -> BoxFuture<'_, Result<Option<Earlier>, ToolError>> {
        let _ = intent;
        Box::pin(async { Ok(None) })
    }

    /// Write down what became of a call of which nobody knew, and how that is known.
    fn settle(
        &self,
        earlier: &Earlier,
        happened: bool,
        how: &str,
    ) -> BoxFuture<'_, Result<(), ToolError>> {
        let _ = (earlier, happened, how);
        Box::pin(async { Ok(()) })
    }

    /// Whether shortened results of this subject keep being read again in full.
    fn keeps_being_read(&self, subject: &str) -> bool {
        let _ = subject;
        false
    }
}
