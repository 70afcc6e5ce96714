//! The search as its users see it.

#![allow(clippy::unwrap_used)] // Functions beside the tests may fail loudly too.

mod builtin;
mod bytes;
mod catalogue;
mod gate;
mod input;
mod model;
mod views;
