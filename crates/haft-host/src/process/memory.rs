//! How much memory of its own a worker may have. The kernel keeps the limit: past it nothing more
//! is given, and the worker ends. Commands are not meant by it, they have the limits of their
//! sandbox; since a limit is inherited, it is lifted for the moment in which one is started.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Into how many parts the memory is divided, of which each thing that is held may fill one.
const PARTS: u64 = 16;

static LIMIT: OnceLock<u64> = OnceLock::new();

/// Keep this process to so many bytes from here on, for good.
pub(crate) fn keep_to(bytes: u64) -> std::io::Result<()> {
    set(Some(*LIMIT.get_or_init(|| bytes)))
}

/// How much may be held at once of what may be this large: a part of what this process may have,
/// since it is copied on its way out.
pub(crate) fn room(limit: u64) -> u64 {
    LIMIT.get().map_or(limit, |all| limit.min(all / PARTS))
}

/// While this lives, what is started is not bound by the limit of this process.
pub(super) struct Lifted;

pub(super) fn lifted() -> Option<Lifted> {
    LIMIT.get()?;
    set(None).ok()?;
    Some(Lifted)
}

impl Drop for Lifted {
    fn drop(&mut self) {
        // Lowering is never refused.
        let _ = set(LIMIT.get().copied());
    }
}

/// The soft limit alone, so that it can be raised again; none for as much as is allowed.
fn set(bytes: Option<u64>) -> std::io::Result<()> {
    let maximum = getrlimit(Resource::Data).maximum;
    let current = match (bytes, maximum) {
        (Some(bytes), Some(maximum)) => Some(bytes.min(maximum)),
        (bytes, maximum) => bytes.or(maximum),
    };
    let limit = Rlimit { current, maximum };
    setrlimit(Resource::Data, limit).map_err(std::io::Error::from)
}
