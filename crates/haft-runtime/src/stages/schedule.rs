//! schedule: wait for earlier calls whose effects conflict with this one's. A dry run changes
//! nothing and waits for nobody.

use haft_core::ToolError;

use crate::flight::Flight;

pub(crate) async fn turn(flight: &Flight<'_>) -> Result<(), ToolError> {
    if flight.cx.dry_run {
        return Ok(());
    }
    tokio::select! {
        biased;
        () = flight.ticket.turn() => Ok(()),
        () = flight.cx.cancel.cancelled() => Err(super::cancelled()),
    }
}
