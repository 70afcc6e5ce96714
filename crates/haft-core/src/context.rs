//! What a tool is handed along with its arguments.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::{
    CallTag, CancelToken, ClosedPaths, EventKind, EventSink, Identity, Inquiry, Measure, NoEvents,
    Person, Powers, ResultStore, Within,
};

/// Who calls, and what they have at hand. One a session; calls share it.
#[derive(Clone)]
pub struct Caller {
    pub session: Arc<str>,
    pub agent: Option<Arc<str>>,
    pub provider: Option<Arc<str>>,
    pub identity: Identity,
    /// Relative paths start here; absolute, with links resolved
    pub workspace: Arc<PathBuf>,
    pub powers: Arc<Powers>,
    pub attachments: Arc<[Attachment]>,
    pub events: Arc<dyn EventSink>,
    /// The way to ask a person, if anyone may be there
    pub person: Option<Arc<dyn Person>>,
    /// Says where a path really leads, for policy
    pub paths: Arc<dyn ResolvePath>,
    /// Where whole results are kept when only a part is shown
    pub results: Option<Arc<dyn ResultStore>>,
    pub cancel: CancelToken,
}

impl Caller {
    /// A caller by itself: without powers, nobody to hear or to answer it, nothing kept, and paths
    /// taken as they are written.
    pub fn alone(session: impl Into<Arc<str>>, workspace: impl Into<PathBuf>) -> Self {
        Caller {
            session: session.into(),
            agent: None,
            provider: None,
            identity: Identity::default(),
            workspace: Arc::new(workspace.into()),
            powers: Arc::new(Powers::none()),
            attachments: Arc::new([]),
            events: Arc::new(NoEvents),
            person: None,
            paths: Arc::new(AsWritten),
            results: None,
            cancel: CancelToken::new(),
        }
    }
}

/// Follows links and `..` the way the machine would.
pub trait ResolvePath: Send + Sync {
    /// The absolute path that `path`, as written in `cwd`, leads to; it need not exist.
    fn resolve(&self, cwd: &Path, path: &str) -> PathBuf;

    /// What these files hold now, as one word that is another one when any of them changes. What
    /// a person said yes to is compared by it.
    fn contents(&self, paths: &[PathBuf]) -> String {
        let _ = paths;
        String::new()
    }

    /// Something in these folders that holds keys or passwords, or a folder that is too large to
    /// be looked through, where a command could read it: nothing where commands are shut in.
    fn exposed(&self, folders: &dyn Fn() -> Vec<PathBuf>) -> Option<PathBuf> {
        let _ = folders;
        None
    }
}

/// For those whose paths lead nowhere.
struct AsWritten;

impl ResolvePath for AsWritten {
    fn resolve(&self, cwd: &Path, path: &str) -> PathBuf {
        cwd.join(path)
    }
}

/// Something the user handed over with the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub name: String,
    pub mime_type: String,
    pub data: Arc<[u8]>,
}

/// One call as its tool sees it.
pub struct ToolContext {
    call: Arc<CallTag>,
    pub caller: Arc<Caller>,
    /// Characters this call may answer with
    pub result_budget: usize,
    pub dry_run: bool,
    /// What a service that takes idempotency keys is to be given, the same when it is tried again
    pub key: Option<Arc<str>>,
    pub cancel: CancelToken,
    /// How many calls this one is made by, one inside the other
    pub depth: u8,
    /// What rules deny of the files that this call may come upon, once policy has judged it
    pub closed: Option<Arc<dyn ClosedPaths>>,
    /// Nobody was asked about this call, and its commands read whatever they come upon
    pub unasked: bool,
    /// Counts signs of life; the idle deadline watches it
    activity: AtomicU64,
}

impl ToolContext {
    pub fn new(
        call_id: Arc<str>,
        tool: Arc<str>,
        caller: Arc<Caller>,
        result_budget: usize,
        dry_run: bool,
    ) -> Self {
        let cancel = caller.cancel.child();
        let call = CallTag {
            call_id,
            session: caller.session.clone(),
            tool,
        };
        ToolContext {
            call: Arc::new(call),
            caller,
            result_budget,
            dry_run,
            key: None,
            cancel,
            depth: 0,
            closed: None,
            unasked: false,
            activity: AtomicU64::new(0),
        }
    }

    /// What names this call wherever it is told of.
    pub fn tag(&self) -> &Arc<CallTag> {
        &self.call
    }

    /// The tool's own name, now that it is known.
    pub fn resolved(&mut self, tool: &Arc<str>) {
        if self.call.tool != *tool {
            Arc::make_mut(&mut self.call).tool = tool.clone();
        }
    }

    /// This call belongs to another one: it ends with that one at the latest.
    pub fn enter(&mut self, within: &Within) {
        self.cancel = within.cancel.child();
        self.depth = within.depth;
    }

    /// Say what is going on: listeners hear it, and the idle deadline starts anew.
    pub fn progress(&self, text: impl Into<String>) {
        self.activity.fetch_add(1, Ordering::Relaxed);
        self.tell(|| text.into(), false, None);
    }

    /// The same with how far it is.
    pub fn progress_at(&self, measure: Measure, text: impl Into<String>) {
        self.activity.fetch_add(1, Ordering::Relaxed);
        self.tell(|| text.into(), false, Some(measure));
    }

    /// Hand on what a program writes, piece by piece as it comes.
    pub fn live(&self, text: &str) {
        self.activity.fetch_add(1, Ordering::Relaxed);
        self.tell(|| text.to_owned(), true, None);
    }

    /// Output is long: no copy is made of it where nobody listens.
    fn tell(&self, text: impl FnOnce() -> String, piece: bool, measure: Option<Measure>) {
        if self.caller.events.listening() {
            self.emit(EventKind::Progress {
                text: text(),
                piece,
                measure,
            });
        }
    }

    /// Ask the caller's side something. None where it cannot or does not want to answer.
    pub async fn inquire(&self, inquiry: &Inquiry) -> Option<Value> {
        let person = self.caller.person.as_ref()?;
        let answer = person.inquire(inquiry).await;
        self.activity.fetch_add(1, Ordering::Relaxed);
        answer
    }

    /// How often the tool has shown a sign of life.
    pub fn activity(&self) -> u64 {
        self.activity.load(Ordering::Relaxed)
    }

    /// Whether it was a deadline that cancelled the call, not the caller.
    pub fn timed_out(&self) -> bool {
        self.cancel.timed_out()
    }

    pub fn emit(&self, kind: EventKind) {
        self.caller.events.emit(&self.call, kind);
    }
}

/// The call's id, session and tool read as its own.
impl Deref for ToolContext {
    type Target = CallTag;

    fn deref(&self) -> &CallTag {
        &self.call
    }
}
