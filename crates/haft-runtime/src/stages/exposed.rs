//! What a command comes upon is hidden from it by the sandbox. Where there is none, a call that
//! nobody would be asked about is asked about, if there is something to hide.

use std::path::{Path, PathBuf};

use haft_core::Effects;
use haft_policy::{Bound, Judgement, Verdict};

use crate::flight::Flight;

/// The place because of which somebody is to be asked.
pub(super) fn place(
    flight: &Flight<'_>,
    bound: &Bound,
    judgement: &Judgement,
    effects: &Effects,
) -> Option<PathBuf> {
    // A trial has a sandbox at every level.
    let settled = judgement.verdict != Verdict::Allow || flight.cx.dry_run;
    if settled || effects.commands.is_empty() {
        return None;
    }
    let paths = &flight.cx.caller.paths;
    let resolve = |cwd: &Path, path: &str| paths.resolve(cwd, path);
    paths.exposed(&|| bound.walked(effects, &resolve))
}
