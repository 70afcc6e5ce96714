//! Tools that run commands.

mod commit;
mod discard;
mod exec;
mod preview;
mod reduce;
mod story;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use haft_core::{ConstraintKind, ConstraintSpec, Module, Pack, typed};

pub(crate) fn pack() -> Pack {
    Pack {
        module: Module {
            name: "shell",
            summary: "Run shell commands in the workspace",
            constraints: &[
                ConstraintSpec {
                    name: "allowed_commands",
                    kind: ConstraintKind::StringList,
                    description: "Command patterns of which one must match, such as `git status *`",
                },
                ConstraintSpec {
                    name: "blocked_commands",
                    kind: ConstraintKind::StringList,
                    description: "Command patterns that are refused",
                },
            ],
        },
        tools: vec![
            typed::<exec::Exec>(),
            typed::<commit::Commit>(),
            typed::<discard::Discard>(),
        ],
        reducers: vec![Arc::new(reduce::ShellReducer)],
    }
}
