//! The only crate that touches the machine. Each power here is a handle that a tool may hold;
//! what is not behind a power cannot be reached by a tool at all.

mod blocking;
mod env;
mod files;
mod process;
mod results;
mod system;

pub use env::{EnvPolicy, filter_env, loads_code, looks_secret};
pub use files::{
    EditFiles, Entry, EntryKind, FilesConfig, LineRange, ListFiles, Listing, ReadFiles, Reading,
    RealPaths, Resolved, Snapshot, Workspace, WriteFiles, holds_secrets, is_protected,
};
pub use process::{
    Finished, LONGEST_TIMEOUT, OUTPUT_CHARS, ProcessConfig, RunProcesses, ShellRequest, TAIL_CHARS,
    Watch, guardian_main, settle, signal_name,
};
pub use results::{Attachments, FileResults, KeptResults, ResultWriter};
pub use system::{ReadSystem, SystemInfo};
