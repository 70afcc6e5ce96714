//! Recorded calls made again: the seat they were made from, and the call itself where the record
//! holds all of it.

use haft_core::Call;
use haft_store::Line;

use crate::cli::Seat;

/// From where a call was made.
fn seat(line: &Line) -> Seat {
    let body = &line.body;
    Seat {
        profile: body.profile.clone(),
        agent: body.agent.clone(),
        provider: body.provider.clone(),
        autonomy: body.autonomy.as_ref().and_then(|word| word.parse().ok()),
        workspace: body.workspace.as_ref().map(Into::into),
        session: Some(line.session.clone()),
    }
}

/// The call again, or why it cannot be made.
pub(crate) fn again(line: &Line) -> Result<Call, &'static str> {
    let body = &line.body;
    if body.private {
        return Err("the record has a digest in the place of its content");
    }
    if body.masked_args > 0 {
        return Err("a secret in its arguments was masked");
    }
    let gone = |folder: &String| !std::path::Path::new(folder).is_dir();
    if body.workspace.as_ref().is_none_or(gone) {
        return Err("its workspace is gone");
    }
    let args = body.args.clone().unwrap_or_default();
    let mut call = Call::new(line.tool.as_str(), args);
    call.key = body.key.as_deref().map(Into::into);
    Ok(call)
}

/// Calls by the seat they were made from, each in its order.
pub(crate) fn by_seat(lines: Vec<Line>) -> Vec<(Seat, Vec<Line>)> {
    let mut seats: Vec<(Seat, Vec<Line>)> = Vec::new();
    for line in lines {
        let wanted = seat(&line);
        match seats.iter_mut().find(|(seat, _)| *seat == wanted) {
            Some((_, lines)) => lines.push(line),
            None => seats.push((wanted, vec![line])),
        }
    }
    seats
}
