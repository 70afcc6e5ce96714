//! Tools that look at git repositories. None of them changes anything.

mod diff;
mod status;

use haft_core::{Effects, Module, Pack, Resource, ToolError, typed};
use haft_host::Resolved;

pub(crate) fn pack() -> Pack {
    Pack {
        module: Module {
            name: "git",
            summary: "Look at git repositories: state and differences",
            constraints: &[],
        },
        tools: vec![typed::<status::Status>(), typed::<diff::Diff>()],
        reducers: Vec::new(),
    }
}

/// What looking at a place touches: it and all that is in it, but for what rules close.
fn looks_at(place: &Resolved) -> Effects {
    let effects = place.reads().skipping_closed();
    effects.reads(Resource::Tree(place.path().to_owned()))
}

/// Say which question failed.
fn failed(question: &str) -> impl Fn(ToolError) -> ToolError {
    move |mut error| {
        error.message = format!("Git {question} failed: {}", error.message);
        error
    }
}
