//! What goes over the wire: JSON-RPC messages, protocol revisions, error codes.

pub(crate) mod code;
mod message;
mod outgoing;
mod revision;

pub(crate) use code::RpcError;
pub(crate) use message::{
    Id, Incoming, Kind, Reply, error_reply, is_batch, no_id, notification, request,
};
pub(crate) use outgoing::Outgoing;
pub(crate) use revision::{Capabilities, RequestMeta, Revision, TASKS};
