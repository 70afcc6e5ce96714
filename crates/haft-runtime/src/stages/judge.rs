//! judge: what exactly would this call touch, and what does policy say to that? Paths are
//! resolved by the host before policy sees them, so a rule binds the effect, not its spelling.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use haft_core::{Effects, EventKind, Prepared, ToolContext, ToolError};
use haft_policy::{Bound, HookAction, Judgement, Policy, Verdict};

use super::{limits, record};
use crate::flight::Flight;

/// A call that policy does not refuse.
pub(crate) struct Judged {
    pub(crate) effects: Arc<Effects>,
    /// What has to be asked, if anything
    pub(crate) ask: Option<Box<Judgement>>,
}

pub(crate) fn effects(
    flight: &mut Flight<'_>,
    tool: usize,
    prepared: &dyn Prepared,
) -> Result<Judged, ToolError> {
    let effects = shared(limits::effects(flight, prepared)?);
    let bound = flight.view.bound(tool);
    let judgement = match flight.note {
        None => judgement(flight, bound, &effects),
        Some(_) => record::judgement(flight, bound, &effects),
    };
    if judgement.decision.action == HookAction::Log {
        let reason = judgement.decision.reason.clone();
        flight.cx.emit(EventKind::Noted { reason });
    }
    let ask = match judgement.verdict {
        Verdict::Allow => None,
        Verdict::Ask => Some(Box::new(judgement.into_owned())),
        Verdict::Deny => return Err(denied(&flight.cx, &judgement)),
    };
    flight.meta.would = flight.cx.dry_run.then(|| match &ask {
        Some(judgement) => format!("ask: {}", judgement.reason),
        None => "run without asking".to_owned(),
    });
    flight.ticket.declare(&effects);
    Ok(Judged { effects, ask })
}

/// Calls that touch nothing share one word for it.
fn shared(effects: Effects) -> Arc<Effects> {
    static NONE: LazyLock<Arc<Effects>> = LazyLock::new(|| Arc::new(Effects::none()));
    if effects.is_none() {
        NONE.clone()
    } else {
        Arc::new(effects)
    }
}

fn judgement<'b>(flight: &Flight<'_>, bound: &'b Bound, effects: &Effects) -> Cow<'b, Judgement> {
    let paths = &flight.cx.caller.paths;
    bound.judge(effects, &|cwd, path| paths.resolve(cwd, path))
}

/// What policy says of the call, and nothing more.
pub(crate) fn explained(
    flight: &Flight<'_>,
    bound: &Bound,
    prepared: &dyn Prepared,
) -> Result<Judgement, ToolError> {
    let effects = limits::effects(flight, prepared)?;
    Ok(judgement(flight, bound, &effects).into_owned())
}

/// The same call judged by another policy.
pub(crate) fn again(flight: &Flight<'_>, policy: &Policy, effects: &Effects) -> Option<Judgement> {
    let entry = flight.entry()?;
    let bound = policy.bind(entry.spec(), flight.session.who());
    Some(judgement(flight, &bound, effects).into_owned())
}

pub(crate) fn denied(cx: &ToolContext, judgement: &Judgement) -> ToolError {
    ToolError::denied(format!("`{}` is denied: {}", cx.tool, judgement.reason))
        .hint(format!("see why with `haft policy explain {}`", cx.tool))
}
