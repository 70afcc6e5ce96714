//! `shell.exec`: one line, run to its end. What is kept of its output, and how it is ended with
//! all it started, is the host's part; here its story is told.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use haft_core::{
    CommandLine, Effects, ErrorCode, Output, Repeat, Resource, Risk, Tool, ToolContext, ToolError,
    ToolResult, ToolSpec,
};
use haft_host::{
    Finished, LONGEST_TIMEOUT, Mark, Program, RunProcesses, SessionRequest, ShellRequest, Watch,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::preview;
use super::story::Story;
use crate::kept;
use crate::milliseconds::Milliseconds;
use crate::process::told;
use crate::session_id;

const DEFAULT_TIMEOUT: Duration = Duration::from_millis(300_000);

/// What the pipeline adds to the longest time a command can have, so that the command's own
/// limit comes first and its output is not lost.
const MARGIN: Duration = Duration::from_secs(60);

/// Run a shell command and return its output: standard output and standard error in the order
/// written. It has no input, and no terminal but with `pty`. Each call starts anew: `cd` and
/// variables do not last, use `cwd` instead. Everything the command starts ends with it. With
/// `background` or `yieldMs` the command can outlive the call: the answer names a session for the
/// process tools.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Exec {
    /// Command line for the shell
    #[schemars(length(min = 1), extend("x-aliases" = ["cmd"]))]
    command: String,
    /// Directory to run in, relative to the workspace; the workspace itself if left out
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["workdir"]))]
    cwd: Option<String>,
    /// Milliseconds until the command is ended: 300000 if left out, 0 for the longest allowed
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["timeout_ms", "timeoutMs"]))]
    timeout: Option<Milliseconds>,
    /// Answer at once with a `sessionId` and let the command go on; it then has no time limit
    /// but the `timeout` that is given, and does not wait for commands that are still running
    #[serde(default)]
    background: bool,
    /// Milliseconds to wait for the end before the command goes on in the background, 10 to
    /// 120000; where nothing can outlive the call, the end is waited for
    #[serde(default, rename = "yieldMs")]
    #[schemars(extend("x-aliases" = ["yield_ms"]))]
    yield_ms: Option<Milliseconds>,
    /// Keep the input open for `process.write`: yes with `background`, else no, if left out
    #[serde(default)]
    stdin: Option<bool>,
    /// Run it at a terminal of its own, for programs that insist on one
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["tty"]))]
    pty: bool,
    /// Columns of that terminal: 80 if left out
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    columns: Option<u16>,
    /// Rows of that terminal: 24 if left out
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    rows: Option<u16>,
    /// Try it out on a copy of the workspace and say what it would change; `shell.commit` makes
    /// it so
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["dryRun"]))]
    dry_run: bool,
    /// Where policy was told it would run
    #[serde(skip)]
    judged: OnceLock<PathBuf>,
}

impl Tool for Exec {
    const NAME: &'static str = "shell.exec";
    const REPEAT: Repeat = Repeat::Unsafe;
    const HAS_PREVIEW: bool = true;
    type Power = RunProcesses;

    fn describe(spec: ToolSpec) -> ToolSpec {
        let mut spec = spec
            .titled("Run a shell command")
            .aliases(&["bash", "Bash", "terminal", "shell.bash"])
            .tags(&[
                "shell", "bash", "command", "terminal", "run", "execute", "script",
            ])
            .side_effects(&["runs programs that may change files and use the network"])
            .risk(Risk::High)
            .irreversible()
            .example(
                "Print a line",
                json!({"command": "echo hello"}),
                json!({"status": "completed", "exitCode": 0, "signal": null, "timedOut": false,
                       "output": "hello\n", "tail": "hello\n", "truncated": false}),
            )
            .example(
                "A command that fails",
                json!({"command": "echo oops >&2; exit 3"}),
                json!({"status": "failed", "exitCode": 3, "output": "oops\n"}),
            )
            .example(
                "A command that takes too long",
                json!({"command": "sleep 100", "timeout": 200}),
                json!({"status": "failed", "exitCode": null, "signal": "SIGTERM",
                       "timedOut": true, "output": ""}),
            );
        spec.output_schema = Some(output_schema());
        spec.timeout = Some(LONGEST_TIMEOUT + MARGIN);
        spec.eager_input_streaming = true;
        spec
    }

    fn rehearses(&self) -> bool {
        self.dry_run
    }

    fn effects(&self, power: &RunProcesses, cx: &ToolContext) -> Result<Effects, ToolError> {
        let cwd = self.directory(power)?;
        if self.background
            && let Some(error) = power.no_background()
        {
            return Err(error);
        }
        let workspace = cx.caller.workspace.as_path();
        let mut effects = Effects::none()
            .writes(Resource::Tree(workspace.to_owned()))
            .going_on_if(self.background)
            .bound_to(power.fingerprint());
        if self.background || self.yield_ms.is_some() {
            effects = effects.writes(told::sessions());
        }
        if !cwd.starts_with(workspace) {
            effects = effects.writes(Resource::Tree(cwd.clone()));
        }
        Ok(effects.runs(CommandLine::Shell {
            line: self.command.clone(),
            cwd,
        }))
    }

    async fn run(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        if self.background || (self.yield_ms.is_some() && power.no_background().is_none()) {
            return self.run_session(power, cx).await;
        }
        // Where nothing outlives its call, `yieldMs` finds nobody to leave the command to: it is
        // waited for, since to end it halfway would do more harm than to answer late.
        let (request, workdir) = self.request(power, cx).await?;
        let hidden = request.closed.secrets();
        let mut story = Story::default();
        let watch = Watch {
            live: &mut |text| hear(text, &mut story, cx),
            cancel: &cx.cancel,
            session: &cx.caller.session,
        };
        let mut finished = power.run_noting(request, watch, Some(Mark::of(cx))).await?;
        own_deadline(&mut finished, cx);
        let id = session_id::fresh();
        let output = answer(finished, story, &workdir, id);
        Ok(told::with_hidden(output, hidden))
    }

    async fn preview(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        let (request, workdir) = self.request(power, cx).await?;
        let hidden = request.closed.secrets();
        let mut story = Story::default();
        let watch = Watch {
            live: &mut |text| hear(text, &mut story, cx),
            cancel: &cx.cancel,
            session: &cx.caller.session,
        };
        let (finished, trial) = power.rehearse(request, watch).await?;
        let error = failure(&finished);
        let told = told(&finished, story, error.as_ref());
        let output = preview::answer(&finished, &trial, &workdir, &told);
        Ok(told::with_hidden(output, hidden))
    }
}

/// A caller's deadline that came before the command's own is a time limit too.
fn own_deadline(finished: &mut Finished, cx: &ToolContext) {
    if finished.cancelled && cx.timed_out() {
        finished.cancelled = false;
        finished.timed_out = true;
        finished.timeout = finished.duration;
    }
}

/// Document 004's range.
fn clamp_yield(asked: Milliseconds) -> Duration {
    asked.clamp(Milliseconds(10), Milliseconds(120_000)).time()
}

impl Exec {
    /// Start it as a session, wait for its end as long as was asked, and let it go on.
    async fn run_session(self, power: &RunProcesses, cx: &ToolContext) -> ToolResult {
        let cwd = self.directory(power)?;
        let terminal = told::terminal(self.pty, self.columns, self.rows);
        let wait = match (self.background, self.yield_ms) {
            (true, _) => None,
            (false, asked) => asked.map(clamp_yield),
        };
        let closed = power.closed(cx).await?;
        let hidden = closed.secrets();
        let session = power
            .begin(SessionRequest {
                id: session_id::fresh(),
                program: Program::Line(self.command),
                cwd,
                timeout: self.timeout.map_or(Duration::ZERO, Milliseconds::time),
                input: self.stdin.unwrap_or(self.background),
                terminal,
                mark: Mark::of(cx),
                closed,
            })
            .await?;
        if let Some(time) = wait {
            let mut story = Story::default();
            let live: &mut (dyn FnMut(&str) + Send) = &mut |text| hear(text, &mut story, cx);
            if let Some(mut finished) = session.within(time, live, &cx.cancel).await? {
                own_deadline(&mut finished, cx);
                power.forget(&session);
                let workdir = session.workdir().to_string_lossy().into_owned();
                let output = answer(finished, story, &workdir, session.id().to_owned());
                return Ok(told::with_hidden(output, hidden));
            }
        }
        session.to_background();
        Ok(told::with_hidden(told::running(&session), hidden))
    }

    /// What is to be run, and where, in words.
    async fn request(
        self,
        power: &RunProcesses,
        cx: &ToolContext,
    ) -> Result<(ShellRequest, String), ToolError> {
        let cwd = self.directory(power)?;
        let workdir = cwd.to_string_lossy().into_owned();
        let request = ShellRequest {
            line: self.command,
            cwd,
            timeout: self.timeout.map_or(DEFAULT_TIMEOUT, Milliseconds::time),
            terminal: told::terminal(self.pty, self.columns, self.rows),
            closed: power.closed(cx).await?,
        };
        Ok((request, workdir))
    }

    /// Where the line runs. A link that was moved after policy had looked is noticed.
    fn directory(&self, power: &RunProcesses) -> Result<PathBuf, ToolError> {
        if self.command.trim().is_empty() {
            return Err(ToolError::input_invalid("`command`: must not be empty"));
        }
        let now = power.directory(self.cwd.as_deref())?;
        let judged = self.judged.get_or_init(|| now.clone());
        if *judged == now {
            return Ok(now);
        }
        Err(ToolError::conflict(format!(
            "the working directory now leads elsewhere: `{}`",
            now.display()
        ))
        .hint("call again"))
    }
}

/// A piece of output on its way to whoever looks on.
fn hear(text: &str, story: &mut Story, cx: &ToolContext) {
    story.push(text);
    cx.live(text);
}

fn answer(finished: Finished, story: Story, workdir: &str, session: String) -> Output {
    let lost = finished.lost.clone();
    kept::with_lost(plain_answer(finished, story, workdir, session), &lost)
}

fn plain_answer(finished: Finished, story: Story, workdir: &str, session: String) -> Output {
    let error = failure(&finished);
    let structured = json!({
        "status": if error.is_none() { "completed" } else { "failed" },
        "sessionId": session,
        "exitCode": finished.exit_code,
        "signal": finished.signal,
        "timedOut": finished.timed_out,
        "startedAt": finished.started_at_ms,
        "endedAt": finished.ended_at_ms,
        "durationMs": finished.ended_at_ms - finished.started_at_ms,
        "output": finished.output,
        "tail": finished.tail,
        "truncated": finished.truncated,
        "workdir": workdir,
        "isolation": finished.level.as_str(),
    });
    let text = told(&finished, story, error.as_ref());
    let mut output = Output::text(text).and_structured(structured);
    output = told::with_place(output, finished.level);
    output.error = error;
    output.total_chars = finished.handle.is_some().then_some(finished.total_chars);
    output.handle = finished.handle;
    output
}

/// How the command failed, if it did.
fn failure(finished: &Finished) -> Option<ToolError> {
    if finished.cancelled {
        return Some(ToolError::new(
            ErrorCode::Cancelled,
            "command was cancelled",
        ));
    }
    if finished.timed_out {
        let limit = finished.timeout.as_millis();
        let error = ToolError::new(
            ErrorCode::TimedOut,
            format!("command timed out after {limit} ms"),
        );
        return Some(error.hint("give it a larger `timeout`, or less to do"));
    }
    match (&finished.signal, finished.exit_code) {
        (None, Some(0)) => None,
        (None, Some(code)) => Some(ToolError::failed(format!(
            "command exited with code {code}"
        ))),
        (Some(signal), _) => Some(ToolError::failed(format!("command was ended by {signal}"))),
        (None, None) => Some(
            ToolError::failed("command could not be ended")
                .hint("a process of it is held by the system"),
        ),
    }
}

/// The output as text, with a last line on what went wrong and a first one on what is missing.
fn told(finished: &Finished, story: Story, error: Option<&ToolError>) -> String {
    let mut text = String::new();
    if finished.truncated && finished.handle.is_none() {
        let reason = match &finished.keep_error {
            Some(error) => format!("could not be kept: {error}"),
            None => "is not kept".to_owned(),
        };
        let total = finished.total_chars;
        text.push_str(&format!("[the beginning {reason}; {total} chars in all]\n"));
    }
    if let (Some(kept), Some(_)) = (finished.kept_bytes, &finished.handle) {
        let total = finished.total_bytes;
        text.push_str(&format!(
            "[of {total} bytes the first {kept} are kept behind the handle (`shell.max_output`)]\n"
        ));
    }
    match story.told(&finished.output, finished.total_chars) {
        Some(story) if finished.truncated => text.push_str(&story),
        _ => text.push_str(&finished.output),
    }
    if let Some(error) = error {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{}]", error.message));
    }
    if text.is_empty() {
        text.push_str("[no output]");
    }
    text
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": {"type": "string", "enum": ["completed", "failed", "running"]},
            "sessionId": {"type": "string"},
            "pid": {"type": "integer"},
            "exitCode": {"type": ["integer", "null"]},
            "signal": {"type": ["string", "null"]},
            "timedOut": {"type": "boolean"},
            "startedAt": {"type": "integer", "description": "Milliseconds since 1970"},
            "endedAt": {"type": "integer"},
            "durationMs": {"type": "integer"},
            "output": {"type": "string", "description": "The last 200,000 characters"},
            "tail": {"type": "string", "description": "The last 4,000 characters"},
            "truncated": {"type": "boolean"},
            "workdir": {"type": "string"},
            "isolation": {"type": "string", "enum": ["shared", "scoped", "sandboxed", "air-gapped"]},
            "hiddenSecrets": {"type": "integer", "description": "Places with keys or passwords that it did not see"},
            "workKept": {"type": "boolean", "description": "False where what it writes is thrown away"},
        },
        "required": ["status", "sessionId", "startedAt", "tail", "workdir", "isolation"],
        "oneOf": [
            {"required": ["status", "sessionId", "exitCode", "signal", "timedOut", "startedAt",
                          "endedAt", "durationMs", "output", "tail", "truncated", "workdir",
                          "isolation"]},
            {"required": ["status", "sessionId", "pid", "startedAt", "tail", "workdir",
                          "isolation"]},
        ],
    })
}
