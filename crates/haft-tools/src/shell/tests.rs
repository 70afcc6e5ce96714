//! `shell.exec` as the pipeline calls it: prepare, effects, run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::{
    Block, CallTag, Caller, CommandLine, ErrorCode, EventKind, EventSink, Mode, Output, Powers,
    Resource, ResultStore, ToolContext, ToolError,
};
use haft_host::{
    FileResults, FilesConfig, LONGEST_TIMEOUT, OUTPUT_CHARS, ProcessConfig, ReadSystem, RealPaths,
    RunProcesses, Workspace,
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Fixture {
    _dir: TempDir,
    pub(crate) work: PathBuf,
    results: Arc<FileResults>,
    events: Arc<Heard>,
    pub(crate) caller: Arc<Caller>,
}

#[derive(Default)]
struct Heard(Mutex<String>);

impl EventSink for Heard {
    fn emit(&self, _call: &Arc<CallTag>, kind: EventKind) {
        if let EventKind::Progress { text, .. } = kind {
            self.0.lock().unwrap().push_str(&text);
        }
    }
}

fn fixture(keeping: bool) -> Fixture {
    fixture_with(ProcessConfig::default(), keeping)
}

pub(crate) fn fixture_with(config: ProcessConfig, keeping: bool) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (work, other, home) = (root.join("work"), root.join("other"), root.join("home"));
    for folder in [&work, &other, &home, &work.join("sub")] {
        fs::create_dir(folder).unwrap();
    }
    let files = Workspace::open(FilesConfig {
        workspace: work.clone(),
        roots: vec![other],
        home: home.clone(),
    })
    .unwrap();
    let results = Arc::new(FileResults::new(&home));
    let power = RunProcesses::new(config, Arc::new(files), keeping.then(|| results.clone()));
    let mut powers = Powers::none();
    powers.insert(ReadSystem::new("0.0.0", power.shell().to_owned()));
    powers.insert(power);
    let events = Arc::new(Heard::default());
    let caller = Caller {
        powers: Arc::new(powers),
        events: events.clone(),
        paths: Arc::new(RealPaths),
        ..Caller::alone("s", work.clone())
    };
    Fixture {
        _dir: dir,
        work,
        results,
        events,
        caller: Arc::new(caller),
    }
}

impl Fixture {
    pub(crate) fn context(&self, tool: &str) -> ToolContext {
        ToolContext::new("c".into(), tool.into(), self.caller.clone(), 80_000, false)
    }

    pub(crate) async fn call(&self, tool: &str, args: &Value) -> Result<Output, ToolError> {
        let cx = self.context(tool);
        let tool = crate::packs()
            .into_iter()
            .flat_map(|pack| pack.tools)
            .find(|candidate| {
                let spec = candidate.spec();
                &*spec.name == tool || spec.aliases.iter().any(|alias| alias == tool)
            })
            .unwrap();
        let prepared = tool.prepare(args)?;
        prepared.effects(&cx)?;
        prepared.run(&cx).await
    }

    async fn exec(&self, args: Value) -> Result<Output, ToolError> {
        self.call("shell.exec", &args).await
    }
}

pub(crate) fn text(output: &Output) -> &str {
    match output.content.as_slice() {
        [Block::Text { text, .. }] => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn examples_answer_as_they_say() {
    let fixture = fixture(true);
    for tool in [super::pack(), crate::process::pack(), crate::system::pack()]
        .into_iter()
        .flat_map(|pack| pack.tools)
    {
        for example in &tool.spec().examples {
            let output = fixture
                .call(&tool.spec().name, &example.args)
                .await
                .unwrap();
            let structured = output.structured.as_ref().unwrap();
            for (key, expected) in example.expect.as_object().unwrap() {
                assert_eq!(
                    structured.get(key),
                    Some(expected),
                    "{}: {key}",
                    example.title
                );
            }
        }
    }
}

#[tokio::test]
async fn the_whole_answer_field_by_field() {
    let fixture = fixture(true);
    let output = fixture
        .exec(json!({"command": "echo out; echo err >&2; exit 3", "cwd": "sub"}))
        .await
        .unwrap();
    let mut structured = output.structured.clone().unwrap();
    let object = structured.as_object_mut().unwrap();
    let mut take = |key: &str| object.shift_remove(key).unwrap();
    let (session, begun) = (take("sessionId"), take("startedAt"));
    let (ended, duration) = (take("endedAt"), take("durationMs"));
    assert_eq!(
        uuid::Uuid::parse_str(session.as_str().unwrap())
            .unwrap()
            .get_version_num(),
        7
    );
    let (begun, ended) = (begun.as_u64().unwrap(), ended.as_u64().unwrap());
    assert_eq!(ended - begun, duration.as_u64().unwrap());
    assert!(begun > 1_700_000_000_000, "milliseconds, not seconds");
    assert_eq!(
        structured,
        json!({
            "status": "failed",
            "exitCode": 3,
            "signal": null,
            "timedOut": false,
            "output": "out\nerr\n",
            "tail": "out\nerr\n",
            "truncated": false,
            "workdir": fixture.work.join("sub").to_str(),
            "isolation": "shared",
        })
    );
    assert_eq!(text(&output), "out\nerr\n[command exited with code 3]");
    let error = output.error.as_ref().unwrap();
    assert_eq!(error.code, ErrorCode::ExecutionFailed);
    assert_eq!(error.message, "command exited with code 3");
    assert_eq!(*fixture.events.0.lock().unwrap(), "out\nerr\n");
}

#[tokio::test]
async fn every_field_is_in_the_output_schema() {
    let output = fixture(true)
        .exec(json!({"command": "true"}))
        .await
        .unwrap();
    let spec = super::pack().tools[0].spec().clone();
    let schema = spec.output_schema.unwrap();
    let mut required: Vec<&str> = schema["oneOf"][0]["required"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let structured = output.structured.as_ref().unwrap().as_object().unwrap();
    let mut given: Vec<&str> = structured.keys().map(String::as_str).collect();
    required.sort_unstable();
    given.sort_unstable();
    assert_eq!(given, required);
    assert_eq!(text(&output), "[no output]");
    assert!(output.error.is_none());
}

#[tokio::test]
async fn failures_say_what_happened() {
    let fixture = fixture(true);
    let check = async |command: &str, timeout: f64, code, message: &str, shown: &str| {
        let args = json!({"command": command, "timeout": timeout});
        let output = fixture.exec(args).await.unwrap();
        assert_eq!(output.structured.as_ref().unwrap()["status"], "failed");
        assert_eq!(text(&output), shown, "{command}");
        let error = output.error.as_ref().unwrap();
        assert_eq!(
            (error.code, error.message.as_str()),
            (code, message),
            "{command}"
        );
    };
    check(
        "printf half; kill -SEGV $$",
        0.0,
        ErrorCode::ExecutionFailed,
        "command was ended by SIGSEGV",
        "half\n[command was ended by SIGSEGV]",
    )
    .await;
    check(
        "echo before; sleep 100",
        249.5,
        ErrorCode::TimedOut,
        "command timed out after 250 ms",
        "before\n[command timed out after 250 ms]",
    )
    .await;
}

#[tokio::test]
async fn a_cancelled_command_keeps_what_it_said() {
    let fixture = fixture(true);
    let cx = fixture.context("shell.exec");
    let tool = super::pack().tools.remove(0);
    let prepared = tool
        .prepare(&json!({"command": "echo said; sleep 100"}))
        .unwrap();
    let running = prepared.run(&cx);
    let cancelling = async {
        while fixture.events.0.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        cx.cancel.cancel();
    };
    let (output, ()) = tokio::join!(running, cancelling);
    let output = output.unwrap();
    assert_eq!(output.structured.as_ref().unwrap()["output"], "said\n");
    assert_eq!(output.error.as_ref().unwrap().code, ErrorCode::Cancelled);
}

#[tokio::test]
async fn bad_arguments() {
    let fixture = fixture(true);
    fs::write(fixture.work.join("file"), "").unwrap();
    let check = async |args: Value, code| {
        let error = fixture.exec(args.clone()).await.unwrap_err();
        assert_eq!(error.code, code, "{args}: {error}");
    };
    check(json!({"command": ""}), ErrorCode::InputInvalid).await;
    check(json!({"command": " \n\t"}), ErrorCode::InputInvalid).await;
    check(json!({"command": "a\u{0}b"}), ErrorCode::InputInvalid).await;
    check(
        json!({"command": "x".repeat(1 << 20)}),
        ErrorCode::InputInvalid,
    )
    .await;
    check(
        json!({"command": "true", "timeout": -1}),
        ErrorCode::InputInvalid,
    )
    .await;
    check(
        json!({"command": "true", "approved": true}),
        ErrorCode::InputInvalid,
    )
    .await;
    check(
        json!({"command": "true", "cwd": "gone"}),
        ErrorCode::ExecutionFailed,
    )
    .await;
    check(
        json!({"command": "true", "cwd": "file"}),
        ErrorCode::ExecutionFailed,
    )
    .await;
    check(json!({"command": "true", "cwd": ".."}), ErrorCode::Denied).await;
    check(
        json!({"command": "true", "cwd": "../home"}),
        ErrorCode::Denied,
    )
    .await;
}

#[tokio::test]
async fn effects_name_the_line_and_where_it_runs() {
    let fixture = fixture(true);
    let cx = fixture.context("shell.exec");
    let tool = super::pack().tools.remove(0);
    let check = |args: Value, cwd: &Path, trees: &[&Path]| {
        let effects = tool.prepare(&args).unwrap().effects(&cx).unwrap();
        let line = CommandLine::Shell {
            line: "make".into(),
            cwd: cwd.to_owned(),
        };
        assert_eq!(effects.commands, [line]);
        let written: Vec<Resource> = effects
            .accesses
            .into_iter()
            .filter(|access| access.mode == Mode::Write)
            .map(|access| access.resource)
            .collect();
        let trees: Vec<Resource> = trees
            .iter()
            .map(|tree| Resource::Tree((*tree).into()))
            .collect();
        assert_eq!(written, trees);
        assert!(effects.fingerprint.is_some());
    };
    let work = fixture.work.as_path();
    let other = work.with_file_name("other");
    check(json!({"command": "make"}), work, &[work]);
    check(
        json!({"command": "make", "cwd": "sub/."}),
        &work.join("sub"),
        &[work],
    );
    check(
        json!({"command": "make", "cwd": "../other"}),
        &other,
        &[work, &other],
    );
}

#[tokio::test]
async fn a_directory_that_moved_after_the_question_is_noticed() {
    let fixture = fixture(true);
    let cx = fixture.context("shell.exec");
    let tool = super::pack().tools.remove(0);
    let prepared = tool
        .prepare(&json!({"command": "pwd", "cwd": "link"}))
        .unwrap();
    let link = fixture.work.join("link");
    std::os::unix::fs::symlink("sub", &link).unwrap();
    prepared.effects(&cx).unwrap();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("../other", &link).unwrap();
    assert_eq!(
        prepared.run(&cx).await.unwrap_err().code,
        ErrorCode::Conflict
    );
}

#[tokio::test]
async fn long_output_is_whole_behind_the_handle() {
    let kept = fixture(true);
    let output = kept.exec(json!({"command": "seq 1 60000"})).await.unwrap();
    let mut whole = String::new();
    let handle = output.handle.as_deref().unwrap();
    std::io::Read::read_to_string(&mut kept.results.open("s", handle).unwrap(), &mut whole)
        .unwrap();
    assert!(whole.starts_with("1\n2\n") && whole.ends_with("\n60000\n"));
    assert_eq!(output.total_chars, Some(whole.len()));
    let told = text(&output);
    assert!(told.starts_with("1\n2\n") && told.ends_with("\n60000\n"));
    assert!(
        told.contains("\n40\n[… 26627 lines left out …]\n26668\n"),
        "{}",
        &told[..300]
    );
    let structured = output.structured.as_ref().unwrap();
    assert_eq!(structured["truncated"], true);
    assert_eq!(structured["output"].as_str().unwrap().len(), OUTPUT_CHARS);

    let unkept = fixture(false)
        .exec(json!({"command": "seq 1 60000"}))
        .await
        .unwrap();
    assert!(unkept.handle.is_none() && unkept.total_chars.is_none());
    let first = text(&unkept).lines().next().unwrap();
    assert_eq!(first, "[the beginning is not kept; 348894 chars in all]");
}

#[test]
fn the_pipeline_waits_longer_than_any_command() {
    let spec = super::pack().tools[0].spec().clone();
    assert!(spec.timeout.unwrap() > LONGEST_TIMEOUT);
    assert!(
        spec.parameter_aliases
            .iter()
            .any(|(theirs, ours)| theirs == "workdir" && ours == "cwd")
    );
}
