//! The built-in tools against real files, called the way the pipeline calls them: prepare,
//! effects, run.

// All of this crate is test code; clippy only sees that of the test functions themselves.
#![allow(clippy::unwrap_used)]

mod examples;
mod file_batch;
mod file_corpus;
mod file_move;
mod file_patch;
mod file_race;
mod file_read;
mod file_search;
mod file_write;
mod fixture;
mod git;
mod memory;
mod reducing;
mod result_read;
