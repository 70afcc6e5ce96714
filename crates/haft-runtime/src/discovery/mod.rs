//! Discovery: which tools there are for a caller who cannot be shown all of them.

mod search;

pub use search::{Category, Search, SearchHit, Whereabouts};
