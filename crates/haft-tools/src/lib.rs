//! Built-in tools, one file each, grouped by module. A new tool is one file and one line in its
//! module's list.

mod file;
mod git;
mod journal;
mod kept;
mod lines;
mod memory;
mod meta;
mod milliseconds;
mod process;
mod reach;
mod result;
mod session_id;
mod shell;
mod system;

use haft_core::Pack;

pub use file::difference;
pub use journal::{OpenJournal, ReadJournal};
pub use memory::{Memory, OpenStore, checked_namespace, namespace_of};
pub use reach::Reach;

/// Every built-in module with its tools.
pub fn packs() -> Vec<Pack> {
    vec![
        file::pack(),
        git::pack(),
        journal::pack(),
        memory::pack(),
        meta::pack(),
        process::pack(),
        result::pack(),
        shell::pack(),
        system::pack(),
    ]
}
