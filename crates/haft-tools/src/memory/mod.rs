//! Tools for notes that outlive a session: kept, found by meaning in any language, forgotten.

mod forget;
mod index;
mod list;
mod power;
mod read;
mod recall;
mod search;
mod store;
mod told;
mod write;

use haft_core::{Module, Pack, typed};

pub use power::{Memory, OpenStore, checked as checked_namespace, namespace_of};

pub(crate) fn pack() -> Pack {
    Pack {
        module: Module {
            name: "memory",
            summary: "Keep notes and find them again by meaning",
            constraints: &[],
        },
        tools: vec![
            typed::<store::Store>(),
            typed::<recall::Recall>(),
            typed::<read::Read>(),
            typed::<write::Write>(),
            typed::<search::Search>(),
            typed::<list::List>(),
            typed::<forget::Forget>(),
        ],
        reducers: Vec::new(),
    }
}
