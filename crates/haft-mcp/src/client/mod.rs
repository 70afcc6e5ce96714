//! Tools of MCP servers as tools of ours. What a server offers is known from the last time it was
//! looked at, so nothing has to run to be listed or found; a server starts with the first call, is
//! started again when it dies, and stopped when nobody needs it.

mod definition;
mod fleet;
mod remote;
mod result;
mod side;
mod tool;

pub use self::fleet::{Fleet, Health};
pub use self::remote::RemoteSpec;

/// Where what is known of servers is kept between runs.
pub trait Manifests: Send + Sync {
    fn load(&self, server: &str) -> Option<Vec<u8>>;

    fn save(&self, server: &str, manifest: &[u8]);
}
