//! record: what is about to happen is written down before it happens, how it ended after. Without
//! a recorder none of this costs more than a look at an empty place.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use haft_core::{
    Block, CommandLine, Effects, Ending, ErrorCode, Intent, Mode, Outcome, Output, Private, Repeat,
    Ruling, ToolError,
};
use haft_policy::{Bound, Judgement, shell};

use super::exposed;
use crate::flight::Flight;
use crate::secrets;

/// Characters of a word that tell a kind of call.
const SUBJECT_WORD: usize = 40;
/// A result of so many bytes is written down in full; a longer one has a handle at most.
const SHORT: usize = 2_000;

/// What policy says, noted with everything it looked at.
pub(super) fn judgement<'b>(
    flight: &Flight<'_>,
    bound: &'b Bound,
    effects: &std::sync::Arc<Effects>,
) -> Cow<'b, Judgement> {
    let paths = &flight.cx.caller.paths;
    let trail = RefCell::new(Vec::new());
    let judgement = bound.judge(effects, &|cwd, word| {
        let path = paths.resolve(cwd, word);
        let step = (cwd.to_owned(), word.to_owned(), path.clone());
        trail.borrow_mut().push(step);
        path
    });
    let (judgement, place) = exposed::asked(flight, bound, judgement, effects);
    ruled(flight, &judgement, place.as_deref());
    let Some(note) = &flight.note else {
        return judgement;
    };
    let mut trail = trail.into_inner();
    trail.dedup();
    let _ = note.effects.set(effects.clone());
    let _ = note.resolved.set(trail);
    judgement
}

/// Note what policy said.
pub(super) fn ruled(flight: &Flight<'_>, judgement: &Judgement, exposed: Option<&Path>) {
    let Some(note) = &flight.note else {
        return;
    };
    let rules = judgement.rules.iter();
    let _ = note.ruling.set(Ruling {
        verdict: judgement.verdict.as_str(),
        rules: rules
            .map(|hit| [&hit.rule, " (", &hit.from, ")"].concat())
            .collect(),
        reason: judgement.reason.clone(),
        // A rule with a secret in it would keep the secret.
        remember: judgement
            .remember
            .clone()
            .filter(|rule| secrets::mask(rule).count == 0),
        policy: flight.view.policy().revision().to_owned(),
        answer: None,
        exposed: exposed.map(|place| place.to_string_lossy().into_owned()),
    });
}

/// A call with effects is on the disk before anything happens.
pub(crate) async fn intent(flight: &mut Flight<'_>, effects: &Effects) -> Result<(), ToolError> {
    let Some(recorder) = flight.runtime.recorder() else {
        return Ok(());
    };
    if flight.cx.dry_run || !has_effects(flight, effects) {
        return Ok(());
    }
    let Some(intending) = told(flight).map(|intent| recorder.intend(intent)) else {
        return Ok(());
    };
    let intended = intending.await?;
    if let Some(note) = &mut flight.note {
        note.intended = Some(intended);
    }
    Ok(())
}

/// Note what the whole result is, so that it can be compared with that of a later call.
pub(crate) fn output(flight: &mut Flight<'_>, output: &Output) {
    // Whoever reads the record later must not take the words of others for ours, and what is
    // somebody's content, or a note that may be forgotten, is not kept here.
    let kept = flight.entry().is_some_and(|entry| {
        let spec = entry.spec();
        spec.repeat == Repeat::Read && spec.private.is_empty() && !spec.output_is_untrusted
    });
    let kept = kept && !flight.meta.untrusted && !flight.meta.forgettable;
    let Some(note) = &mut flight.note else {
        return;
    };
    let mut hasher = blake3::Hasher::new();
    for block in &output.content {
        if let Some(text) = block.as_text() {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    note.digest = Some(*hasher.finalize().as_bytes());
    note.text = kept.then(|| short(output)).flatten();
}

/// The texts of a result, if they are short and all there is.
fn short(output: &Output) -> Option<String> {
    let texts: Option<Vec<&str>> = output.content.iter().map(Block::as_text).collect();
    let texts = texts?;
    let length: usize = texts.iter().map(|text| text.len() + 1).sum();
    (length <= SHORT && output.error.is_none()).then(|| texts.join("\n"))
}

/// What kind of call this is: the tool, and of a command its program and the word after it.
pub(super) fn subject(flight: &Flight<'_>) -> String {
    let effects = flight.note.as_ref().and_then(|note| note.effects.get());
    let line = effects.and_then(|effects| effects.commands.first());
    let script = match line {
        None => return flight.cx.tool.to_string(),
        Some(CommandLine::Shell { line, .. }) => shell::parse(line),
        Some(CommandLine::Argv { argv, .. }) => shell::parse_argv(argv),
    };
    let mut subject = flight.cx.tool.to_string();
    for word in script.commands.iter().flat_map(|one| &one.words).take(2) {
        subject.push(' ');
        subject.extend(word.text.chars().take(SUBJECT_WORD));
    }
    secrets::mask(&subject).text.into_owned()
}

/// Whether somebody would have to be told if nobody knew how it ended.
pub(super) fn has_effects(flight: &Flight<'_>, effects: &Effects) -> bool {
    let repeat = flight
        .entry()
        .map_or(Repeat::Unsafe, |entry| entry.spec().repeat);
    let writes = |access: &haft_core::Access| access.mode == Mode::Write;
    (repeat != Repeat::Read && !effects.changes_nothing())
        || effects.anything
        || !effects.commands.is_empty()
        || effects.accesses.iter().any(writes)
}

pub(super) fn told(flight: &Flight<'_>) -> Option<Intent> {
    let note = flight.note.as_deref()?;
    let mut ruling = note.ruling.get().cloned();
    if let Some(ruling) = &mut ruling {
        ruling.answer = note.answer.get().copied();
    }
    let who = flight.session.who();
    let spec = flight.entry().map(|entry| entry.spec());
    // Arguments that did not fit may be anywhere.
    let private = match spec {
        Some(spec) if note.fits || spec.private.is_empty() => Private::Named(spec.private.clone()),
        _ => Private::Everything,
    };
    Some(Intent {
        call_id: flight.cx.call_id.clone(),
        tool: flight.cx.tool.clone(),
        caller: flight.cx.caller.clone(),
        profile: who.profile.clone(),
        autonomy: who.autonomy.map(haft_policy::Autonomy::as_str),
        args: flight.args.clone(),
        private,
        effects: note.effects.get().cloned(),
        resolved: note.resolved.get().cloned().unwrap_or_default(),
        repeat: match note.effects.get() {
            Some(effects) if effects.changes_nothing() => Repeat::Read,
            _ => spec.map_or(Repeat::Unsafe, |spec| spec.repeat),
        },
        dry_run: flight.cx.dry_run,
        ruling,
        key: flight.cx.key.clone(),
    })
}

/// Hand over how it ended.
pub(super) fn ending(flight: &Flight<'_>, outcome: &Outcome, duration: Duration, shown: usize) {
    let Some(recorder) = flight.runtime.recorder() else {
        return;
    };
    let intended = flight.note.as_ref().and_then(|note| note.intended);
    let Some(intent) = told(flight) else {
        return;
    };
    let meta = &outcome.meta;
    let code = outcome.code();
    let quotes = intent.private == Private::Everything && code == Some(ErrorCode::InputInvalid);
    let message = outcome.error.as_ref().map(|error| match quotes {
        true => "the arguments do not fit".to_owned(),
        false => error.message.clone(),
    });
    let ending = Ending {
        code,
        message,
        duration,
        chars: meta.total_chars,
        shown,
        masked: meta.masked,
        reduced: meta.reduced,
        truncated: meta.truncated,
        handle: meta.handle.clone(),
        subject: (meta.reduced || meta.truncated).then(|| subject(flight)),
        digest: flight.note.as_ref().and_then(|note| note.digest),
        text: flight.note.as_ref().and_then(|note| note.text.clone()),
        same_as: flight.note.as_ref().and_then(|note| note.same_as.clone()),
    };
    recorder.ended(intent, intended, ending);
}
