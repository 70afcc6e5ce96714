//! Tools for commands that go on in the background. One tool an action, and one with all actions
//! for those who know it as `Process`; both are thin over [`told`] and the host.

mod kill;
mod list;
mod log;
mod manage;
mod poll;
mod start;
#[cfg(test)]
mod tests;
pub(crate) mod told;
mod write;

use haft_core::{Module, Pack, typed};

pub(crate) fn pack() -> Pack {
    Pack {
        module: Module {
            name: "process",
            summary: "Start, watch, feed and end commands in the background",
            constraints: &[],
        },
        tools: vec![
            typed::<start::Start>(),
            typed::<list::List>(),
            typed::<poll::Poll>(),
            typed::<poll::Status>(),
            typed::<log::Log>(),
            typed::<write::Write>(),
            typed::<write::Submit>(),
            typed::<kill::Kill>(),
            typed::<manage::Manage>(),
        ],
        reducers: Vec::new(),
    }
}
