//! Tools for the record of calls: an agent can see what it did.

mod list;
mod power;
mod show;

use haft_core::{Module, Pack, typed};

pub use power::{OpenJournal, ReadJournal};

pub(crate) fn pack() -> Pack {
    Pack {
        module: Module {
            name: "journal",
            summary: "Look up which calls were made and how they ended",
            constraints: &[],
        },
        tools: vec![typed::<list::List>(), typed::<show::Show>()],
        reducers: Vec::new(),
    }
}
