//! The power to read the record of calls. Whose calls a caller sees is settled here, for both tools
//! alike.

use std::sync::Arc;

use haft_core::{Capability, Effects, Power, Resource, ToolContext, ToolError};
use haft_store::{Durability, Filter, Journal, Line, State, StoreError};

use crate::Reach;

/// Opens the journal, or says why it cannot.
pub type OpenJournal = Arc<dyn Fn() -> Result<Journal, StoreError> + Send + Sync>;

#[derive(Clone)]
pub struct ReadJournal {
    open: OpenJournal,
    reach: Reach,
}

impl Power for ReadJournal {
    const CAPABILITIES: &'static [Capability] = &[Capability::StorageJournal];
}

impl ReadJournal {
    pub fn new(open: OpenJournal, reach: Reach) -> Self {
        ReadJournal { open, reach }
    }

    /// Why there is no journal here, if so.
    pub(super) fn closed(&self) -> Option<String> {
        (self.reach == Reach::Nothing).then(|| "an air-gapped caller has no journal".to_owned())
    }

    /// The session whose calls are meant: the caller's own, or another where it reaches that far.
    pub(super) fn session(
        &self,
        cx: &ToolContext,
        given: Option<String>,
    ) -> Result<String, ToolError> {
        let own = cx.caller.session.to_string();
        match given {
            Some(other) if other != own && self.reach != Reach::All => Err(ToolError::denied(
                "only calls of this session are open at this isolation level",
            )
            .hint("leave `session` out")),
            given => Ok(given.unwrap_or(own)),
        }
    }

    /// The calls that a filter means, oldest first.
    pub(super) async fn calls(&self, filter: Filter) -> Result<Vec<Line>, ToolError> {
        let journal = (self.open)().map_err(|error| told(&error))?;
        // What was called just now may be on its way into it.
        let written = journal.store().write(Durability::Process, |_| Ok(()));
        let found = tokio::task::spawn_blocking(move || {
            // Where nothing can be written, what is there can be read all the same.
            let _ = written.wait();
            let mut lines = journal.list(&filter)?;
            lines.retain(|line| line.state != State::Note);
            Ok(lines)
        });
        match found.await {
            Ok(lines) => lines.map_err(|error: StoreError| told(&error)),
            Err(error) => Err(ToolError::failed("reading the journal broke off").caused_by(error)),
        }
    }
}

fn told(error: &StoreError) -> ToolError {
    let failed = ToolError::failed(error.to_string());
    match error.hint() {
        Some(hint) => failed.hint(hint),
        None => failed,
    }
}

pub(super) fn looks() -> Effects {
    Effects::none().reads(Resource::Uri("journal:".to_owned()))
}
