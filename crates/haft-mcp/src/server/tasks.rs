//! Calls as tasks: a client that knows them gets a handle in the place of an answer, asks how the
//! call stands, and fetches what came of it. In 2025-11-25 the client wants one task a call; since
//! 2026-07-28 tasks are an extension, and a call becomes one by itself when it takes long.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use haft_core::CancelToken;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::Server;
use super::answer::result;
use super::aside::Waiting;
use super::asker::{Asker, Wanted};
use super::connection::{Connection, Routed};
use super::describe::parse;
use super::outbox::Outbox;
use super::request::About;
use crate::wire::{Reply, Revision, RpcError, TASKS, notification};

/// How long a call is waited for before it becomes a task.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// Tasks at once, those that are over included.
const CAPACITY: usize = 256;
/// How long a task is kept where its client does not say, and at most.
const TTL: Duration = Duration::from_secs(600);
const LONGEST: Duration = Duration::from_secs(3600);
/// How often a client should ask.
const POLL_MS: u64 = 1000;
const RELATED: &str = "io.modelcontextprotocol/related-task";

#[derive(Default)]
pub(super) struct Tasks {
    all: Mutex<HashMap<String, Arc<Task>>>,
}

pub(super) struct Task {
    id: String,
    /// Whose it is; none for clients that are not known again, where whoever knows the id may ask
    owner: Option<Weak<Connection>>,
    created: SystemTime,
    ttl: Duration,
    cancel: CancelToken,
    asker: Arc<Asker>,
    /// What the call has to say to a client that waits for it
    outbox: Arc<Outbox>,
    state: watch::Sender<State>,
}

struct State {
    changed: SystemTime,
    end: Option<End>,
}

#[derive(Clone)]
enum End {
    Result(Map<String, Value>),
    Error(RpcError),
    Cancelled,
}

/// What a client of 2025-11-25 wants a task with.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct TaskWanted {
    #[serde(default)]
    ttl: Option<u64>,
}

impl TaskWanted {
    fn ttl(self) -> Duration {
        self.ttl.map_or(TTL, Duration::from_millis).min(LONGEST)
    }
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Task>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is room for one more, once those that are over and old are gone.
    pub(super) fn has_room(&self) -> bool {
        let mut all = self.lock();
        all.retain(|_, task| !task.is_over() || !task.is_old());
        all.len() < CAPACITY
    }

    /// Let a call go on by itself. It ends with the connection it came on at the latest.
    fn adopt(
        &self,
        waiting: Waiting,
        owner: Option<&Arc<Connection>>,
        outbox: Arc<Outbox>,
        ttl: Duration,
    ) -> Result<Arc<Task>, RpcError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| RpcError::internal(error.to_string()))?;
        let now = SystemTime::now();
        let task = Arc::new(Task {
            id: format!("{:032x}", u128::from_le_bytes(bytes)),
            owner: owner.map(Arc::downgrade),
            created: now,
            ttl,
            cancel: waiting.cancel.clone(),
            asker: waiting.asker.clone(),
            outbox,
            state: watch::Sender::new(State {
                changed: now,
                end: None,
            }),
        });
        task.asker.go_on_as_task();
        self.lock().insert(task.id.clone(), task.clone());
        let driven = task.clone();
        tokio::spawn(async move {
            let reply = waiting.work.await;
            driven.end(End::of(reply));
        });
        Ok(task)
    }

    fn find(&self, id: &str, connection: &Arc<Connection>) -> Result<Arc<Task>, RpcError> {
        let task = self.lock().get(id).cloned();
        task.filter(|task| task.owner.is_none() || task.is_of(connection))
            .ok_or_else(|| RpcError::invalid_params(format!("no such task: `{id}`")))
    }
}

impl End {
    fn of(reply: Reply) -> End {
        match reply {
            Reply::Error(error) => End::Error(error),
            Reply::Result(json) => match serde_json::from_slice(&json) {
                Ok(Value::Object(fields)) => End::Result(fields),
                _ => End::Error(RpcError::internal("the result is not an object")),
            },
            Reply::Tools(..) | Reply::Batch(_) => {
                End::Error(RpcError::internal("a list is no result of a call"))
            }
        }
    }
}

impl Task {
    fn is_over(&self) -> bool {
        self.state.borrow().end.is_some()
    }

    fn is_old(&self) -> bool {
        self.created.elapsed().is_ok_and(|age| age > self.ttl)
    }

    fn owner(&self) -> Option<Arc<Connection>> {
        self.owner.as_ref()?.upgrade()
    }

    fn is_of(&self, connection: &Arc<Connection>) -> bool {
        self.owner()
            .is_some_and(|owner| Arc::ptr_eq(&owner, connection))
    }

    /// The first end counts. A client that is still there hears of it.
    fn end(&self, end: End) {
        let first = self.state.send_if_modified(|state| {
            let first = state.end.is_none();
            if first {
                state.end = Some(end);
                state.changed = SystemTime::now();
            }
            first
        });
        if let Some(owner) = self.owner().filter(|_| first) {
            let told = Value::Object(self.told(Revision::V2025_11_25));
            owner
                .aside
                .tell(notification("notifications/tasks/status", &told));
        }
    }

    /// The task in the words of a revision, with what came of it where that belongs there.
    fn told(&self, revision: Revision) -> Map<String, Value> {
        let state = self.state.borrow();
        let status = match &state.end {
            None if self.asker.is_waiting() => "input_required",
            None => "working",
            Some(End::Result(_)) => "completed",
            Some(End::Error(_)) => "failed",
            Some(End::Cancelled) => "cancelled",
        };
        let mut fields = Map::from_iter([
            ("taskId".to_owned(), json!(self.id)),
            ("status".to_owned(), json!(status)),
            ("createdAt".to_owned(), json!(iso(self.created))),
            ("lastUpdatedAt".to_owned(), json!(iso(state.changed))),
        ]);
        let ttl = u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX);
        if !revision.is_stateless() {
            fields.insert("ttl".to_owned(), ttl.into());
            fields.insert("pollInterval".to_owned(), POLL_MS.into());
            return fields;
        }
        fields.insert("ttlMs".to_owned(), ttl.into());
        fields.insert("pollIntervalMs".to_owned(), POLL_MS.into());
        match &state.end {
            Some(End::Result(result)) => {
                fields.insert("result".to_owned(), Value::Object(result.clone()));
            }
            Some(End::Error(error)) => {
                fields.insert("error".to_owned(), error.to_value());
            }
            None if status == "input_required" => {
                if let Wanted::Answers(wanted) = self.asker.wanted() {
                    fields.insert("inputRequests".to_owned(), Value::Object(wanted));
                }
            }
            _ => {}
        }
        fields
    }
}

/// A call whose client wants a task: the answer is its handle.
pub(super) fn create(
    connection: &Arc<Connection>,
    waiting: Waiting,
    outbox: Arc<Outbox>,
    wanted: TaskWanted,
    revision: Revision,
) -> Result<Routed, RpcError> {
    let server = &connection.server;
    if !server.tasks.has_room() {
        return Err(RpcError::internal("too many tasks at once"));
    }
    let tasks = &server.tasks;
    let owner = connection.stays().then_some(connection);
    let task = tasks.adopt(waiting, owner, outbox, wanted.ttl())?;
    let told = Value::Object(task.told(revision));
    let fields = Map::from_iter([("task".to_owned(), told)]);
    Ok(Routed::Reply(result(fields, revision, &server.config)))
}

/// A call that takes long: what its client gets in the place of the answer.
pub(super) fn instead_of_answer(server: &Server, waiting: Waiting, revision: Revision) -> Reply {
    let task = server
        .tasks
        .adopt(waiting, None, Arc::new(Outbox::default()), TTL);
    match task {
        Ok(task) => {
            let mut fields = task.told(revision);
            fields.insert("resultType".to_owned(), "task".into());
            result(fields, revision, &server.config)
        }
        Err(error) => error.into(),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    task_id: String,
    #[serde(default)]
    input_responses: Map<String, Value>,
}

/// `tasks/…`, as far as the client's revision has it.
pub(super) fn route(
    connection: &Arc<Connection>,
    method: &str,
    params: Option<&RawValue>,
    about: &About,
    outbox: &Arc<Outbox>,
) -> Result<Routed, RpcError> {
    let server = &connection.server;
    let revision = about.revision;
    let stateless = revision.is_stateless();
    if revision < Revision::V2025_11_25 || (stateless && !about.capabilities.tasks) {
        return Err(RpcError::no_method(method));
    }
    let reply = |fields| Ok(Routed::Reply(result(fields, revision, &server.config)));
    if method == "tasks/list" && !stateless {
        let all = server.tasks.lock();
        let own = all.values().filter(|task| task.is_of(connection));
        let tasks: Vec<Value> = own.map(|task| Value::Object(task.told(revision))).collect();
        return reply(Map::from_iter([("tasks".to_owned(), tasks.into())]));
    }
    let find = || {
        let named: Named = parse(params)?;
        let task = server.tasks.find(&named.task_id, connection)?;
        Ok((task, named.input_responses))
    };
    match method {
        "tasks/get" => reply(find()?.0.told(revision)),
        "tasks/result" if !stateless => Ok(awaited(connection, find()?.0, outbox)),
        "tasks/update" if stateless => {
            let (task, answers) = find()?;
            task.asker.deliver(answers);
            reply(Map::new())
        }
        "tasks/cancel" => {
            let task = find()?.0;
            if task.is_over() && !stateless {
                return Err(RpcError::invalid_params("the task is over"));
            }
            task.cancel.cancel();
            task.end(End::Cancelled);
            reply(if stateless {
                Map::new()
            } else {
                task.told(revision)
            })
        }
        _ => Err(RpcError::no_method(method)),
    }
}

/// `tasks/result`: waits for the end, and hands on what the call has to say meanwhile.
fn awaited(connection: &Arc<Connection>, task: Arc<Task>, outbox: &Arc<Outbox>) -> Routed {
    let cancel = connection.cancel.child();
    let given_up = cancel.clone();
    let outbox = outbox.clone();
    let work = Box::pin(async move {
        let mut state = task.state.subscribe();
        loop {
            for message in task.outbox.take() {
                outbox.put(related(&task.id, message));
            }
            let end = state.borrow_and_update().end.clone();
            if let Some(end) = end {
                return ended(&task.id, end);
            }
            tokio::select! {
                // Whatever happened, the state is looked at again.
                _ = state.changed() => {}
                () = task.outbox.filled() => {}
                () = given_up.cancelled() => return RpcError::internal("cancelled").into(),
            }
        }
    });
    Routed::Work(cancel, work)
}

fn ended(id: &str, end: End) -> Reply {
    match end {
        End::Result(mut fields) => {
            let meta = fields.entry("_meta").or_insert_with(|| json!({}));
            meta[RELATED] = json!({"taskId": id});
            Reply::value(&Value::Object(fields))
        }
        End::Error(error) => error.into(),
        End::Cancelled => RpcError::invalid_params("the task was cancelled").into(),
    }
}

/// A message of a call, marked with its task.
fn related(id: &str, message: Vec<u8>) -> Vec<u8> {
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(&message) else {
        return message;
    };
    let params = fields.entry("params").or_insert_with(|| json!({}));
    params["_meta"][RELATED] = json!({"taskId": id});
    Value::Object(fields).to_string().into_bytes()
}

/// A point in time as the protocol writes it: in UTC, to the millisecond.
fn iso(time: SystemTime) -> String {
    Timestamp::try_from(time).map_or_else(|_| String::new(), |time| format!("{time:.3}"))
}

/// What a client is told about tasks, by its revision.
pub(super) fn declare(capabilities: &mut Value, revision: Revision) {
    if revision.is_stateless() {
        capabilities["extensions"] = json!({TASKS: {}});
    } else if revision == Revision::V2025_11_25 {
        capabilities["tasks"] = json!({
            "list": {},
            "cancel": {},
            "requests": {"tools": {"call": {}}},
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn moments() {
        let at = |millis| iso(UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_400_070), "2000-02-29T00:00:00.070Z");
    }
}
