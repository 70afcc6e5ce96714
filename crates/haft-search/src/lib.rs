//! Finds the right tool among thousands from a sentence in any of some fifty languages: offline,
//! with the model inside the binary.
//!
//! An [`Index`] holds tools as text ([`ToolDoc`]); a [`Searcher`] finds them for one caller, as
//! if the index had never held what that caller may not see. A search joins a keyword index with
//! vectors of the model in [`model`], by how much of the query the catalogue's words cover, and
//! looks a second time at the best of them, piece by piece.
//!
//! No file is read and nothing is looked up elsewhere. What the crate does not do: decide who may
//! see a tool, or what of it reaches a model.

mod bytes;
mod doc;
mod dot;
mod entry;
#[cfg(feature = "eval")]
pub mod eval;
mod fit;
mod gloss;
mod index;
mod keywords;
pub mod model;
mod pairs;
mod query;
mod rank;
mod searcher;
mod seed;
mod stem;
mod synonyms;
mod telling;
mod words;

pub use bytes::LoadError;
pub use doc::ToolDoc;
pub use index::{Changes, Index};
pub use searcher::{Counted, Found, Hit, ScoreParts, Searcher};
pub use seed::Scorer;
