//! approve: where policy says ask, suspend until a person says yes or no. The yes is bound to
//! exactly this call and is used up when it starts.

use std::path::Path;

use haft_core::{
    Answer, CommandLine, Effects, EventKind, Mode, Person, Question, Resource, ToolError,
};
use haft_policy::{Judgement, Verdict};
use serde_json::Value;

use super::judge::{self, Judged};
use super::limits::{Limits, within};
use crate::approvals::{self, Approval, digest};
use crate::flight::Flight;
use crate::secrets;
use crate::visible::{shortened, visible};

/// Characters of one argument, and of a preview, that a question shows.
const ARGUMENT: usize = 2_000;
const DETAIL: usize = 20_000;

pub(crate) async fn call(
    flight: &Flight<'_>,
    judged: &Judged,
) -> Result<Option<Approval>, ToolError> {
    match &judged.ask {
        None => Ok(None),
        // Boxed, so that calls that need no yes do not carry the room for it.
        Some(judgement) => Box::pin(a_yes(flight, judged, judgement)).await,
    }
}

async fn a_yes(
    flight: &Flight<'_>,
    judged: &Judged,
    judgement: &Judgement,
) -> Result<Option<Approval>, ToolError> {
    if flight.cx.dry_run {
        return rehearsal(flight, judged).await;
    }
    let Some(person) = flight.cx.caller.person.clone() else {
        flight.answered("nobody");
        return Err(nobody(flight, judgement, &judged.effects));
    };
    let cancel = flight.cx.cancel.clone();
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(super::cancelled()),
        answer = ask(flight, judged, &*person) => answer,
    }
}

/// A dry run asks nobody, unless its preview has to run a command: that needs the same yes as the
/// real thing, and without it there is no preview.
async fn rehearsal(flight: &Flight<'_>, judged: &Judged) -> Result<Option<Approval>, ToolError> {
    let previews = flight.entry().is_some_and(|entry| entry.spec().has_preview);
    match &flight.cx.caller.person {
        Some(person) if previews && !judged.effects.commands.is_empty() => {
            Ok(ask(flight, judged, &**person).await.unwrap_or(None))
        }
        _ => Ok(None),
    }
}

/// What the files hold that a yes to this call is about.
pub(super) fn contents(flight: &Flight<'_>, judged: &Judged) -> String {
    approvals::contents(&flight.cx, &judged.effects, &flight.runtime.policy())
}

async fn ask(
    flight: &Flight<'_>,
    judged: &Judged,
    person: &dyn Person,
) -> Result<Option<Approval>, ToolError> {
    // One question at a time: an earlier "always" may already answer this one.
    let _alone = flight.session.asking().lock().await;
    let policy = flight.runtime.policy();
    let Some(mut judgement) = judge::again(flight, &policy, &judged.effects) else {
        return Ok(None);
    };
    // A rule with a secret in it would keep the secret.
    judgement.remember = judgement
        .remember
        .filter(|rule| secrets::mask(rule).count == 0);
    match judgement.verdict {
        Verdict::Allow => return Ok(None),
        Verdict::Deny => return Err(judge::denied(flight, &judgement)),
        Verdict::Ask => {}
    }
    let approvals = flight.runtime.approvals();
    // Looked at before anything is shown: whatever changes from here on is not what was seen.
    let seen = contents(flight, judged);
    let open = |policy| {
        let bound_to = digest(&flight.cx, &flight.args, &judged.effects, &seen, policy);
        approvals
            .open(bound_to)
            .map_err(|error| ToolError::failed("no randomness for an approval").caused_by(error))
    };
    let id = open(&policy)?;
    let question = question(flight, &id, &judgement, &judged.effects).await;
    flight.cx.emit(EventKind::Asked {
        question: id.clone(),
        reason: question.reason.clone(),
    });
    let answer = tokio::time::timeout(approvals.lifetime(), person.ask(&question)).await;
    let answer = answer.unwrap_or(None);
    let allowed = matches!(answer, Some(Answer::Yes | Answer::Always));
    flight.cx.emit(EventKind::Answered {
        question: id.clone(),
        allowed,
    });
    flight.answered(match answer {
        Some(Answer::Yes) => "yes",
        Some(Answer::Always) => "always",
        Some(Answer::No) => "no",
        None => "nobody",
    });
    match (answer, &judgement.remember) {
        (Some(Answer::Always), Some(rule)) => {
            approvals.close(&id);
            flight.runtime.remember(rule)?;
            let id = open(&flight.runtime.policy())?;
            approvals.grant(&id);
            Ok(Some(Approval(id)))
        }
        (Some(Answer::Yes | Answer::Always), _) => {
            approvals.grant(&id);
            Ok(Some(Approval(id)))
        }
        (Some(Answer::No), _) => {
            approvals.close(&id);
            Err(ToolError::denied(format!(
                "`{}` was refused by a person",
                flight.cx.tool
            )))
        }
        (None, _) => {
            approvals.close(&id);
            Err(nobody(flight, &judgement, &judged.effects))
        }
    }
}

/// Refused for want of someone to ask: say which command would have allowed it. What is of this
/// process alone, no other command can do in its place.
fn nobody(flight: &Flight<'_>, judgement: &Judgement, effects: &Effects) -> ToolError {
    let error = ToolError::denied(format!(
        "needs approval and nobody answered: {}",
        judgement.reason
    ));
    let rule = judgement
        .remember
        .as_deref()
        .filter(|rule| secrets::mask(rule).count == 0);
    error.hint(match rule {
        Some(rule) => format!(
            "answer on a terminal, pass `--yes`, or allow it for good with `haft policy allow {}`",
            quoted(rule)
        ),
        None if is_of_this_process(effects) => {
            "no rule allows it for good, and it is about what runs \
            in this session: answer at its terminal, start that with `--yes`, or use a client that \
            shows forms (elicitation)"
                .to_owned()
        }
        None => format!(
            "make the call on a terminal and answer there, or pass `--yes`: `haft call {} …`",
            flight.cx.tool
        ),
    })
}

fn is_of_this_process(effects: &Effects) -> bool {
    let mut accesses = effects.accesses.iter();
    accesses.any(|access| access.resource.is_of_this_process())
}

/// A word as a shell takes it literally.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

async fn question(
    flight: &Flight<'_>,
    id: &str,
    judgement: &Judgement,
    effects: &Effects,
) -> Question {
    let detail = preview(flight, effects).await;
    let clean = |text: String| visible(&secrets::mask(&text).text);
    let workspace = &flight.cx.caller.workspace;
    let below = detail.as_deref().unwrap_or_default();
    Question {
        id: id.to_owned(),
        tool: flight.cx.tool.to_string(),
        summary: clean(summary(&flight.args, effects, workspace, below)),
        detail: detail.map(|text| clean(shortened(&text, DETAIL).into_owned())),
        reason: clean(judgement.reason.clone()),
        rule: judgement.remember.as_deref().map(visible),
    }
}

/// What the tool would change, where looking is free of effects: a command would have to run.
async fn preview(flight: &Flight<'_>, effects: &Effects) -> Option<String> {
    let entry = flight.entry()?;
    if !entry.spec().has_preview || !effects.commands.is_empty() {
        return None;
    }
    let prepared = entry.tool().prepare(&flight.args).ok()?;
    let shown = within(Limits::of(flight), &flight.cx, prepared.preview(&flight.cx));
    let shown = shown.await.ok()?.into_body();
    let texts: Vec<String> = shown
        .content
        .into_iter()
        .filter_map(|block| match block {
            haft_core::Block::Text { text, .. } => Some(text),
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn summary(args: &Value, effects: &Effects, workspace: &Path, below: &str) -> String {
    let mut lines = Vec::new();
    for command in &effects.commands {
        let (shown, cwd) = match command {
            CommandLine::Shell { line, cwd } => (line.clone(), cwd),
            CommandLine::Argv { argv, cwd } => (format!("{argv:?}"), cwd),
        };
        lines.push(format!("run: {}", barred(&shortened(&shown, ARGUMENT))));
        if cwd != workspace {
            lines.push(format!("in: {}", cwd.display()));
        }
    }
    if effects.commands.is_empty() {
        for access in &effects.accesses {
            let verb = if access.mode == Mode::Write {
                "change"
            } else {
                "read"
            };
            let what = match &access.resource {
                Resource::File(path) => path.display().to_string(),
                other => other.to_string(),
            };
            lines.push(format!("{verb}: {}", barred(&what)));
        }
        for (key, value) in args.as_object().into_iter().flatten() {
            let shown = match value.as_str() {
                Some(text) if is_shown(text, below) => {
                    format!("{} lines, below", text.lines().count())
                }
                Some(text) => barred(&shortened(text, ARGUMENT)),
                None => barred(&shortened(&value.to_string(), ARGUMENT)),
            };
            lines.push(format!("{}: {shown}", barred(key)));
        }
    }
    lines.join("\n")
}

/// Whether a text of several lines is in the preview whole, each line behind the sign of an added
/// one: then the question need not show it twice.
fn is_shown(text: &str, below: &str) -> bool {
    let mut added = below.lines().filter_map(|line| line.strip_prefix('+'));
    let whole = below.chars().count() <= DETAIL;
    whole && text.lines().count() > 1 && text.lines().all(|line| added.any(|one| one == line))
}

/// Further lines of a caller's text stand behind a bar, so that none passes for one of ours.
fn barred(text: &str) -> String {
    text.replace('\n', "\n    │ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_left_out_only_where_the_preview_shows_it_whole() {
        let preview = "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n";
        let check = |text: &str, expected: bool| assert_eq!(is_shown(text, preview), expected);
        check("one\ntwo", true);
        check("two\none", false);
        check("one\ntwo\nthree", false);
        check("one", false);
        assert!(!is_shown(
            "one\ntwo",
            &format!("{preview}{}", "x".repeat(DETAIL))
        ));
    }
}
