//! What the process tools answer with: the objects of a session, and the session a caller means.

use haft_core::{Output, Resource, ToolContext, ToolError};
use haft_host::{Level, RunProcesses, Session, TerminalSize, Wanted};
use serde_json::{Value, json};

/// All sessions, as calls that start, change or look at one see them: they run in the order given.
pub(crate) fn sessions() -> Resource {
    Resource::sessions()
}

/// The terminal that a call asks for, if it does.
pub(crate) fn terminal(
    wanted: bool,
    columns: Option<u16>,
    rows: Option<u16>,
) -> Option<TerminalSize> {
    let usual = TerminalSize::default();
    wanted.then(|| TerminalSize {
        columns: columns.unwrap_or(usual.columns),
        rows: rows.unwrap_or(usual.rows),
    })
}

/// The session that `sessionId` or `pid` names; one of the two is needed.
pub(super) fn find(
    power: &RunProcesses,
    cx: &ToolContext,
    id: Option<&str>,
    pid: Option<u32>,
) -> Result<Session, ToolError> {
    let wanted = match (id, pid) {
        (Some(id), None) => Wanted::Id(id),
        // What is no pid at all is nobody's.
        (None, Some(pid)) => Wanted::Pid(i32::try_from(pid).unwrap_or(0)),
        (Some(_), Some(_)) => {
            return Err(ToolError::input_invalid(
                "give either `sessionId` or `pid`, not both",
            ));
        }
        (None, None) => {
            return Err(ToolError::input_invalid("`sessionId` is missing").hint(
                "give the `sessionId` or the `pid` of a session; `process.list` names them",
            ));
        }
    };
    power.session(&cx.caller.session, wanted)
}

/// A session that has just gone to the background, as document 004 has it.
pub(crate) fn running(session: &Session) -> Output {
    let tail = session.tail();
    let text = format!(
        "{tail}{}[running in the background: session {}, pid {}]",
        line_end(&tail),
        session.id(),
        session.pid()
    );
    let output = Output::text(text).and_structured(json!({
        "status": "running",
        "sessionId": session.id(),
        "pid": session.pid(),
        "startedAt": session.started_at_ms(),
        "tail": tail,
        "workdir": session.workdir().to_string_lossy(),
        "isolation": session.level().as_str(),
    }));
    with_place(output, session.level())
}

/// Say how much was hidden from a command because nobody was asked about it.
pub(crate) fn with_hidden(mut output: Output, closed: usize) -> Output {
    if closed == 0 {
        return output;
    }
    if let Some(Value::Object(fields)) = &mut output.structured {
        fields.insert("hiddenSecrets".to_owned(), closed.into());
    }
    let noun = if closed == 1 { "place" } else { "places" };
    output.and_text(format!(
        "[{closed} {noun} with keys or passwords hidden from it: nobody was asked about this call]"
    ))
}

/// Say that what a command writes is not kept, where it is not: `workdir` names a folder of which
/// it sees nothing.
pub(crate) fn with_place(mut output: Output, level: Level) -> Output {
    if level != Level::AirGapped {
        return output;
    }
    if let Some(Value::Object(fields)) = &mut output.structured {
        fields.insert("workKept".to_owned(), false.into());
    }
    output.and_text("[air-gapped: it has an empty folder of its own; what it writes is not kept]")
}

/// How a session stands, in a word.
pub(super) fn status(session: &Session) -> &'static str {
    match session.end() {
        None => "running",
        Some(end) if end.well() => "completed",
        Some(_) => "failed",
    }
}

/// How a session stands, without what it said.
pub(super) fn summary(session: &Session) -> Value {
    let end = session.end();
    let end = end.as_deref();
    json!({
        "sessionId": session.id(),
        "status": status(session),
        "running": end.is_none(),
        "pid": session.pid(),
        "exitCode": end.and_then(|end| end.exit_code),
        "signal": end.and_then(|end| end.signal.clone()),
        "timedOut": end.is_some_and(|end| end.timed_out),
        "startedAt": session.started_at_ms(),
        "endedAt": end.map(|end| end.ended_at_ms),
        "durationMs": end.map(|end| end.ended_at_ms.saturating_sub(session.started_at_ms())),
        "command": session.command(),
        "workdir": session.workdir().to_string_lossy(),
        "isolation": session.level().as_str(),
    })
}

/// The same as one line.
pub(super) fn line(session: &Session) -> String {
    let how = match session.end() {
        None => format!("running, pid {}", session.pid()),
        Some(end) => match (&end.refused, &end.signal, end.exit_code) {
            _ if end.timed_out => format!("timed out after {} ms", end.timeout.as_millis()),
            (Some(error), _, _) => error.message.clone(),
            (None, Some(signal), _) => format!("ended by {signal}"),
            (None, None, Some(code)) => format!("exited with code {code}"),
            (None, None, None) => "could not be ended".to_owned(),
        },
    };
    let mut command: String = session.command().chars().take(200).collect();
    if command.len() < session.command().len() {
        command.push('…');
    }
    format!("{} {how}: {command}", session.id())
}

/// A session with the end of what it said.
pub(super) fn polled(session: &Session) -> Output {
    let mut structured = summary(session);
    let tail = session.tail();
    let text = format!("{tail}{}[{}]", line_end(&tail), line(session));
    structured["tail"] = tail.into();
    structured["totalChars"] = session.total_chars().into();
    let handle = session.end().and_then(|end| end.handle.clone());
    structured["handle"] = handle.into();
    Output::text(text).and_structured(structured)
}

/// What must stand between a text and a line of ours.
pub(super) fn line_end(text: &str) -> &'static str {
    if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    }
}
