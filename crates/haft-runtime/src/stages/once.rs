//! once: a call under a key is made once. One that is done is answered with what it answered then;
//! one of which nobody knows whether it happened is looked into, made again where that does no
//! harm, and left to a person where it might.

use std::io::Read;

use haft_core::{Earlier, EarlierState, ErrorCode, Nature, Output, Repeat, ToolError};

use super::judge::Judged;
use super::limits::{Limits, within};
use super::{record, validate};
use crate::flight::Flight;

/// Bytes of an earlier answer that are read again.
const LONGEST: u64 = 64 << 20;

/// The answer, where the work was done before; none where it is to be done.
pub(crate) async fn answer(
    flight: &mut Flight<'_>,
    tool: usize,
    judged: &Judged,
) -> Result<Option<Output>, ToolError> {
    if flight.cx.key.is_none() || flight.cx.dry_run {
        return Ok(None);
    }
    // Boxed, so that calls without a key do not carry the room for it.
    Box::pin(by_key(flight, tool, judged)).await
}

async fn by_key(
    flight: &mut Flight<'_>,
    tool: usize,
    judged: &Judged,
) -> Result<Option<Output>, ToolError> {
    let Some(recorder) = flight.runtime.recorder() else {
        return Ok(None);
    };
    if !record::has_effects(flight, &judged.effects) {
        return Ok(None);
    }
    let Some(intent) = record::told(flight) else {
        return Ok(None);
    };
    let Some(earlier) = recorder.earlier(&intent).await? else {
        return Ok(None);
    };
    let call = &earlier.call_id;
    if !earlier.same_work {
        return Err(
            ToolError::conflict(format!("the key stands for other work: call `{call}`"))
                .hint("give each piece of work a key of its own"),
        );
    }
    match earlier.state {
        EarlierState::NotDone => Ok(None),
        EarlierState::Done => Ok(Some(as_before(flight, &earlier))),
        EarlierState::Running => Err(ToolError::conflict(format!(
            "the same work is under way: call `{call}`"
        ))
        .hint("wait for its end, then call again with the same key")),
        EarlierState::Uncertain => uncertain(flight, tool, &earlier).await,
    }
}

/// What the earlier call answered, as far as it was kept.
fn as_before(flight: &mut Flight<'_>, earlier: &Earlier) -> Output {
    let caller = &flight.cx.caller;
    let mut text = String::new();
    if let (Some(results), Some(handle)) = (&caller.results, &earlier.handle)
        && let Ok(kept) = results.open(&caller.session, handle)
        && kept.take(LONGEST).read_to_string(&mut text).is_err()
    {
        text.clear();
    }
    let told = format!(
        "[done before, as call `{}`: nothing was done again]",
        earlier.call_id
    );
    if let Some(note) = &mut flight.note {
        note.same_as = Some(earlier.call_id.clone());
    }
    if text.is_empty() {
        return Output::text(told);
    }
    let nature = earlier.handle.as_deref().map(Nature::told_by);
    let nature = nature.unwrap_or_default();
    Output::text(text)
        .and_text(told)
        .untrusted_if(nature.untrusted)
        .forgettable_if(nature.forgettable)
}

/// Nobody knows whether it happened: the tool is asked, if it can tell.
async fn uncertain(
    flight: &mut Flight<'_>,
    tool: usize,
    earlier: &Earlier,
) -> Result<Option<Output>, ToolError> {
    let spec = flight.view.entry(tool).spec().clone();
    if spec.has_verify
        && let Some(happened) = verified(flight, tool).await
    {
        if let Some(recorder) = flight.runtime.recorder() {
            let how = "the tool looked for it";
            recorder.settle(earlier, happened, how).await?;
        }
        return Ok(happened.then(|| as_before(flight, earlier)));
    }
    if spec.repeat != Repeat::Unsafe {
        return Ok(None);
    }
    let call = &earlier.call_id;
    Err(ToolError::new(
        ErrorCode::Uncertain,
        format!("nobody knows whether it happened as call `{call}`"),
    )
    .hint(format!(
        "find out, then say so with `haft journal settle {call} --happened` or `--did-not`"
    )))
}

/// What the tool says of an interrupted call with these arguments.
pub(crate) async fn verified(flight: &mut Flight<'_>, tool: usize) -> Option<bool> {
    let prepared = validate::arguments(flight, tool).ok()?;
    let limits = Limits::of(flight);
    let cx = &flight.cx;
    let asked = async {
        let happened = prepared.verify(cx).await?;
        Ok(Output::structured(happened.into()))
    };
    let told = within(limits, cx, Box::pin(asked)).await.ok()?;
    told.structured.as_ref()?.as_bool()
}
