//! Discovery: which tools there are for a caller who cannot be shown all of them.

mod door;
mod prompt;
mod search;

pub use door::Seat;
pub use prompt::PromptStyle;
pub use search::{Search, SearchHit, Whereabouts};
