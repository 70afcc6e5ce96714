//! What rules close beyond the accesses that a call's effects name. A tool that goes through
//! folders, or a program that nobody understands, comes upon files that policy was never asked
//! about; whoever opens them for it asks here.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use crate::Mode;

/// The paths that rules deny to one caller of one tool. Paths are absolute, with links resolved.
pub trait ClosedPaths: Debug + Send + Sync {
    /// Whether this file, or this folder with all it holds, is closed.
    fn closes(&self, mode: Mode, path: &Path) -> bool;

    /// Whether something inside of this folder may be closed.
    fn reaches(&self, mode: Mode, folder: &Path) -> bool;

    /// Where to look for what is closed: of each pattern the part without wildcards.
    fn starts(&self, mode: Mode) -> Vec<ClosedStart>;
}

/// Where a closed pattern begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedStart {
    pub path: PathBuf,
    /// The path is all that the pattern means, with what it holds
    pub exact: bool,
}
