//! Tools for results that were too long to show whole.

mod read;
mod search;

use haft_core::{Module, Pack, typed};

pub(crate) fn pack() -> Pack {
    Pack {
        module: Module {
            name: "result",
            summary: "Read the parts of long results that were not shown",
            constraints: &[],
        },
        tools: vec![typed::<read::Read>()],
        reducers: Vec::new(),
    }
}
