//! One tool of a server. A call goes to the server, and what the server says meanwhile goes to the
//! call.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use haft_core::{
    BoxFuture, DynTool, Effects, ErrorCode, Inquiry, InquiryKind, Output, Prepared, Repeat,
    Resource, Risk, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_runtime::visible;
use rmcp::model::{CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams};
use rmcp::service::ServiceError;
use serde_json::{Value, json};

use super::beside;
use super::definition::Manifest;
use super::failure::{Heard, Trouble, unexpected};
use super::garbled::GARBLED;
use super::oversize::too_large;
use super::remote::{Remote, Running};
use super::result::{self, Answer};
use super::side::{Listening, Said};

/// Whether a tool is still what it was in a manifest; a yes to that definition is noted.
pub(super) type Holds = Arc<dyn Fn(&str, &Arc<Manifest>) -> bool + Send + Sync>;

/// What a call is at the server.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// A call of the tool of this name
    Tool(String),
    /// Reading a resource; the list, as JSON, is what is told where none is named
    Resource(Arc<str>),
    /// Getting a prompt
    Prompt(Arc<str>),
}

pub(super) struct RemoteTool {
    pub(super) spec: ToolSpec,
    pub(super) target: Target,
    pub(super) remote: Arc<Remote>,
    /// How it differs from what was agreed to, if it does
    pub(super) difference: Option<String>,
    /// What was known of the server when this was made of it
    pub(super) judged: Arc<Manifest>,
    pub(super) holds: Holds,
}

/// How a call ended that has no answer.
enum Ended {
    Cancelled,
    Failed(ServiceError),
}

impl DynTool for RemoteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn unavailable(&self, _cx: &ToolContext) -> Option<String> {
        None
    }

    fn prepare(&self, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        Ok(Box::new(RemoteCall {
            args: args.clone(),
            target: self.target.clone(),
            repeat: self.spec.repeat,
            removes: self.spec.risk == Risk::High,
            is_open: !self.spec.closed_world,
            remote: self.remote.clone(),
            difference: self.difference.clone(),
            judged: self.judged.clone(),
            holds: self.holds.clone(),
        }))
    }
}

pub(super) struct RemoteCall {
    pub(super) args: Value,
    target: Target,
    repeat: Repeat,
    /// As the server says, or does not deny
    removes: bool,
    /// It may reach beyond its server
    is_open: bool,
    remote: Arc<Remote>,
    difference: Option<String>,
    judged: Arc<Manifest>,
    holds: Holds,
}

impl Prepared for RemoteCall {
    fn effects(&self, _cx: &ToolContext) -> Result<Effects, ToolError> {
        if self.listed().is_some() {
            return Ok(Effects::none());
        }
        let name = &self.remote.spec.name;
        let place = |kind: &str| Resource::Uri([kind, name].concat());
        let server = place("mcp:");
        let beyond = self.is_open.then(|| place("world:"));
        let places = [Some(server), beyond].into_iter().flatten();
        let effects = match self.repeat {
            Repeat::Read => places.fold(Effects::none(), Effects::reads),
            _ => places
                .fold(Effects::none(), Effects::writes)
                .removing_if(self.removes),
        }
        .vaguely();
        // An approval is for the definition that was shown.
        Ok(match &self.difference {
            Some(difference) => effects.bound_to(difference.clone()),
            None => effects,
        })
    }

    fn run<'a>(self: Box<Self>, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            if let Some(list) = self.listed() {
                let list = serde_json::from_str(list).unwrap_or_default();
                return Ok(Output::structured(list));
            }
            let running = match self.remote.running() {
                Some(running) => running,
                // Boxed, so that a call that need not wait for it does not carry the room.
                None => tokio::select! {
                    biased;
                    () = cancelled(cx) => return Err(was_cancelled()),
                    running = Box::pin(self.remote.connected()) => match running {
                        Ok(running) => running,
                        Err(error) => return Ok(self.without_it(error)),
                    },
                },
            };
            self.still_as_judged()?;
            let listening = running.shared.listen(cx);
            let answer = self.talk(cx, &running, listening).await;
            running.touch();
            match answer {
                Ok(result) => {
                    self.remote.worked().await;
                    result
                }
                Err(Ended::Cancelled) => Err(was_cancelled()),
                Err(Ended::Failed(error)) => {
                    if matches!(error, ServiceError::TransportClosed) {
                        self.remote.hear_out().await;
                    }
                    Ok(self.failure(error))
                }
            }
        })
    }

    fn preview<'a>(self: Box<Self>, _cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match self.difference {
                Some(difference) => Ok(Output::text(format!(
                    "the server has changed what this tool is since it was agreed to:\n{difference}"
                ))),
                None => Err(ToolError::not_available("this tool has no preview")),
            }
        })
    }

    fn verify<'a>(self: Box<Self>, _cx: &'a ToolContext) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(async { Err(ToolError::not_available("this tool cannot tell")) })
    }
}

impl RemoteCall {
    /// What there is to ask for, where nothing is asked for.
    fn listed(&self) -> Option<&str> {
        let (key, list) = match &self.target {
            Target::Tool(_) => return None,
            Target::Resource(list) => ("uri", list),
            Target::Prompt(list) => ("name", list),
        };
        self.args[key].is_null().then_some(&**list)
    }

    /// A server that has just been started, or that a person took long over, may have changed its
    /// tool: then nobody has judged what would run.
    fn still_as_judged(&self) -> Result<(), ToolError> {
        match &self.target {
            Target::Tool(name) if !(self.holds)(name, &self.judged) => {
                let server = &self.remote.spec.name;
                Err(ToolError::conflict(format!(
                    "the MCP server `{server}` has changed this tool since the call was judged"
                ))
                .hint("make the call again: it shows what has changed, and asks"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn server(&self) -> &str {
        &self.remote.spec.name
    }

    /// The request to the server, and what its answer comes to.
    fn request<'a>(
        &'a self,
        cx: &'a ToolContext,
        running: &'a Running,
        call: u64,
    ) -> BoxFuture<'a, Result<ToolResult, ServiceError>> {
        let (server, service) = (self.server(), &running.service);
        let text = |key: &str| self.args[key].as_str().unwrap_or_default();
        match (&self.target, &running.asking.lane) {
            (Target::Tool(name), Some(lane)) => {
                Box::pin(self.direct(cx, running, lane, (name, call)))
            }
            (Target::Tool(name), None) => {
                let mut params = CallToolRequestParams::new(name.clone());
                params.arguments = self.args.as_object().cloned();
                Box::pin(async move {
                    let answer = service.call_tool(params).await?;
                    let answer = serde_json::to_string(&answer).map_err(unexpected)?;
                    Ok(Answer::read(&answer)?.output(server))
                })
            }
            (Target::Resource(_), _) => {
                let params = ReadResourceRequestParams::new(beside::uri_at(server, text("uri")));
                Box::pin(async move {
                    let answer = service.read_resource(params).await?;
                    let answer = serde_json::to_value(&answer).map_err(unexpected)?;
                    Ok(beside::contents(server, &answer))
                })
            }
            (Target::Prompt(_), _) => {
                let mut params = GetPromptRequestParams::new(text("name"));
                params.arguments = self.args["arguments"].as_object().cloned();
                Box::pin(async move {
                    let answer = service.get_prompt(params).await?;
                    let answer = serde_json::to_value(&answer).map_err(unexpected)?;
                    Ok(beside::messages(server, &answer))
                })
            }
        }
    }

    async fn talk(
        &self,
        cx: &ToolContext,
        running: &Running,
        mut listening: Listening,
    ) -> Result<ToolResult, Ended> {
        let heard = running.heard();
        let mut call = self.request(cx, running, listening.number);
        loop {
            // Dropping the call tells the server that nobody waits for it any more.
            tokio::select! {
                biased;
                // First, so that nothing more is sent.
                () = cancelled(cx) => return Err(Ended::Cancelled),
                answer = &mut call => {
                    // A program that has said nothing else has no last words.
                    if heard.is_none() || heard != running.heard() {
                        listening.last_words(cx).await;
                    }
                    return answer.map_err(Ended::Failed);
                }
                Some(said) = listening.said.recv() => match said {
                    Said::Progress(measure, text) => cx.progress_at(measure, text),
                    Said::Form(form, answer) => {
                        let answered = self.ask(cx, form).await;
                        // The server may have given up.
                        let _ = answer.send(answered);
                    }
                }
            }
        }
    }

    /// A form of the server, for the person behind this call.
    pub(super) async fn ask(&self, cx: &ToolContext, mut form: Value) -> Value {
        spell_out(&mut form);
        let message = form["message"].as_str().unwrap_or_default();
        form["message"] = format!(
            "The MCP server `{}` asks (do not enter secrets): {message}",
            self.remote.spec.name
        )
        .into();
        let inquiry = Inquiry {
            key: "form".to_owned(),
            kind: InquiryKind::Elicitation,
            params: form,
        };
        let answer = cx.inquire(&inquiry).await;
        let mut answer = answer.unwrap_or_else(|| json!({"action": "decline"}));
        fill_in_defaults(&inquiry.params, &mut answer);
        answer
    }

    /// A call that got no result. What the server said is content, and marked as such.
    fn failure(&self, error: ServiceError) -> Output {
        let server = &self.remote.spec.name;
        match error {
            ServiceError::McpError(error) if error.message == too_large() => {
                Output::default().but_failed(ToolError::failed(error.message))
            }
            ServiceError::McpError(error) if error.message == GARBLED => {
                Output::failed(self.lost(GARBLED))
            }
            ServiceError::McpError(error) => {
                let text = format!("the MCP server `{server}` answered with an error");
                let hint = format!("code {}", error.code.0);
                result::said(&error.message).but_failed(ToolError::failed(text).hint(hint))
            }
            ServiceError::TransportSend(error) => {
                let trouble = Trouble::of(&error);
                let words = trouble
                    .words
                    .as_deref()
                    .map_or_else(Output::default, result::said);
                words.but_failed(match trouble.heard {
                    Heard::No => self.remote.unavailable(trouble.reason),
                    Heard::Refused => ToolError::failed(format!(
                        "the MCP server `{server}` refused the call: {}",
                        trouble.reason
                    )),
                    Heard::Perhaps => self.lost(&trouble.reason),
                })
            }
            ServiceError::TransportClosed => {
                self.without_it(self.lost("it went away during the call"))
            }
            ServiceError::UnexpectedResponse => Output::failed(self.lost(GARBLED)),
            other => Output::failed(ToolError::failed(format!("`{server}`: {other}"))),
        }
    }

    /// The server is not there. Its last words are content, and marked as such.
    fn without_it(&self, error: ToolError) -> Output {
        let words = self.remote.last_words();
        let words = words.map(|words| format!("its last words: {words}"));
        words
            .as_deref()
            .map_or_else(Output::default, result::said)
            .but_failed(error)
    }

    /// The server may have done what it was asked to, and nobody knows.
    fn lost(&self, reason: &str) -> ToolError {
        let code = match self.repeat {
            Repeat::Unsafe => ErrorCode::Uncertain,
            _ => ErrorCode::ExecutionFailed,
        };
        let server = &self.remote.spec.name;
        let text = format!("no result from the MCP server `{server}`: {reason}");
        ToolError::new(code, text)
            .hint("look whether it happened; the next call starts the server again if need be")
    }
}

/// What hides or repaints text in a form is spelled out: a person must see what is asked. Values that
/// go back to the server as they came are not for reading.
fn spell_out(form: &mut Value) {
    match form {
        Value::String(text) => *text = visible(text),
        Value::Array(items) => items.iter_mut().for_each(spell_out),
        Value::Object(fields) => {
            let sent_back = |key: &str| matches!(key, "const" | "default" | "enum");
            let shown = fields.iter_mut().filter(|(key, _)| !sent_back(key));
            shown.for_each(|(_, value)| spell_out(value));
        }
        _ => {}
    }
}

/// What a person has left out of a form gets the value that the form proposes.
fn fill_in_defaults(form: &Value, answer: &mut Value) {
    if answer["action"] != "accept" {
        return;
    }
    if !answer["content"].is_object() {
        answer["content"] = json!({});
    }
    let fields = form["requestedSchema"]["properties"].as_object();
    for (name, field) in fields.into_iter().flatten() {
        if let Some(default) = field.get("default")
            && answer["content"].get(name).is_none()
        {
            answer["content"][name] = default.clone();
        }
    }
}

/// Resolves once the call is cancelled. Whoever drives a call wakes it then, so nobody else has to be
/// told to.
async fn cancelled(cx: &ToolContext) {
    poll_fn(|_| match cx.cancel.is_cancelled() {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

fn was_cancelled() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "the call was cancelled")
}
