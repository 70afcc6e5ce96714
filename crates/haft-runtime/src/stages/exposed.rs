//! What a command comes upon is hidden from it by the sandbox. Where there is none, a call that
//! nobody would be asked about is asked about, if there is something to hide.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use haft_core::Effects;
use haft_policy::{Bound, Judgement, Verdict};

use crate::flight::Flight;

/// The judgement, and the place because of which somebody is asked, if there is one.
pub(super) fn asked<'b>(
    flight: &Flight<'_>,
    bound: &Bound,
    judgement: Cow<'b, Judgement>,
    effects: &Effects,
) -> (Cow<'b, Judgement>, Option<PathBuf>) {
    // A trial has a sandbox at every level.
    let settled = judgement.verdict != Verdict::Allow || flight.cx.dry_run;
    if settled || effects.commands.is_empty() {
        return (judgement, None);
    }
    let paths = &flight.cx.caller.paths;
    let resolve = |cwd: &Path, path: &str| paths.resolve(cwd, path);
    match paths.exposed(&|| bound.walked(effects, &resolve)) {
        Some(place) => (Cow::Owned(bound.exposing(&judgement, &place)), Some(place)),
        None => (judgement, None),
    }
}
