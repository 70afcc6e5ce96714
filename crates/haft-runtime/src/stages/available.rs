//! available: the backends it needs are there, and the tool itself says it can work now.

use haft_core::ToolError;

use crate::flight::Flight;

pub(crate) fn tool(flight: &Flight<'_>, tool: usize) -> Result<(), ToolError> {
    match flight.view.entry(tool).unavailable(&flight.cx) {
        None => Ok(()),
        Some(reason) => Err(ToolError::not_available(format!(
            "`{}` is not currently available: {reason}",
            flight.cx.tool
        ))),
    }
}
