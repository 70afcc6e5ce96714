//! One client over time: what it agreed on, which of its requests are under way, which of ours it
//! has yet to answer. A request that speaks for itself has a connection of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use haft_core::{BoxFuture, CancelToken};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::outbox::Outbox;
use super::request::{About, Agreed};
use super::{Server, call, describe, listen, lists, tasks};
use crate::wire::{Id, Kind, Reply, RpcError, notification, request};

/// No level was asked for.
const SILENT: u8 = u8::MAX;

/// How long a client is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stay {
    /// From its `initialize` until it goes away
    Session,
    /// For one request, which has to speak for itself: the transport said so
    Alone,
    /// For one request of an older revision, of which nothing else is known
    Passing,
}

pub(crate) struct Connection {
    pub(super) server: Arc<Server>,
    pub(super) cancel: CancelToken,
    stay: Stay,
    /// What it hears outside of any request
    pub(super) aside: Arc<Outbox>,
    agreed: OnceLock<Agreed>,
    level: AtomicU8,
    under_way: Mutex<HashMap<Id, CancelToken>>,
    asked: Mutex<HashMap<u64, oneshot::Sender<Option<Value>>>>,
    next: AtomicU64,
}

/// What becomes of a message.
pub(crate) enum Accepted {
    /// Nothing to say
    Done,
    Reply(Id, Reply),
    /// Under way; none where the client has given it up
    Work(Id, BoxFuture<'static, Option<Reply>>),
}

impl Connection {
    pub(crate) fn new(server: Arc<Server>, stay: Stay) -> Arc<Self> {
        let cancel = server.session.caller().cancel.child();
        Arc::new(Connection {
            server,
            cancel,
            stay,
            aside: Arc::default(),
            agreed: OnceLock::new(),
            level: AtomicU8::new(SILENT),
            under_way: Mutex::default(),
            asked: Mutex::default(),
            next: AtomicU64::new(1),
        })
    }

    /// Whether it will be known again when it comes back.
    pub(super) fn stays(&self) -> bool {
        self.stay == Stay::Session
    }

    pub(crate) fn agreed(&self) -> Option<Agreed> {
        self.agreed.get().copied()
    }

    pub(super) fn agree(&self, agreed: Agreed) -> Result<(), RpcError> {
        self.agreed
            .set(agreed)
            .map_err(|_| RpcError::invalid_request("`initialize` came twice"))
    }

    pub(super) fn set_level(&self, level: u8) {
        self.level.store(level, Ordering::Relaxed);
    }

    /// Take a message in. Nothing waits here: what takes time comes back as work.
    pub(crate) fn accept(self: &Arc<Self>, kind: Kind<'_>, outbox: &Arc<Outbox>) -> Accepted {
        match kind {
            Kind::Response { id, result } => {
                self.answered(&id, result.ok());
                Accepted::Done
            }
            Kind::Notification { method, params } => {
                if method == "notifications/cancelled" {
                    self.cancelled(params);
                }
                Accepted::Done
            }
            Kind::Request { id, method, params } => self.request(id, &method, params, outbox),
        }
    }

    fn request(
        self: &Arc<Self>,
        id: Id,
        method: &str,
        params: Option<&RawValue>,
        outbox: &Arc<Outbox>,
    ) -> Accepted {
        let stateless = self.stay == Stay::Alone;
        if method == "initialize" && !stateless {
            let reply = describe::initialize(self, params).unwrap_or_else(Reply::from);
            return Accepted::Reply(id, reply);
        }
        let level = Some(self.level.load(Ordering::Relaxed)).filter(|level| *level != SILENT);
        let about = match About::read(params, self.agreed(), stateless, level) {
            Ok(about) => about,
            // A client may ask for signs of life before anything is agreed.
            Err(_) if method == "ping" && !stateless => {
                return Accepted::Reply(id, Reply::Result(b"{}".to_vec()));
            }
            Err(error) => return Accepted::Reply(id, error.into()),
        };
        match self.route(&id, method, params, about, outbox) {
            Ok(Routed::Reply(reply)) => Accepted::Reply(id, reply),
            Ok(Routed::Work(cancel, work)) => self.begin(id, cancel, work),
            Err(error) => Accepted::Reply(id, error.into()),
        }
    }

    fn route(
        self: &Arc<Self>,
        id: &Id,
        method: &str,
        params: Option<&RawValue>,
        about: About,
        outbox: &Arc<Outbox>,
    ) -> Result<Routed, RpcError> {
        let stateless = about.revision.is_stateless();
        match method {
            "tools/call" => call::tool(self, params, about, outbox),
            "tools/list" => lists::tools(&self.server, params, &about).map(Routed::Reply),
            "server/discover" if stateless => Ok(Routed::Reply(describe::discover(&self.server))),
            "subscriptions/listen" if stateless => listen::subscribe(self, id, params, outbox),
            "ping" if !stateless => Ok(Routed::Reply(Reply::Result(b"{}".to_vec()))),
            "logging/setLevel" if !stateless => {
                describe::set_level(self, params).map(Routed::Reply)
            }
            "resources/subscribe" | "resources/unsubscribe" if !stateless => {
                listen::to_resource(&self.server, method, params).map(Routed::Reply)
            }
            _ if method.starts_with("tasks/") => tasks::route(self, method, params, &about, outbox),
            _ => lists::offered(self, method, params, about, outbox),
        }
    }

    /// Remember the work under its id, so that it can be cancelled.
    fn begin(
        self: &Arc<Self>,
        id: Id,
        cancel: CancelToken,
        work: BoxFuture<'static, Reply>,
    ) -> Accepted {
        let mut under_way = lock(&self.under_way);
        if under_way.contains_key(&id) {
            let error = RpcError::invalid_request(format!("a request with id {id} is under way"));
            return Accepted::Reply(id, error.into());
        }
        under_way.insert(id.clone(), cancel.clone());
        drop(under_way);
        let ended = Ended {
            connection: self.clone(),
            id: id.clone(),
        };
        Accepted::Work(
            id,
            Box::pin(async move {
                let reply = work.await;
                drop(ended);
                (!cancel.is_cancelled()).then_some(reply)
            }),
        )
    }

    fn cancelled(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Cancelled<'a> {
            #[serde(rename = "requestId", borrow)]
            request_id: &'a RawValue,
        }
        let named = params.and_then(|raw| serde_json::from_str::<Cancelled<'_>>(raw.get()).ok());
        if let Some(cancelled) = named
            && let Some(cancel) = lock(&self.under_way).get(cancelled.request_id.get())
        {
            cancel.cancel();
        }
    }

    /// Ask the client something on a stream that it listens to. None where it did not want to
    /// answer, or went away.
    pub(super) async fn ask(&self, outbox: &Outbox, method: &str, params: &Value) -> Option<Value> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        lock(&self.asked).insert(id, answer);
        outbox.put(request(id, method, params));
        let unasked = Unasked {
            connection: self,
            outbox,
            id,
        };
        let answer = answered.await;
        std::mem::forget(unasked);
        answer.ok().flatten()
    }

    fn answered(&self, id: &str, result: Option<&RawValue>) {
        let Some(waiting) = id
            .parse()
            .ok()
            .and_then(|id: u64| lock(&self.asked).remove(&id))
        else {
            return;
        };
        let value = result.and_then(|raw| serde_json::from_str(raw.get()).ok());
        // Whoever asked may have given up.
        let _ = waiting.send(value);
    }
}

/// How a request is served.
pub(super) enum Routed {
    Reply(Reply),
    Work(CancelToken, BoxFuture<'static, Reply>),
}

/// Takes a request off the list when it is over, however it ends.
struct Ended {
    connection: Arc<Connection>,
    id: Id,
}

impl Drop for Ended {
    fn drop(&mut self) {
        lock(&self.connection.under_way).remove(&self.id);
    }
}

/// A question that nobody waits for any more: the client is told, and its answer is ignored.
struct Unasked<'a> {
    connection: &'a Connection,
    outbox: &'a Outbox,
    id: u64,
}

impl Drop for Unasked<'_> {
    fn drop(&mut self) {
        lock(&self.connection.asked).remove(&self.id);
        let params = serde_json::json!({"requestId": self.id});
        self.outbox
            .tell(notification("notifications/cancelled", &params));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
