//! haft as an MCP server: any client, every revision, one pipeline. A transport turns bytes into
//! messages and hands them to a [`connection::Connection`]; what a message means is decided there,
//! the same for all transports.

mod answer;
mod aside;
mod asker;
mod batch;
mod call;
mod connection;
mod describe;
mod http;
mod listen;
mod lists;
mod offer;
mod outbox;
mod pace;
mod request;
mod seal;
mod stream;
mod tasks;
mod telling;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_runtime::{Runtime, Session};

use self::aside::Aside;
use self::seal::Seal;
use self::tasks::Tasks;

pub use self::http::HttpConfig;
pub use self::offer::{
    Begun, Completion, Offer, Offered, Page, Prompt, Reading, Reference, Resource, ResourceTemplate,
};

/// How a server presents itself.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    pub name: String,
    pub title: String,
    pub version: String,
    /// What a model should know before it calls anything
    pub instructions: Option<String>,
}

/// Looks again at what a person may have allowed meanwhile.
type Refresh = Box<dyn Fn(&Runtime) + Send + Sync>;

/// The tools of one runtime, as one caller sees them, for MCP clients.
pub struct Server {
    config: ServerConfig,
    runtime: Arc<Runtime>,
    session: Session,
    offer: Option<Arc<dyn Offer>>,
    seal: Seal,
    aside: Aside,
    tasks: Tasks,
    refresh: Option<Refresh>,
    /// A call was refused because nobody could be asked; the person may have allowed it since
    refused: AtomicBool,
}

impl Server {
    /// Fails only where the machine gives no randomness.
    pub fn new(
        config: ServerConfig,
        runtime: Arc<Runtime>,
        session: Session,
    ) -> Result<Self, getrandom::Error> {
        Ok(Server {
            config,
            runtime,
            session,
            offer: None,
            seal: Seal::new()?,
            aside: Aside::default(),
            tasks: Tasks::default(),
            refresh: None,
            refused: AtomicBool::new(false),
        })
    }

    /// Offer resources and prompts beside the tools.
    #[must_use]
    pub fn offering(mut self, offer: Arc<dyn Offer>) -> Self {
        self.offer = Some(offer);
        self
    }

    /// Where to look for rules that a person has added since a call was refused.
    #[must_use]
    pub fn refreshing(mut self, refresh: impl Fn(&Runtime) + Send + Sync + 'static) -> Self {
        self.refresh = Some(Box::new(refresh));
        self
    }

    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// A call was refused for want of someone to ask: look for new rules before the next one.
    fn note_refusal(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }

    fn look_again(&self) {
        if self.refused.swap(false, Ordering::Relaxed)
            && let Some(refresh) = &self.refresh
        {
            refresh(&self.runtime);
        }
    }
}
