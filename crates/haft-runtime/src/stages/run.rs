//! run: the tool itself, within its limits. What was judged is looked at once more, so that the
//! world cannot change between the yes and the deed.

use haft_core::{Output, Prepared, ToolError, ToolResult};
use serde_json::Value;

use super::approve::contents;
use super::cancelled;
use super::judge::Judged;
use super::limits::{Limits, effects, within};
use crate::approvals::{Approval, Approved, digest};
use crate::flight::Flight;
use crate::visible::shortened;

/// Characters of a place in an answer.
const PLACE: usize = 100;
/// Characters of one argument that a dry run repeats.
const ARGUMENT: usize = 500;

/// Use an approval up. It counts for exactly what was judged, under the policy in force now; what
/// is written down of the call after this cannot make it stale.
pub(crate) fn spend(
    flight: &Flight<'_>,
    judged: &Judged,
    approval: Option<Approval>,
) -> Result<Option<Approved>, ToolError> {
    let Some(Approval(id)) = approval else {
        return Ok(None);
    };
    let approved = Approved(contents(flight, judged));
    let now = digest(
        &flight.cx,
        &flight.args,
        &judged.effects,
        &approved.0,
        &flight.runtime.policy(),
    );
    let spent = flight.runtime.approvals().consume(&id, now);
    spent.map(|()| Some(approved)).map_err(|error| {
        ToolError::conflict(format!("the approval does not count: {error}"))
            .hint("make the call again")
    })
}

pub(crate) async fn tool(
    flight: &Flight<'_>,
    prepared: Box<dyn Prepared>,
    judged: &Judged,
    approved: Option<Approved>,
) -> ToolResult {
    recheck(flight, &*prepared, judged, approved.as_ref())?;
    let limits = Limits::of(flight);
    if !flight.cx.dry_run {
        let mut result = within(limits, &flight.cx, prepared.run(&flight.cx)).await;
        if let Ok(output) = &mut result {
            hold_to_promise(flight, output);
        }
        return result;
    }
    let previews = flight.entry().is_some_and(|entry| entry.spec().has_preview);
    // A preview that runs a command is as good as a run: what asks is asked first.
    let may = judged.effects.commands.is_empty() || judged.ask.is_none() || approved.is_some();
    if previews && may {
        return within(limits, &flight.cx, prepared.preview(&flight.cx)).await;
    }
    let mut output = would_be_called(flight);
    if previews {
        output = output.and_text(
            "[no preview: it would run the command, and that needs a yes: answer on a terminal or pass `--yes`]",
        );
    }
    Ok(output)
}

/// An answer that is not what its tool promises is a failure: whoever reads it by the schema would
/// be misled. What it says stays readable.
fn hold_to_promise(flight: &Flight<'_>, output: &mut Output) {
    let entry = flight.entry();
    let Some(schema) = entry.and_then(|entry| entry.output_schema()) else {
        return;
    };
    if output.error.is_some() {
        return;
    }
    let problem = match &output.structured {
        None => "there is no structured content".to_owned(),
        Some(value) if schema.accepts(value) => return,
        Some(value) => match schema.errors(value).next() {
            Some(error) => match error.instance_path().to_string() {
                whole if whole.is_empty() => "its structured content does not fit".to_owned(),
                place => format!("`{}` does not fit", shortened(&place, PLACE)),
            },
            None => "it cannot be checked".to_owned(),
        },
    };
    output.structured = None;
    let told = format!("the answer is not what the tool promises: {problem}");
    output.error = Some(
        ToolError::failed(told)
            .hint("the call was made; its answer does not match the tool's output schema"),
    );
}

fn recheck(
    flight: &Flight<'_>,
    prepared: &dyn Prepared,
    judged: &Judged,
    approved: Option<&Approved>,
) -> Result<(), ToolError> {
    if flight.cx.cancel.is_cancelled() {
        return Err(cancelled());
    }
    if !judged.effects.is_none() && effects(flight, prepared)? != **judged.effects {
        return Err(
            ToolError::conflict("what the call touches has changed since it was judged")
                .hint("make the call again"),
        );
    }
    if approved.is_some_and(|then| then.0 != contents(flight, judged)) {
        return Err(ToolError::conflict(
            "a file that the call is about has changed since it was approved",
        )
        .hint("make the call again"));
    }
    Ok(())
}

fn would_be_called(flight: &Flight<'_>) -> Output {
    let mut shown = Value::clone(&flight.args);
    for value in shown
        .as_object_mut()
        .into_iter()
        .flat_map(|args| args.values_mut())
    {
        if let Some(text) = value.as_str() {
            *value = shortened(text, ARGUMENT).into_owned().into();
        }
    }
    Output::text(format!(
        "[dry-run] {} would be called with: {shown}",
        flight.cx.tool
    ))
}
