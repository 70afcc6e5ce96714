//! The store as its users meet it: real files, several processes' worth of handles, real damage.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod blobs;
mod changes;
mod copies;
mod fixture;
mod journal;
mod notes;
mod proof;
mod results;
mod sights;
mod spans;
mod store;
