//! What the launcher is told, as its first argument. Only the session and the configuration
//! decide what stands here, never the arguments of a call.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::closed::ClosedPlaces;
use super::level::Level;

/// One launch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Spec {
    pub(super) level: Level,
    /// The process that everything ends with, and its descriptor for our report
    pub(super) parent: i32,
    pub(super) report: i32,
    /// Where the command starts
    pub(super) cwd: PathBuf,
    pub(super) workspace: PathBuf,
    /// Other places that may be written
    pub(super) roots: Vec<PathBuf>,
    /// Places in homes that may be read
    pub(super) readable: Vec<PathBuf>,
    /// haft's own state: not to be seen at all
    pub(super) state: PathBuf,
    /// The home of the user, where start-up files, keys and all kinds of data are
    pub(super) home: Option<PathBuf>,
    /// What rules close
    pub(super) closed: ClosedPlaces,
    /// Write beside the workspace instead of into it
    pub(super) overlay: Option<OverlayDirs>,
    pub(super) limits: Limits,
    /// Who wants to know of every change, by the name of its door
    pub(super) watcher: Option<String>,
    /// Standard input is a terminal that the command is to control
    pub(super) terminal: bool,
    /// Refuse to go without these
    pub(super) landlock: bool,
    pub(super) process_limit: bool,
}

/// Where an overlay keeps what is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OverlayDirs {
    pub(crate) upper: PathBuf,
    pub(crate) work: PathBuf,
}

/// What one sandboxed command may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads at once
    pub processes: u64,
    /// Bytes of memory that one process may have of its own
    pub memory: u64,
    /// Bytes of one file
    pub file_size: u64,
    pub open_files: u64,
    /// Bytes in the private temporary folders, each
    pub temporary: u64,
}

const GIB: u64 = 1 << 30;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            processes: 4096,
            memory: 16 * GIB,
            file_size: 16 * GIB,
            open_files: 16_384,
            temporary: 4 * GIB,
        }
    }
}

#[cfg(test)]
impl Spec {
    /// A sandboxed command in this workspace.
    pub(super) fn example(workspace: PathBuf) -> Self {
        Spec {
            level: Level::Sandboxed,
            parent: 0,
            report: 0,
            cwd: workspace.clone(),
            workspace,
            roots: Vec::new(),
            readable: Vec::new(),
            state: PathBuf::from("/nonexistent"),
            home: None,
            closed: ClosedPlaces::default(),
            overlay: None,
            limits: Limits::default(),
            watcher: None,
            terminal: false,
            landlock: true,
            process_limit: true,
        }
    }
}
