//! `process.write` and `process.submit`: tell a session something. What is written to a shell is
//! run by it, so policy judges it as a command line.

use haft_core::{
    CommandLine, Effects, Output, Risk, Tool, ToolContext, ToolError, ToolResult, ToolSpec,
};
use haft_host::{RunProcesses, Session};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::told;

/// Write to the input of a running background session, as it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    /// Session, or the id of the call that started it
    #[serde(default, rename = "sessionId")]
    #[schemars(extend("x-aliases" = ["session_id", "id"]))]
    session_id: Option<String>,
    /// Process of the session, instead of `sessionId`
    #[serde(default)]
    pid: Option<u32>,
    /// Text to write
    #[serde(default)]
    data: String,
    /// Close the input afterwards, so that the program reads its end
    #[serde(default)]
    eof: bool,
}

impl Tool for Write {
    const NAME: &'static str = "process.write";
    type Power = RunProcesses;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Write to a background session")
            .tags(&["process", "background", "session", "stdin", "input"])
            .side_effects(&["the program may do anything with what it reads"])
            .risk(Risk::High)
            .irreversible()
    }

    fn effects(&self, power: &RunProcesses, cx: &ToolContext) -> Result<Effects, ToolError> {
        let session = told::find(power, cx, self.session_id.as_deref(), self.pid);
        Ok(effects(session.ok().as_ref(), &self.data, cx))
    }

    async fn run(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        let session = told::find(power, cx, self.session_id.as_deref(), self.pid)?;
        let output = send(&session, self.data, cx).await?;
        if self.eof {
            session.close_input().await;
        }
        Ok(output)
    }
}

/// Write a line to the input of a running background session, with a newline at its end, as the
/// Enter key would.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Submit {
    /// Session, or the id of the call that started it
    #[serde(default, rename = "sessionId")]
    #[schemars(extend("x-aliases" = ["session_id", "id"]))]
    session_id: Option<String>,
    /// Process of the session, instead of `sessionId`
    #[serde(default)]
    pid: Option<u32>,
    /// Line to write
    #[serde(default)]
    data: String,
}

impl Tool for Submit {
    const NAME: &'static str = "process.submit";
    type Power = RunProcesses;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("Submit a line to a background session")
            .tags(&["process", "background", "session", "stdin", "input"])
            .side_effects(&["the program may do anything with what it reads"])
            .risk(Risk::High)
            .irreversible()
    }

    fn effects(&self, power: &RunProcesses, cx: &ToolContext) -> Result<Effects, ToolError> {
        let session = told::find(power, cx, self.session_id.as_deref(), self.pid);
        Ok(effects(session.ok().as_ref(), &self.data, cx))
    }

    async fn run(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        let session = told::find(power, cx, self.session_id.as_deref(), self.pid)?;
        send(&session, submitted(self.data), cx).await
    }
}

/// With the newline that the Enter key sends.
pub(super) fn submitted(mut data: String) -> String {
    data.push('\n');
    data
}

/// Judged where the session was started; one that an earlier call of the same batch has yet to
/// start, in the workspace.
pub(super) fn effects(session: Option<&Session>, data: &str, cx: &ToolContext) -> Effects {
    let cwd = session.map_or(cx.caller.workspace.as_path(), Session::workdir);
    Effects::none()
        .writes(told::sessions())
        .runs(CommandLine::Shell {
            line: data.to_owned(),
            cwd: cwd.to_owned(),
        })
}

pub(super) async fn send(session: &Session, data: String, cx: &ToolContext) -> ToolResult {
    session.write(data.as_bytes(), &cx.cancel).await?;
    let text = format!("{} bytes written to {}", data.len(), session.id());
    Ok(Output::text(text).and_structured(json!({
        "sessionId": session.id(),
        "status": told::status(session),
        "written": data.len(),
    })))
}
