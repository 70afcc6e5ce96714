//! judge: what exactly would this call touch, and what does policy say to that? Paths are
//! resolved by the host before policy sees them, so a rule binds the effect, not its spelling.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use haft_core::{Effects, EventKind, Prepared, ToolError};
use haft_policy::{Bound, HookAction, Judgement, Policy, Verdict};

use super::{exposed, limits, record};
use crate::flight::Flight;

/// A call that policy does not refuse.
pub(crate) struct Judged {
    pub(crate) effects: Touched,
    /// What has to be asked, if anything
    pub(crate) ask: Option<Box<Judgement>>,
}

pub(crate) fn effects(
    flight: &mut Flight<'_>,
    tool: usize,
    prepared: &dyn Prepared,
) -> Result<Judged, ToolError> {
    let effects = Touched::from(limits::effects(flight, prepared)?);
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
        Verdict::Deny => return Err(denied(flight, &judgement)),
    };
    flight.meta.would = flight.cx.dry_run.then(|| match &ask {
        Some(judgement) => format!("ask: {}", judgement.reason),
        None => "run without asking".to_owned(),
    });
    flight.cx.closed = bound.closed();
    let orders = flight.runtime.scheduler();
    flight.ticket = match &effects {
        Touched::These(effects) if !effects.is_none() => Some(orders.ticket(flight.lane, effects)),
        _ => None,
    };
    Ok(Judged { effects, ask })
}

/// What a call touches. Calls that touch nothing share one word for it.
pub(crate) enum Touched {
    Nothing(&'static Arc<Effects>),
    These(Arc<Effects>),
}

impl From<Effects> for Touched {
    fn from(effects: Effects) -> Self {
        static NONE: LazyLock<Arc<Effects>> = LazyLock::new(|| Arc::new(Effects::none()));
        match effects.is_none() && !effects.only_looks {
            true => Touched::Nothing(&NONE),
            false => Touched::These(Arc::new(effects)),
        }
    }
}

impl Deref for Touched {
    type Target = Arc<Effects>;

    fn deref(&self) -> &Arc<Effects> {
        match self {
            Touched::Nothing(none) => none,
            Touched::These(effects) => effects,
        }
    }
}

fn judgement<'b>(flight: &Flight<'_>, bound: &'b Bound, effects: &Effects) -> Cow<'b, Judgement> {
    let paths = &flight.cx.caller.paths;
    let judgement = bound.judge(effects, &|cwd, path| paths.resolve(cwd, path));
    exposed::asked(flight, bound, judgement, effects).0
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

pub(crate) fn denied(flight: &Flight<'_>, judgement: &Judgement) -> ToolError {
    let tool = &flight.cx.tool;
    ToolError::denied(format!("`{tool}` is denied: {}", judgement.reason))
        .hint(format!("see why with `{}`", explaining(flight)))
}

/// The command that shows this verdict: with the arguments, where they are short enough to be
/// written again, and with who calls.
fn explaining(flight: &Flight<'_>) -> String {
    const ARGUMENTS: usize = 200;
    let mut command = format!("haft policy explain {}", flight.cx.tool);
    let args = flight.args.to_string();
    let given = flight.args.as_object().is_some_and(|args| !args.is_empty());
    if given && args.len() <= ARGUMENTS && !args.contains('\'') {
        command.push_str(&format!(" '{args}'"));
    }
    let who = flight.session.who();
    let flags = [
        ("profile", who.profile.as_deref()),
        ("agent", who.agent.as_deref()),
        ("provider", who.provider.as_deref()),
        ("autonomy", who.autonomy.map(haft_policy::Autonomy::as_str)),
    ];
    for (flag, value) in flags {
        if let Some(value) = value {
            command.push_str(&format!(" --{flag} {value}"));
        }
    }
    command
}
