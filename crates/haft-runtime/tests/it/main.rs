//! The runtime as its users see it: calls in, outcomes out.

mod approvals;
mod batch;
mod calls;
mod order;
mod registry;
mod results;
mod views;
