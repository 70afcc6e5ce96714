//! `shell.exec` as a dry run, `shell.commit` and `shell.discard`, on a real overlay. Without the
//! usual harness, because the same program is also the launcher: with `launch …` it shuts a
//! command in, else it is the test.

// A test without the usual harness is not known as one.
#![allow(clippy::unwrap_used)]

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use haft_core::{Block, Caller, ErrorCode, Mode, Output, Powers, Resource, ToolContext, ToolError};
use haft_host::{
    FilesConfig, Isolation, Level, Limits, ProcessConfig, RealPaths, RunProcesses, Sandbox,
    Workspace,
};
use serde_json::{Value, json};
use tempfile::TempDir;

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|word| word.to_str()) {
        Some("launch") => haft_host::launcher_main(arguments.into_iter().skip(1)),
        // The flags that `cargo test` passes on choose among tests; here all run or none.
        _ if arguments.iter().any(|word| word == "--list") => {}
        _ => {
            a_dry_run_tells_where_links_lead_and_who_may_do_what();
            a_dry_run_tells_and_a_commit_does();
            deleting_everything_names_every_file();
            a_changed_file_is_a_conflict();
            what_is_discarded_is_gone();
            real_runs_name_their_level();
            println!("trials: ok");
        }
    }
}

struct Fixture {
    _dir: TempDir,
    work: PathBuf,
    caller: Arc<Caller>,
}

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (work, state) = (root.join("work"), root.join("state"));
    fs::create_dir_all(work.join("src")).unwrap();
    fs::create_dir(&state).unwrap();
    for name in ["a.txt", "b.txt", "src/c.txt"] {
        fs::write(work.join(name), format!("{name}\n")).unwrap();
    }
    fs::write(work.join(".env"), "KEY=old-value\n").unwrap();
    let files = Workspace::open(FilesConfig {
        workspace: work.clone(),
        roots: Vec::new(),
        home: state.clone(),
    })
    .unwrap();
    let config = ProcessConfig {
        shell: Some("/bin/sh".into()),
        sandbox: Some(Sandbox {
            launcher: vec![std::env::current_exe().unwrap().into(), "launch".into()],
            isolation: Isolation::at(Level::Sandboxed),
            state,
            home: None,
            roots: Vec::new(),
            readable: Vec::new(),
            limits: Limits::default(),
        }),
        ..ProcessConfig::default()
    };
    let mut powers = Powers::none();
    powers.insert(RunProcesses::new(config, Arc::new(files), None));
    let caller = Caller {
        powers: Arc::new(powers),
        paths: Arc::new(RealPaths),
        ..Caller::alone("s", work.clone())
    };
    Fixture {
        _dir: dir,
        work,
        caller: Arc::new(caller),
    }
}

impl Fixture {
    fn call(&self, name: &str, args: Value, dry_run: bool) -> Result<Output, ToolError> {
        let cx = ToolContext::new(
            "c".into(),
            name.into(),
            self.caller.clone(),
            80_000,
            dry_run,
        );
        let tool = haft_tools::packs()
            .into_iter()
            .flat_map(|pack| pack.tools)
            .find(|candidate| &*candidate.spec().name == name)
            .unwrap();
        let prepared = tool.prepare(&args)?;
        prepared.effects(&cx)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(if dry_run {
            prepared.preview(&cx)
        } else {
            prepared.run(&cx)
        })
    }

    fn dry_run(&self, command: &str) -> (Value, String) {
        let output = self
            .call("shell.exec", json!({"command": command}), true)
            .unwrap()
            .into_body();
        let Some(Block::Text { text, .. }) = output.content.first() else {
            panic!("no text");
        };
        (output.structured.unwrap(), text.clone())
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.work)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn a_dry_run_tells_where_links_lead_and_who_may_do_what() {
    let (told, text) = fixture().dry_run("ln -s /etc/passwd l; chmod 600 a.txt");
    let changes = &told["changes"];
    assert_eq!(changes[0]["mode"][1], "0600", "{changes}");
    assert_eq!(changes[1]["target"], "/etc/passwd", "{changes}");
    assert!(text.contains("added l -> /etc/passwd\n"), "{text}");
    assert!(text.contains(" to 0600)\n"), "{text}");
}

fn a_dry_run_tells_and_a_commit_does() {
    let fixture = fixture();
    let line = "echo said; echo more >> a.txt; rm b.txt; echo new > n.txt; echo KEY=new > .env";
    let (told, text) = fixture.dry_run(line);
    assert_eq!(fixture.files(), [".env", "a.txt", "b.txt", "src"]);
    assert_eq!(told["exitCode"], 0);
    assert_eq!(told["output"], "said\n");
    assert_eq!(told["isolation"], "sandboxed");
    assert_eq!(
        told["changes"],
        json!([
            {"path": ".env", "change": "changed", "kind": "file", "bytes": 8},
            {"path": "a.txt", "change": "changed", "kind": "file", "bytes": 11},
            {"path": "b.txt", "change": "deleted", "kind": "file", "bytes": 6},
            {"path": "n.txt", "change": "added", "kind": "file", "bytes": 4},
        ])
    );
    let diff = told["diff"].as_str().unwrap();
    assert!(diff.contains("--- a/a.txt\n+++ b/a.txt\n"), "{diff}");
    assert!(diff.contains("--- /dev/null\n+++ b/n.txt\n"), "{diff}");
    assert!(
        diff.contains("+more\n") && diff.contains("+new\n"),
        "{diff}"
    );
    assert!(!diff.contains("old-value"), "{diff}");
    assert!(
        text.contains("[would change: 1 added, 2 changed, 1 deleted]"),
        "{text}"
    );
    assert!(text.contains("not tried: the network"), "{text}");

    let id = told["id"].clone();
    let cx = ToolContext::new(
        "c".into(),
        "t".into(),
        fixture.caller.clone(),
        80_000,
        false,
    );
    let commit = haft_tools::packs()
        .into_iter()
        .flat_map(|pack| pack.tools)
        .find(|tool| &*tool.spec().name == "shell.commit")
        .unwrap();
    let effects = commit
        .prepare(&json!({"id": id}))
        .unwrap()
        .effects(&cx)
        .unwrap();
    assert_eq!(effects.accesses.len(), 5, "four files and a question");
    assert!(
        effects
            .accesses
            .iter()
            .all(|access| access.mode == Mode::Write)
    );
    let env = Resource::protected(&fixture.work.join(".env"));
    assert!(effects.accesses.iter().any(|access| access.resource == env));

    let output = fixture
        .call("shell.commit", json!({"id": id}), false)
        .unwrap();
    assert_eq!(output.structured.as_ref().unwrap()["changeCount"], 4);
    assert_eq!(fixture.files(), [".env", "a.txt", "n.txt", "src"]);
    let changed = fs::read_to_string(fixture.work.join("a.txt")).unwrap();
    assert_eq!(changed, "a.txt\nmore\n");
    let error = fixture
        .call("shell.commit", json!({"id": id}), false)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::InputInvalid, "{error}");
}

fn deleting_everything_names_every_file() {
    let fixture = fixture();
    let (told, text) = fixture.dry_run("rm -rf *");
    let mut paths: Vec<&str> = told["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["path"].as_str().unwrap())
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, ["a.txt", "b.txt", "src", "src/c.txt"]);
    assert!(text.contains("deleted src/c.txt\n") && text.contains("deleted src/\n"));
    assert_eq!(fixture.files(), [".env", "a.txt", "b.txt", "src"]);
}

fn a_changed_file_is_a_conflict() {
    let fixture = fixture();
    let (told, _) = fixture.dry_run("echo one > a.txt; echo two > b.txt");
    fs::write(fixture.work.join("b.txt"), "mine\n").unwrap();
    let error = fixture
        .call("shell.commit", json!({"id": told["id"]}), false)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict, "{error}");
    assert_eq!(
        fs::read_to_string(fixture.work.join("a.txt")).unwrap(),
        "a.txt\n"
    );
    assert_eq!(
        fs::read_to_string(fixture.work.join("b.txt")).unwrap(),
        "mine\n"
    );
    assert_eq!(fixture.files(), [".env", "a.txt", "b.txt", "src"]);
}

fn what_is_discarded_is_gone() {
    let fixture = fixture();
    let (told, _) = fixture.dry_run("rm a.txt");
    let args = json!({"id": told["id"]});
    fixture.call("shell.discard", args.clone(), false).unwrap();
    for tool in ["shell.discard", "shell.commit"] {
        let error = fixture.call(tool, args.clone(), false).unwrap_err();
        assert_eq!(error.code, ErrorCode::InputInvalid, "{tool}: {error}");
    }
    assert!(fixture.work.join("a.txt").exists());
}

fn real_runs_name_their_level() {
    let fixture = fixture();
    let output = fixture
        .call("shell.exec", json!({"command": "echo x > n.txt"}), false)
        .unwrap();
    assert_eq!(
        output.structured.as_ref().unwrap()["isolation"],
        "sandboxed"
    );
    assert_eq!(
        fs::read_to_string(fixture.work.join("n.txt")).unwrap(),
        "x\n"
    );
}
