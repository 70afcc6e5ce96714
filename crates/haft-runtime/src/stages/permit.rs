//! permit: may this caller use this tool at all? Scopes and filters make a tool not available;
//! policy denies. Arguments are not looked at yet, so that a refused caller learns nothing about
//! them.

use haft_core::ToolError;
use haft_policy::Verdict;

use crate::flight::Flight;
use crate::stages::{judge, record};

pub(crate) fn tool(flight: &Flight<'_>, tool: usize) -> Result<(), ToolError> {
    in_view(flight, tool)?;
    let bound = flight.view.bound(tool);
    if bound.visible() && bound.tool_verdict().verdict != Verdict::Deny {
        return Ok(());
    }
    record::ruled(flight, bound.tool_verdict(), None);
    Err(judge::denied(flight, bound.tool_verdict()))
}

/// Whether the tool exists for this caller.
pub(crate) fn in_view(flight: &Flight<'_>, tool: usize) -> Result<(), ToolError> {
    match flight.view.outside(tool) {
        None => Ok(()),
        Some(reason) => Err(ToolError::not_available(reason)),
    }
}
