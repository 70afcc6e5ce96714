//! The journal of this process: opened beside the first call, or beside the start of a command that
//! is about to make one. Other commands never touch it.

use std::sync::OnceLock;

use anyhow::{Result, bail};
use haft_core::{BoxFuture, Earlier, Ending, Intent, Recorder, ToolError};
use haft_store::{Changes, Journal, JournalConfig, Results, Sights, StoreError, Values};

use crate::home::Home;
use crate::terminal::fail::Failed;

pub(crate) struct Recording {
    home: Home,
    journal: OnceLock<Result<Journal, StoreError>>,
}

impl Recording {
    pub(crate) fn new(home: &Home) -> Self {
        Recording {
            home: home.clone(),
            journal: OnceLock::new(),
        }
    }

    pub(crate) fn journal(&self) -> Result<&Journal, StoreError> {
        let opened = self.journal.get_or_init(|| {
            self.home
                .ensure()
                .map_err(|error| StoreError::Failed(error.to_string()))?;
            open(&self.home)
        });
        opened.as_ref().map_err(Clone::clone)
    }

    /// Open the journal beside the caller, who is about to need it. What goes wrong is told to the
    /// call that cannot be written down.
    pub(crate) fn begin(&self) {
        let _ = self.journal();
    }

    /// The same for one that is there already.
    pub(crate) fn begin_existing(&self) {
        if Journal::file(self.home.path()).exists() {
            self.begin();
        }
    }

    /// Small things by name, where the journal was begun.
    pub(crate) fn begun(&self) -> Option<Values> {
        let journal = self.journal.get()?.as_ref().ok()?;
        Some(Values::new(journal.store().clone()))
    }

    /// Whole results, once they have come in.
    pub(crate) fn results(&self) -> Result<Results, StoreError> {
        let store = self.journal()?.store().clone();
        Ok(Results::new(store, self.home.path()))
    }

    /// Calls that changed files.
    pub(crate) fn changes(&self) -> Result<Changes, StoreError> {
        let store = self.journal()?.store().clone();
        Ok(Changes::new(store, self.home.path()))
    }

    /// What sessions have seen of files.
    pub(crate) fn sights(&self) -> Result<Sights, StoreError> {
        let store = self.journal()?.store().clone();
        Ok(Sights::new(store, self.home.path()))
    }

    /// Small things by name.
    pub(crate) fn values(&self) -> Result<Values, StoreError> {
        Ok(Values::new(self.journal()?.store().clone()))
    }

    /// Write what is left. Says what could not be written, if anything.
    pub(crate) fn finish(&self) -> Option<String> {
        let reason = match self.journal.get()? {
            Err(error) => error.clone(),
            Ok(journal) => match journal.store().finish() {
                0 => return None,
                _ => journal.store().trouble().unwrap_or(StoreError::Closed),
            },
        };
        let hint = reason
            .hint()
            .unwrap_or("nothing was changed by these calls");
        Some(format!("calls could not be written down: {reason}; {hint}"))
    }
}

fn open(home: &Home) -> Result<Journal, StoreError> {
    haft_store::tell_when_long(crate::terminal::fail::notice);
    Journal::open(JournalConfig {
        home: home.path().to_owned(),
        mask: haft_runtime::mask_value,
        boot: None,
    })
}

/// The journal as it is, for commands that read it; none where nothing was ever written down.
pub(crate) fn existing(home: &Home) -> Result<Option<Journal>> {
    if !home.exists()? || !Journal::is_there(home.path()) {
        return Ok(None);
    }
    match open(home) {
        Ok(journal) => Ok(Some(journal)),
        Err(error) => bail!(failed(error)),
    }
}

/// A store's error with its way back.
pub(crate) fn failed(error: StoreError) -> Failed {
    Failed {
        message: error.to_string(),
        hint: error.hint().map(str::to_owned),
    }
}

impl Recorder for Recording {
    fn intend(&self, intent: Intent) -> BoxFuture<'_, Result<i64, ToolError>> {
        // What an earlier call has left goes into the same commit, which is on the disk after it.
        if let Ok(changes) = self.changes() {
            changes.take_soon();
        }
        match self.journal() {
            Ok(journal) => journal.intend(intent),
            Err(error) => Box::pin(async move {
                let refused = ToolError::failed(format!(
                    "nothing was done, because it could not be written down: {error}"
                ));
                Err(match error.hint() {
                    Some(hint) => refused.hint(hint),
                    None => refused,
                })
            }),
        }
    }

    fn ended(&self, intent: Intent, intended: Option<i64>, ending: Ending) {
        if let Some(handle) = &ending.handle
            && let Ok(results) = self.results()
        {
            results.take(&intent.caller.session, handle);
        }
        if intended.is_some()
            && let Ok(changes) = self.changes()
        {
            changes.take_soon();
        }
        if let Ok(journal) = self.journal() {
            journal.ended(intent, intended, ending);
        }
    }

    fn earlier(&self, intent: &Intent) -> BoxFuture<'_, Result<Option<Earlier>, ToolError>> {
        match self.journal() {
            Ok(journal) => journal.earlier(intent),
            // It cannot be written down, and is refused for that.
            Err(_) => Box::pin(async { Ok(None) }),
        }
    }

    fn settle(
        &self,
        earlier: &Earlier,
        happened: bool,
        how: &str,
    ) -> BoxFuture<'_, Result<(), ToolError>> {
        match self.journal() {
            Ok(journal) => Recorder::settle(journal, earlier, happened, how),
            Err(_) => Box::pin(async { Ok(()) }),
        }
    }

    fn keeps_being_read(&self, subject: &str) -> bool {
        let journal = self.journal();
        journal.is_ok_and(|journal| Recorder::keeps_being_read(journal, subject))
    }
}
