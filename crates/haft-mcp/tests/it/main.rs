//! The server and the client against real streams, real processes and the official schemas.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod approvals;
mod asking;
mod changes;
mod client;
mod conformance;
mod examples;
mod faults;
mod over_http;
mod renewal;
mod server;
mod tasks;
