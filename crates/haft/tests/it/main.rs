//! The binary as a person meets it: real processes, real files, a real terminal.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod approvals;
mod bad_input;
mod completions;
mod config;
mod crowd;
mod denied_paths;
mod flags;
mod injection;
mod isolation;
mod journal;
mod listing;
mod login;
mod must_show;
mod names;
mod outcomes;
mod own_state;
mod place;
mod policy;
mod processes;
mod pty;
mod search;
mod sessions;
mod signals;
mod tool_search;
mod trust;
