//! What keeping changes costs. Reads commands on stdin, one a line, and answers each with one
//! line of JSON:
//!
//! - `write N`: N times `file.write` over a file of 4 KB; `plain_write N` without keeping
//! - `true N`, `plain_true N`: N times `true` through `shell.exec`
//! - `rm N`, `plain_rm N`: N times a shell line that removes 1,000 of 10,000 files
//! - `copy_rm N`: the same line after `cp -a` of the whole workspace, which is how one would keep
//!   it by hand

#![allow(clippy::expect_used)]

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::{Caller, Powers, ToolContext};
use haft_host::{
    Checkpoints, FilesConfig, ProcessConfig, RealPaths, RunProcesses, UndoConfig, Workspace,
    WriteFiles,
};
use serde_json::{Value, json};

const SHELL: &str = "/bin/sh";
const FOLDERS: usize = 10;
const FILES: usize = 1_000;
const REMOVE: &str = "rm -rf many/3";

struct Bench {
    root: PathBuf,
    kept: Arc<Caller>,
    plain: Arc<Caller>,
    _dir: tempfile::TempDir,
}

fn caller(root: &Path, keeps: bool) -> Arc<Caller> {
    let (work, home) = (root.join("work"), root.join("home"));
    let files = FilesConfig {
        workspace: work.clone(),
        roots: Vec::new(),
        home: home.clone(),
    };
    let mut workspace = Workspace::open(files).expect("a workspace");
    if keeps {
        workspace = workspace.keeping(Checkpoints::new(&home, UndoConfig::default()));
    }
    let workspace = Arc::new(workspace);
    let watched: Vec<OsString> = vec![
        std::env::current_exe().expect("our own path").into(),
        "__watched".into(),
    ];
    let config = ProcessConfig {
        shell: Some(SHELL.into()),
        watched: keeps.then_some(watched),
        ..ProcessConfig::default()
    };
    let mut powers = Powers::none();
    powers.insert(WriteFiles::new(workspace.clone()));
    powers.insert(RunProcesses::new(config, workspace, None));
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
            fs::create_dir(root.join(folder)).expect("a folder");
        }
        let bench = Bench {
            kept: caller(&root, true),
            plain: caller(&root, false),
            root,
            _dir: dir,
        };
        (0..FOLDERS).for_each(|folder| bench.fill(folder));
        bench
    }

    fn fill(&self, folder: usize) {
        let place = self.root.join("work/many").join(folder.to_string());
        fs::create_dir_all(&place).expect("a folder");
        for file in 0..FILES {
            let path = place.join(file.to_string());
            fs::write(path, format!("{folder}/{file}\n").repeat(300)).expect("a file");
        }
    }

    async fn call(&self, caller: &Arc<Caller>, name: &str, args: &Value) -> Duration {
        let packs = haft_tools::packs();
        let mut tools = packs.iter().flat_map(|pack| &pack.tools);
        let tool = tools.find(|tool| &*tool.spec().name == name);
        let tool = tool.expect("the tool");
        let cx = ToolContext::new("c".into(), name.into(), caller.clone(), 80_000, false);
        let started = Instant::now();
        let prepared = tool.prepare(args).expect("good arguments");
        prepared.effects(&cx).expect("effects");
        let output = prepared.run(&cx).await.expect("an answer");
        assert!(output.error.is_none(), "{output:?}");
        started.elapsed()
    }

    async fn write(&self, caller: &Arc<Caller>, count: usize) -> Duration {
        let mut taken = Duration::ZERO;
        for number in 0..count {
            let content = format!("{number:08}\n").repeat(455);
            let args = json!({"path": "file", "content": content});
            taken += self.call(caller, "file.write", &args).await;
        }
        taken
    }

    async fn shell(&self, caller: &Arc<Caller>, line: &str, count: usize) -> Duration {
        let args = json!({ "command": line });
        let mut taken = Duration::ZERO;
        for _ in 0..count {
            taken += self.call(caller, "shell.exec", &args).await;
        }
        taken
    }

    async fn remove(&self, caller: &Arc<Caller>, first: impl Fn(&Path), count: usize) -> Duration {
        let mut taken = Duration::ZERO;
        for _ in 0..count {
            self.fill(3);
            let started = Instant::now();
            first(&self.root);
            taken += started.elapsed() + self.shell(caller, REMOVE, 1).await;
            let _ = fs::remove_dir_all(self.root.join("copy"));
        }
        taken
    }
}

/// The whole workspace once more, with everything that belongs to it.
fn copy(root: &Path) {
    let copied = Command::new("cp")
        .args(["-a", "work", "copy"])
        .current_dir(root)
        .status();
    assert!(copied.expect("cp").success());
}

async fn serve() {
    let bench = Bench::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or_default();
        let count = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
        let taken = match command {
            "write" => bench.write(&bench.kept, count).await,
            "plain_write" => bench.write(&bench.plain, count).await,
            "true" => bench.shell(&bench.kept, "true", count).await,
            "plain_true" => bench.shell(&bench.plain, "true", count).await,
            "rm" => bench.remove(&bench.kept, |_| (), count).await,
            "plain_rm" => bench.remove(&bench.plain, |_| (), count).await,
            "copy_rm" => bench.remove(&bench.plain, copy, count).await,
            other => panic!("unknown command: `{other}`"),
        };
        let each = taken.as_nanos() as f64 / count.max(1) as f64;
        println!("{}", json!({ "ns_per_call": each }));
        let _ = std::io::stdout().flush();
    }
}

fn main() {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "__watched") {
        panic!("{}", haft_host::watched_main(words));
    }
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(serve());
}
