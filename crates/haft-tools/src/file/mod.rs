//! Tools for files in the workspace.

mod diff;
mod edit;
mod list;
mod nearest;
mod read;
mod target;
mod write;

use haft_core::{ConstraintKind, ConstraintSpec, Module, Pack, typed};

pub(crate) fn pack() -> Pack {
    Pack {
        module: Module {
            name: "file",
            summary: "Read, write, edit and list files in the workspace",
            constraints: &[ConstraintSpec {
                name: "allowed_paths",
                kind: ConstraintKind::StringList,
                description: "Globs that every path must match, seen from the workspace",
            }],
        },
        tools: vec![
            typed::<read::Read>(),
            typed::<write::Write>(),
            typed::<edit::Edit>(),
            typed::<list::List>(),
        ],
        reducers: Vec::new(),
    }
}
