//! `shell.exec`, timed beside the barest way to do the same. Reads commands on stdin, one a line,
//! and answers each with one line of JSON:
//!
//! - `shared N`, `sandboxed N`: N times `true` through the tool; `bare N`: N times the same shell,
//!   spawned and waited for, nothing else
//! - `heap MB`: hold that much memory from now on, as a long-lived process would
//! - `output N`: N times 10 MB of output through the tool; `bare_output N`: read from a pipe;
//!   `lines N` and `bare_lines N`: the same with line feeds in it

#![allow(clippy::expect_used)]

use std::ffi::OsString;
use std::hint::black_box;
use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use haft_core::{Caller, DynTool, Powers, ToolContext};
use haft_host::{
    FileResults, FilesConfig, Isolation, Level, Limits, ProcessConfig, RealPaths, RunProcesses,
    Sandbox, Workspace,
};
use serde_json::{Value, json};

/// As the shipped program has it.
#[global_allocator]
static ALLOCATOR: haft_alloc::Mimalloc = haft_alloc::Mimalloc;

const SHELL: &str = "/bin/sh";
const OUTPUT: &str = "head -c 10000000 /dev/zero";
const LINES: &str = "yes 'one line of output like many others' | head -c 10000000";

struct Bench {
    tool: Arc<dyn DynTool>,
    shared: Arc<Caller>,
    sandboxed: Arc<Caller>,
    _dir: tempfile::TempDir,
}

fn ourselves(mode: &str) -> Vec<OsString> {
    let exe = std::env::current_exe().expect("our own path");
    vec![exe.into(), mode.into()]
}

fn caller(root: &Path, level: Level) -> Arc<Caller> {
    let (work, home) = (root.join("work"), root.join("home"));
    let files = FilesConfig {
        workspace: work.clone(),
        roots: Vec::new(),
        home: home.clone(),
    };
    let workspace = Arc::new(Workspace::open(files).expect("a workspace"));
    let config = ProcessConfig {
        shell: Some(SHELL.into()),
        guardian: Some(ourselves("__guardian")),
        session: Some(ourselves("__session")),
        sandbox: Some(Sandbox {
            launcher: ourselves("__launch"),
            isolation: Isolation {
                level,
                ..Isolation::default()
            },
            state: home.clone(),
            home: None,
            roots: Vec::new(),
            readable: Vec::new(),
            limits: Limits::default(),
        }),
        ..ProcessConfig::default()
    };
    let results = Arc::new(FileResults::new(&home));
    let mut powers = Powers::none();
    powers.insert(RunProcesses::new(config, workspace, Some(results)));
    Arc::new(Caller {
        powers: Arc::new(powers),
        paths: Arc::new(RealPaths),
        ..Caller::alone("bench", work)
    })
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("its path");
        for folder in ["work", "home"] {
            std::fs::create_dir(root.join(folder)).expect("a folder");
        }
        let packs = haft_tools::packs();
        let mut tools = packs.iter().flat_map(|pack| &pack.tools);
        let tool = tools.find(|tool| &*tool.spec().name == "shell.exec");
        Bench {
            tool: tool.expect("the tool").clone(),
            shared: caller(&root, Level::Shared),
            sandboxed: caller(&root, Level::Sandboxed),
            _dir: dir,
        }
    }

    async fn exec(&self, caller: &Arc<Caller>, line: &str, count: usize) -> Value {
        let args = json!({ "command": line });
        let started = Instant::now();
        for _ in 0..count {
            let (id, name) = ("c".into(), "shell.exec".into());
            let cx = ToolContext::new(id, name, caller.clone(), 80_000, false);
            let prepared = self.tool.prepare(&args).expect("good arguments");
            prepared.effects(&cx).expect("effects");
            let output = prepared.run(&cx).await.expect("an answer");
            let said = output.structured.clone().unwrap_or_default();
            assert_eq!(said["exitCode"], 0, "{said}");
        }
        per(started, count)
    }
}

fn bare(line: &str, count: usize) -> Value {
    let mut buffer = vec![0; 1 << 16];
    let started = Instant::now();
    for _ in 0..count {
        let mut child = Command::new(SHELL)
            .args(["-c", line])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let mut output = child.stdout.take().expect("its output");
        while black_box(output.read(&mut buffer).expect("some output")) > 0 {}
        assert!(child.wait().expect("its end").success());
    }
    per(started, count)
}

fn per(started: Instant, count: usize) -> Value {
    json!({"ns_per_call": started.elapsed().as_nanos() as f64 / count.max(1) as f64})
}

/// Memory that is really there: every page is written.
fn heap(megabytes: usize) -> Vec<u8> {
    let mut held = vec![0u8; megabytes << 20];
    held.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    black_box(held)
}

async fn serve() {
    let bench = Bench::new();
    let mut held = Vec::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or_default();
        let count = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
        let answer = match command {
            "shared" => bench.exec(&bench.shared, "true", count).await,
            "sandboxed" => bench.exec(&bench.sandboxed, "true", count).await,
            "bare" => bare("true", count),
            "output" => bench.exec(&bench.shared, OUTPUT, count).await,
            "bare_output" => bare(OUTPUT, count),
            "lines" => bench.exec(&bench.shared, LINES, count).await,
            "bare_lines" => bare(LINES, count),
            "heap" => {
                held = heap(count);
                json!({"ns_per_call": 0, "held_mb": held.len() >> 20})
            }
            other => json!({"error": format!("unknown command: `{other}`")}),
        };
        println!("{answer}");
        let _ = std::io::stdout().flush();
    }
    drop(held);
}

fn main() {
    let mut words = std::env::args_os().skip(1);
    match words.next().as_ref().and_then(|word| word.to_str()) {
        Some("__guardian") => haft_host::guardian_main(),
        Some("__session") => panic!("{}", haft_host::session_main(words)),
        Some("__launch") => haft_host::launcher_main(words),
        // As `haft call` and `haft mcp` have it.
        _ => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
            .block_on(serve()),
    }
}
