//! Tools for files in the workspace.

mod batch;
mod delete;
mod diff;
mod edit;
mod glob;
mod grep;
mod hunks;
mod list;
mod nearest;
mod notes;
mod patch;
mod read;
mod reduce;
mod relocate;
mod target;
mod undo;
mod unified;
mod write;

use haft_core::{ConstraintKind, ConstraintSpec, Module, Pack, typed};

pub use diff::difference;
pub(crate) use target::Target;

pub(crate) fn pack() -> Pack {
    Pack {
        module: Module {
            name: "file",
            summary: "Read, write, change, move and find files in the workspace",
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
            typed::<patch::Patch>(),
            typed::<relocate::Move>(),
            typed::<delete::Delete>(),
            typed::<batch::Batch>(),
            typed::<undo::Undo>(),
            typed::<list::List>(),
            typed::<glob::Glob>(),
            typed::<grep::Grep>(),
        ],
        reducers: reduce::all(),
    }
}
