//! schedule: wait for earlier calls whose effects conflict with this one's. A dry run changes
//! nothing and waits for nobody.

use haft_core::ToolError;

use crate::flight::Flight;

pub(crate) async fn turn(flight: &Flight<'_>) -> Result<(), ToolError> {
    if flight.cx.dry_run || flight.ticket.is_free() {
        return Ok(());
    }
    // Boxed, so that calls that need not wait do not carry the room for it.
    Box::pin(wait(flight)).await
}

async fn wait(flight: &Flight<'_>) -> Result<(), ToolError> {
    tokio::select! {
        biased;
        () = flight.ticket.turn() => Ok(()),
        () = flight.cx.cancel.cancelled() => Err(super::cancelled()),
    }
}
