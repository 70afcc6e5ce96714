//! The spine: every tool of every source, who sees which, and the one way a call walks.
//!
//! [`Registry`] holds tools, a [`Session`] is a caller with a view of them, and
//! [`Runtime::call`] is the only door: front ends differ in how they come by a [`haft_core::Call`]
//! and what they do with the [`haft_core::Outcome`], never in what happens between.

mod approvals;
mod arguments;
mod catalogue;
mod definitions;
mod discovery;
mod door;
mod events;
mod flight;
mod ids;
mod injection;
mod lean;
mod live;
mod pipeline;
mod reducers;
mod registry;
mod runs;
mod runtime;
mod scheduler;
mod secrets;
mod session;
mod stages;
mod unheard;
mod view;
mod visible;

pub use arguments::parse_arguments;
pub use catalogue::IndexStore;
pub use definitions::{Definition, Definitions, Shape};
pub use discovery::{PromptStyle, Search, SearchHit, Seat, Whereabouts};
pub use events::{EventBus, Heard, Listener};
pub use injection::{Decision, Injection, InjectionMode};
pub use live::LiveText;
pub use pipeline::Explanation;
pub use reducers::{ReducerTaken, Reducers, Registered};
pub use registry::{Entry, Quarantined, RegisterError, Registry, Snapshot};
pub use runtime::{LookAgain, RememberRule, Runtime, RuntimeConfig};
pub use secrets::{Masked, hide, mask, mask_value, prepare_to_mask};
pub use session::Session;
pub use view::{Filters, Scope, View};
pub use visible::visible;
