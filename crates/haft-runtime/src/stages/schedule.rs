//! schedule: wait for earlier calls whose effects conflict with this one's. A dry run changes
//! nothing and waits for nobody.

use haft_core::ToolError;

use crate::flight::Flight;
use crate::scheduler::Ticket;

pub(crate) async fn turn(flight: &Flight<'_>) -> Result<(), ToolError> {
    match &flight.ticket {
        // Boxed, so that calls that need not wait do not carry the room for it.
        Some(ticket) if !flight.cx.dry_run => Box::pin(wait(flight, ticket)).await,
        _ => Ok(()),
    }
}

async fn wait(flight: &Flight<'_>, ticket: &Ticket<'_>) -> Result<(), ToolError> {
    tokio::select! {
        biased;
        () = ticket.turn() => Ok(()),
        () = flight.cx.cancel.cancelled() => Err(super::cancelled()),
    }
}
