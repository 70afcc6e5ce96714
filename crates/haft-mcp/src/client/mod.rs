//! Tools of MCP servers as tools of ours. What a server offers is known from the last time it was
//! looked at, so nothing has to run to be listed or found; a server starts with the first call, is
//! started again when it dies, and stopped when nobody needs it.

mod beside;
mod connect;
mod definition;
mod direct;
mod events;
mod failure;
mod fleet;
mod garbled;
mod http;
mod lane;
mod login;
mod news;
mod offered;
mod oversize;
mod remote;
mod result;
mod side;
mod tool;
mod words;

pub use self::connect::{Hands, HttpServer, Way};
pub use self::fleet::{Beside, Fleet, Health};
pub use self::login::{Browser, OauthSpec};
pub use self::remote::{Failure, RemoteSpec};

/// What is kept of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Record {
    /// What it offers
    Manifest,
    /// Why it could not be reached when it was last tried; empty once it could
    Failure,
    /// Credentials: for the owner's eyes only
    Login,
}

/// Where what is known of servers is kept between runs.
pub trait Records: Send + Sync {
    fn load(&self, record: Record, server: &str) -> Option<Vec<u8>>;

    fn save(&self, record: Record, server: &str, bytes: &[u8]);
}
