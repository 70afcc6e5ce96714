//! The runtime as its users see it: calls in, outcomes out.

#![allow(clippy::unwrap_used)]

mod approvals;
mod batch;
mod calls;
mod discovery;
mod injection;
mod order;
mod registry;
mod results;
mod views;
