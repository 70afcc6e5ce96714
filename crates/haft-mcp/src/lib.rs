//! MCP both ways. [`Server`] offers the tools of a runtime to any MCP client; every call a client
//! makes walks the same pipeline as all others. [`Fleet`] puts the tools of other servers among
//! ours. This crate opens nothing by itself: whoever starts a server hands it a stream or a
//! listener, and the host starts programs and makes requests.

mod client;
mod server;
mod wire;

pub use client::{
    Beside, Browser, Failure, Fleet, Hands, Health, HttpServer, OauthSpec, Record, Records,
    RemoteSpec, Way,
};
pub use server::{
    Begun, Completion, HttpConfig, Offer, Offered, Page, Prompt, Reading, Reference, Resource,
    ResourceTemplate, Server, ServerConfig,
};
