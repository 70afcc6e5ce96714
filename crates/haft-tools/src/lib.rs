//! Built-in tools, one file each, grouped by module. A new tool is one file and one line in its
//! module's list.

mod file;
mod git;
mod kept;
mod lines;
mod memory;
mod meta;
mod process;
mod result;
mod shell;
mod system;

use haft_core::Pack;

pub use memory::{Memory, MemoryReach, OpenStore};

/// Every built-in module with its tools.
pub fn packs() -> Vec<Pack> {
    vec![
        file::pack(),
        git::pack(),
        memory::pack(),
        meta::pack(),
        process::pack(),
        result::pack(),
        shell::pack(),
        system::pack(),
    ]
}
