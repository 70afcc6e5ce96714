//! Tools about the machine itself.

mod info;

use haft_core::{Module, Pack, typed};

pub(crate) fn pack() -> Pack {
    Pack {
        module: Module {
            name: "system",
            summary: "Facts about the machine the tools run on",
            constraints: &[],
        },
        tools: vec![typed::<info::Info>()],
        reducers: Vec::new(),
    }
}
