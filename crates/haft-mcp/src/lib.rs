//! MCP both ways. [`Server`] offers the tools of a runtime to any MCP client; every call a client
//! makes walks the same pipeline as all others. This crate opens nothing by itself: whoever starts
//! a server hands it a stream or a listener.

mod client;
mod server;
mod wire;

pub use client::{Fleet, Health, Manifests, RemoteSpec};
pub use server::{
    Completion, HttpConfig, Offer, Offered, Prompt, Reading, Resource, ResourceTemplate, Server,
    ServerConfig,
};
