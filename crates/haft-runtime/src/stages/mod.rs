//! The stages of a call, in their order.

pub(crate) mod approve;
pub(crate) mod available;
pub(crate) mod begin;
pub(crate) mod end;
pub(crate) mod inspect;
pub(crate) mod judge;
pub(crate) mod once;
pub(crate) mod permit;
pub(crate) mod record;
pub(crate) mod reduce;
pub(crate) mod resolve;
pub(crate) mod run;
pub(crate) mod schedule;
pub(crate) mod trim;
pub(crate) mod validate;

mod exposed;
mod hints;
mod limits;
mod structured;
pub(crate) mod untrusted;

use haft_core::{ErrorCode, ToolError};

/// The caller gave up, wherever the call was.
fn cancelled() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "cancelled by the caller")
}
