//! Requests that may take time and may have to ask. The work of one is a future that knows no
//! protocol; here it is given a person to ask, driven, and put aside where its client has to come
//! back with an answer.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use blake3::Hash;
use haft_core::{Answer, BoxFuture, Call, ErrorCode, EventSink, Person};
use haft_runtime::Session;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::Server;
use super::answer::{self, result};
use super::aside::Waiting;
use super::asker::{APPROVAL, Asker, Wanted, Way, decision};
use super::connection::{Connection, Routed};
use super::describe::parse;
use super::outbox::Outbox;
use super::request::About;
use super::seal::{Purpose, Ticket};
use super::tasks::{self, TaskWanted};
use super::telling::Telling;
use crate::wire::{Reply, Revision, RpcError};

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    #[serde(default)]
    arguments: Option<Value>,
    #[serde(default)]
    task: Option<TaskWanted>,
}

/// What a client brings when it comes back.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Again {
    #[serde(default)]
    request_state: Option<String>,
    #[serde(default)]
    input_responses: Map<String, Value>,
}

/// Whether this request continues an earlier one.
pub(super) fn again(params: Option<&RawValue>) -> Result<Option<Again>, RpcError> {
    match params.filter(|raw| raw.get().contains("\"requestState\"")) {
        None => Ok(None),
        Some(raw) => parse(Some(raw)).map(Some),
    }
}

/// `tools/call`
pub(super) fn tool(
    connection: &Arc<Connection>,
    params: Option<&RawValue>,
    about: About,
    outbox: &Arc<Outbox>,
) -> Result<Routed, RpcError> {
    let wanted: ToolCall = parse(params)?;
    let arguments = wanted
        .arguments
        .unwrap_or_else(|| Value::Object(Map::new()));
    if !arguments.is_object() {
        return Err(RpcError::invalid_params("`arguments` must be an object"));
    }
    let again = again(params)?;
    let revision = about.revision;
    let server = connection.server.clone();
    server.look_again();
    let subject = match revision.is_stateless() {
        true => format!("tools/call {} {arguments}", wanted.name),
        false => String::new(),
    };
    let call = Call::new(wanted.name, arguments);
    let may_be_task = about.capabilities.tasks;
    let task = wanted.task.filter(|_| revision == Revision::V2025_11_25);
    let work = {
        let server = server.clone();
        move |session: Session| -> BoxFuture<'static, Reply> {
            Box::pin(async move { one(&server, &session, call, revision).await })
        }
    };
    if let Some(task) = task {
        // What it says waits for the client to come for it.
        let outbox = Arc::new(Outbox::default());
        let request = Request {
            connection,
            outbox: &outbox,
            about,
        };
        let waiting = request.begun(subject.as_bytes(), None, work);
        return tasks::create(connection, waiting, outbox, task, revision);
    }
    let request = Request {
        connection,
        outbox,
        about,
    };
    let waiting = request.waiting(subject.as_bytes(), again, work)?;
    Ok(driven(&server, waiting, revision, may_be_task))
}

async fn one(server: &Server, session: &Session, call: Call, revision: Revision) -> Reply {
    let name = call.name.clone();
    let outcome = server.runtime.call(session, call).await;
    let unknown = outcome.code() == Some(ErrorCode::NotAvailable)
        && session.view(&server.runtime).resolve(&name).is_none();
    match &outcome.error {
        // A tool that does not exist is a mistake in the request, not a result.
        Some(error) if unknown => {
            let hint = error.hint.as_deref().map(|hint| format!("; {hint}"));
            let text = format!("{}{}", error.message, hint.unwrap_or_default());
            RpcError::invalid_params(text).into()
        }
        _ => answer::outcome(&outcome, revision, &server.config),
    }
}

/// A request whose work may ask its client something. The `subject` of such work is everything the
/// request says: answers given to it count for nothing else.
pub(super) struct Request<'a> {
    pub(super) connection: &'a Arc<Connection>,
    pub(super) outbox: &'a Arc<Outbox>,
    pub(super) about: About,
}

impl Request<'_> {
    pub(super) fn served(
        self,
        subject: &[u8],
        again: Option<Again>,
        work: impl FnOnce(Session) -> BoxFuture<'static, Reply>,
    ) -> Result<Routed, RpcError> {
        let (server, revision) = (&self.connection.server, self.about.revision);
        let waiting = self.waiting(subject, again, work)?;
        Ok(driven(server, waiting, revision, false))
    }

    /// With its work: begun, or gone on with where its client comes back to it.
    fn waiting(
        self,
        subject: &[u8],
        again: Option<Again>,
        work: impl FnOnce(Session) -> BoxFuture<'static, Reply>,
    ) -> Result<Waiting, RpcError> {
        let server = &self.connection.server;
        let mut granted = None;
        if let Some(again) = again
            && let Some(text) = &again.request_state
        {
            match returned(server, text, blake3::hash(subject))? {
                Some(ticket) if ticket.purpose == Purpose::Inquiry => {
                    return resumed(server, &ticket, again);
                }
                Some(ticket) => {
                    granted = again
                        .input_responses
                        .get(APPROVAL)
                        .map(|answer| (ticket.digest, decision(answer)));
                }
                None => {}
            }
        }
        Ok(self.begun(subject, granted, work))
    }

    fn begun(
        self,
        subject: &[u8],
        granted: Option<([u8; 32], Answer)>,
        work: impl FnOnce(Session) -> BoxFuture<'static, Reply>,
    ) -> Waiting {
        let Request {
            connection,
            outbox,
            about,
        } = self;
        let server = &connection.server;
        let cancel = connection.cancel.child();
        let way = match about.revision.is_stateless() {
            true => Way::Result,
            false => Way::Request {
                connection: connection.clone(),
                outbox: outbox.clone(),
            },
        };
        let request = blake3::hash(subject);
        let asker = Arc::new(Asker::new(about.capabilities, way, request));
        if let Some((digest, answer)) = granted {
            asker.grant(digest, answer);
        }
        let telling = Telling::over(
            &server.session.caller().events,
            outbox,
            about.progress_token,
            about.log,
        );
        let person: Arc<dyn Person> = asker.clone();
        let events = telling.clone().map(|telling| telling as Arc<dyn EventSink>);
        let session = server
            .session
            .for_request(cancel.clone(), Some(person), events);
        let work = work(session);
        let work: BoxFuture<'static, Reply> = match telling {
            Some(telling) => Box::pin(async move { telling.during(work).await }),
            None => work,
        };
        Waiting {
            work,
            asker,
            cancel,
        }
    }
}

fn driven(server: &Arc<Server>, waiting: Waiting, revision: Revision, may_be_task: bool) -> Routed {
    let cancel = waiting.cancel.clone();
    let work = Box::pin(drive(server.clone(), waiting, revision, may_be_task));
    Routed::Work(cancel, work)
}

/// The ticket that a client brings back. None where the request is another one than it was given
/// for: then it counts for nothing, and whatever asks asks again.
fn returned(server: &Server, text: &str, request: Hash) -> Result<Option<Ticket>, RpcError> {
    let ticket = server.seal.redeem(text).ok_or_else(|| {
        RpcError::invalid_params(
            "`requestState` is not one of ours, has been used, or has expired: make the request again without it",
        )
    })?;
    let same = match ticket.purpose {
        Purpose::Inquiry => ticket.digest == *request.as_bytes(),
        // Its digest is that of the question, which holds the request.
        Purpose::Approval => true,
    };
    Ok(same.then_some(ticket))
}

fn resumed(server: &Server, ticket: &Ticket, again: Again) -> Result<Waiting, RpcError> {
    let waiting = server.aside.take(&ticket.nonce).ok_or_else(|| {
        RpcError::invalid_params("the request waited too long for its answers: make it again")
    })?;
    waiting.asker.deliver(again.input_responses);
    Ok(waiting)
}

/// Drive the work until it is done, needs its client, or takes so long that it becomes a task.
async fn drive(
    server: Arc<Server>,
    mut waiting: Waiting,
    revision: Revision,
    may_be_task: bool,
) -> Reply {
    let stateless = revision.is_stateless();
    let driven = poll_fn(|task| match waiting.work.as_mut().poll(task) {
        Poll::Ready(reply) => Poll::Ready(Some(reply)),
        Poll::Pending if stateless && waiting.asker.is_waiting() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    let done = match may_be_task && server.tasks.has_room() {
        false => driven.await,
        true => match tokio::time::timeout(tasks::PATIENCE, driven).await {
            Ok(done) => done,
            Err(_) => return tasks::instead_of_answer(&server, waiting, revision),
        },
    };
    let asker = waiting.asker.clone();
    if asker.refused() {
        server.note_refusal();
    }
    let reply = match done {
        None => {
            let digest = *asker.request().as_bytes();
            let Wanted::Answers(wanted) = asker.wanted() else {
                return RpcError::internal("nothing is wanted").into();
            };
            match server.seal.issue(Purpose::Inquiry, digest) {
                Ok((ticket, text)) => {
                    server.aside.put(ticket.nonce, waiting);
                    Some((wanted, text))
                }
                Err(error) => return RpcError::internal(error.to_string()).into(),
            }
        }
        Some(reply) => match (asker.question(), asker.missing()) {
            (Some(Wanted::Approval(digest, form)), _) => {
                match server.seal.issue(Purpose::Approval, digest) {
                    Ok((_, text)) => Some((Map::from_iter([(APPROVAL.to_owned(), form)]), text)),
                    Err(error) => return RpcError::internal(error.to_string()).into(),
                }
            }
            (_, Some(missing)) if revision.is_stateless() && failed(&reply) => {
                return RpcError::needs_capability(missing).into();
            }
            _ => return reply,
        },
    };
    let Some((wanted, state)) = reply else {
        return RpcError::internal("nothing is wanted").into();
    };
    let fields = Map::from_iter([
        ("resultType".to_owned(), json!("input_required")),
        ("inputRequests".to_owned(), Value::Object(wanted)),
        ("requestState".to_owned(), json!(state)),
    ]);
    result(fields, revision, &server.config)
}

/// Whether a reply tells of a failure; a tool that did without what it asked for is fine.
fn failed(reply: &Reply) -> bool {
    match reply {
        Reply::Error(_) => true,
        Reply::Tools(..) | Reply::Batch(_) => false,
        Reply::Result(json) => serde_json::from_slice::<Value>(json)
            .is_ok_and(|value| value["isError"] == Value::Bool(true)),
    }
}
