//! One recorded decision, with all that it was made from. Calls that are alike are one case.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use haft_core::{Effects, ToolSpec};
use haft_policy::{Judgement, Policy, Verdict, Who};
use haft_store::Line;
use serde_json::{Value, json};

/// What can be said of it now.
#[derive(Debug, Clone)]
pub(super) enum Now {
    Known(Judgement),
    Unknown(&'static str),
}

impl Now {
    pub(super) fn verdict(&self) -> Option<Verdict> {
        match self {
            Now::Known(judgement) => Some(judgement.verdict),
            Now::Unknown(_) => None,
        }
    }
}

/// A call of a case.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) seq: i64,
    pub(super) call_id: String,
    pub(super) was: Verdict,
    /// A person said no
    pub(super) refused: bool,
}

#[derive(Debug)]
pub(super) struct Case {
    pub(super) tool: String,
    pub(super) who: Who,
    pub(super) workspace: PathBuf,
    /// None for a call that was refused before anybody looked at its arguments
    pub(super) effects: Option<Effects>,
    /// Where words led, by folder and word
    trail: HashMap<(PathBuf, String), PathBuf>,
    /// Not everything that policy read is in the record as it was
    hidden: bool,
    /// A place with keys that nothing hid from it
    exposed: Option<PathBuf>,
    pub(super) calls: Vec<Recorded>,
    pub(super) now: Now,
}

impl Case {
    /// The case of a record, and what tells it from others. None for a call that policy did not
    /// judge.
    pub(super) fn of(line: Line) -> Option<(blake3::Hash, Case, Recorded)> {
        let verdict = line.verdict.as_deref()?;
        let was = serde_json::from_value(Value::from(verdict)).ok()?;
        let body = line.body;
        let key = json!([
            line.tool,
            body.agent,
            body.provider,
            body.identity,
            body.profile,
            body.autonomy,
            body.workspace,
            body.effects,
            body.resolved,
            body.hidden,
            body.exposed,
        ]);
        let identity = body.identity.map_or(Value::Null, Value::from);
        let call = Recorded {
            seq: line.seq,
            call_id: line.call_id,
            was,
            refused: body.answer.as_deref() == Some("no"),
        };
        let case = Case {
            tool: line.tool,
            who: Who {
                agent: body.agent,
                provider: body.provider,
                identity: serde_json::from_value(identity).unwrap_or_default(),
                profile: body.profile,
                autonomy: body.autonomy.and_then(|word| word.parse().ok()),
            },
            workspace: body.workspace.unwrap_or_default().into(),
            effects: body.effects.map(|text| text.effects()),
            trail: body
                .resolved
                .into_iter()
                .map(|(folder, word, path)| ((folder.into(), word), path.into()))
                .collect(),
            hidden: body.hidden,
            exposed: body.exposed.map(PathBuf::from),
            calls: Vec::new(),
            now: Now::Unknown("it was not judged yet"),
        };
        Some((blake3::hash(key.to_string().as_bytes()), case, call))
    }

    /// What a policy says of it.
    pub(super) fn judged(&self, policy: &Policy, spec: &ToolSpec) -> Now {
        let bound = policy.bind(spec, &self.who);
        let before = bound.tool_verdict();
        // Said before anybody looks at the arguments, so nothing that is hidden matters.
        if !bound.visible() || before.verdict == Verdict::Deny {
            return Now::Known(before.clone());
        }
        if self.hidden {
            return Now::Unknown("masking hid what it touched");
        }
        let Some(effects) = &self.effects else {
            return Now::Unknown("what it touches was never worked out");
        };
        let missed = Cell::new(false);
        let judgement = bound.judge(effects, &|folder: &Path, word: &str| {
            let known = self.trail.get(&(folder.to_owned(), word.to_owned()));
            known.cloned().unwrap_or_else(|| {
                missed.set(true);
                folder.join(word)
            })
        });
        if missed.get() {
            return Now::Unknown("where a word of it led was not written down");
        }
        Now::Known(match &self.exposed {
            Some(place) if judgement.verdict == Verdict::Allow => bound.exposing(&judgement, place),
            _ => judgement.into_owned(),
        })
    }

    /// Whether no rule should come to allow it: it takes something away, a person refused it, or
    /// it was denied.
    pub(super) fn is_destructive(&self) -> bool {
        let refused = |call: &Recorded| call.refused || call.was == Verdict::Deny;
        self.effects.as_ref().is_none_or(haft_policy::destroys)
            || self.calls.iter().any(refused)
            || self.now.verdict() == Some(Verdict::Deny)
    }
}
