//! Our side of a connection to a server: what it tells and asks while a call is under way goes to
//! that call. Sampling is declined: there is no model here that a server may use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::{Caller, Measure, ToolContext};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    Implementation, NumberOrString, ProgressNotificationParam, ProgressToken, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};

/// News that may wait for a call; more is dropped.
const NEWS: usize = 256;
/// Turns that other tasks get, once the answer is there, to hand over what came before it.
const TURNS: usize = 8;

/// What a server says to a call that is under way.
pub(super) enum Said {
    Progress(Measure, String),
    /// A form for the person
    Form(Value, oneshot::Sender<Value>),
}

/// What is shared between a connection and the calls on it.
#[derive(Default)]
pub(super) struct Shared {
    calls: Mutex<Vec<UnderWay>>,
    /// The server has other tools, resources or prompts now
    pub(super) changed: Notify,
}

/// A call that is under way on a connection.
struct UnderWay {
    number: u64,
    /// What its progress is told under; none where rmcp chooses that
    token: Option<u64>,
    caller: Arc<Caller>,
    sender: mpsc::Sender<Said>,
}

/// A call that hears what the server says.
pub(super) struct Listening {
    shared: Arc<Shared>,
    pub(super) number: u64,
    pub(super) said: mpsc::Receiver<Said>,
}

impl Shared {
    pub(super) fn listen(self: &Arc<Self>, cx: &ToolContext) -> Listening {
        let (sender, said) = mpsc::channel(NEWS);
        let mut calls = self.calls();
        let number = calls.last().map_or(0, |call| call.number + 1);
        calls.push(UnderWay {
            number,
            token: None,
            caller: cx.caller.clone(),
            sender,
        });
        drop(calls);
        Listening {
            shared: self.clone(),
            number,
            said,
        }
    }

    /// From now on the progress of a call comes under this token.
    pub(super) fn expects(&self, number: u64, token: u64) {
        let mut calls = self.calls();
        if let Some(call) = calls.iter_mut().find(|call| call.number == number) {
            call.token = Some(token);
        }
    }

    /// The call that progress is of. Where its token is rmcp's, only the one call there is.
    fn making_progress(&self, token: &ProgressToken) -> Option<mpsc::Sender<Said>> {
        let calls = self.calls();
        let is_it = |call: &&UnderWay| match (call.token, &token.0) {
            (Some(ours), NumberOrString::Number(told)) => u64::try_from(*told) == Ok(ours),
            (Some(_), NumberOrString::String(_)) => false,
            (None, _) => calls.len() == 1,
        };
        calls.iter().find(is_it).map(|call| call.sender.clone())
    }

    /// The call that a question belongs to. It does not say which, so it is nobody's where calls of
    /// more than one caller are under way: the wrong person must not be asked.
    fn asking(&self) -> Option<mpsc::Sender<Said>> {
        let calls = self.calls();
        let last = calls.last()?;
        let same = |call: &UnderWay| Arc::ptr_eq(&call.caller, &last.caller);
        calls.iter().all(same).then(|| last.sender.clone())
    }

    fn calls(&self) -> MutexGuard<'_, Vec<UnderWay>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let number = self.number;
        self.shared.calls().retain(|call| call.number != number);
    }
}

impl Listening {
    /// What was said before the answer may still be on its way: each notice is taken in by a task
    /// of its own, and those have had no turn yet.
    pub(super) async fn last_words(&mut self, cx: &ToolContext) {
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
            while let Ok(said) = self.said.try_recv() {
                if let Said::Progress(measure, text) = said {
                    cx.progress_at(measure, text);
                }
            }
        }
    }
}

#[derive(Clone)]
pub(super) struct Side(pub(super) Arc<Shared>);

impl ClientHandler for Side {
    fn get_info(&self) -> ClientConfig {
        let capabilities: Result<ClientCapabilities, _> =
            serde_json::from_value(json!({"elicitation": {"form": {}}}));
        ClientConfig::new(
            capabilities.unwrap_or_default(),
            Implementation::new("haft", env!("CARGO_PKG_VERSION")),
        )
        // The newest one that is agreed on by greeting each other.
        .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, rmcp::ErrorData> {
        let declined = json!({"action": "decline"});
        let form = serde_json::to_value(&request).unwrap_or_default();
        let by_url = form["mode"] == "url" || form.get("url").is_some();
        let answer = match self.0.asking().filter(|_| !by_url) {
            Some(call) => {
                let (answer, answered) = oneshot::channel();
                match call.try_send(Said::Form(form, answer)) {
                    Ok(()) => answered.await.unwrap_or(declined),
                    Err(_) => declined,
                }
            }
            None => declined,
        };
        Ok(serde_json::from_value(answer)
            .unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Decline)))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let text = match (&params.message, params.total) {
            (Some(message), _) => message.clone(),
            (None, Some(total)) => format!("{} of {total}", params.progress),
            (None, None) => params.progress.to_string(),
        };
        let measure = Measure {
            progress: params.progress,
            total: params.total,
        };
        if let Some(call) = self.0.making_progress(&params.progress_token) {
            // Who does not listen misses it.
            let _ = call.try_send(Said::Progress(measure, text));
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.changed.notify_one();
    }
}
