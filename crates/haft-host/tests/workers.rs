//! Workers as real processes. The same program plays all the parts: with `guard` it is the
//! guardian, with `work` a worker, with `late FILE` a worker that cannot start until the file
//! holds two lines, with `own DIR LINE` a haft whose worker runs a line, else it is the test.

// A test without the usual harness is not known as one.
#![allow(clippy::unwrap_used)]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::{CancelToken, ErrorCode, ToolError};
use haft_host::{
    ClosedPlaces, FileResults, FilesConfig, Finished, ProcessConfig, RunProcesses, ShellRequest,
    Watch, WorkersConfig, Workspace, guardian_main, worker_main,
};
use tokio::task::JoinHandle;

/// Longer than anything here takes; only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|word| word.to_str()) {
        Some("guard") => guardian_main(),
        Some("work") => worker_main().unwrap(),
        Some("late") => late(Path::new(&arguments[1])),
        Some("own") => {
            let power = power(Path::new(&arguments[1]), 1, &["work"]);
            let line = arguments[2].to_str().unwrap().to_owned();
            runtime().block_on(async move { run(&power, &line).await.unwrap() });
        }
        // The flags that `cargo test` passes on choose among tests; here all run or none.
        _ if arguments.iter().any(|word| word == "--list") => {}
        _ => {
            a_command_runs_in_a_worker_and_tells_as_it_goes();
            a_worker_does_one_job_after_the_other();
            who_finds_no_worker_free_waits();
            a_killed_worker_is_an_outcome_and_the_next_call_works();
            one_that_dies_idle_is_not_noticed();
            a_cancel_ends_one_job_of_two();
            an_abandoned_call_ends_its_job();
            a_worker_over_its_memory_dies_and_its_commands_are_not_bound();
            a_start_that_fails_is_tried_again();
            where_none_can_start_calls_are_answered();
            nothing_outlives_haft();
            println!("workers: ok");
        }
    }
}

fn late(tries: &Path) {
    let before = fs::read_to_string(tries).unwrap_or_default();
    fs::write(tries, format!("{before}try\n")).unwrap();
    if before.lines().count() < 2 {
        eprintln!("too early");
        std::process::exit(9);
    }
    worker_main().unwrap();
}

/// The power as haft has it, with this very program in its hidden modes.
fn power(dir: &Path, count: usize, worker: &[&str]) -> RunProcesses {
    power_with(dir, |config| {
        config.count = count;
        config.program = ourselves(worker);
    })
}

fn power_with(dir: &Path, change: impl FnOnce(&mut WorkersConfig)) -> RunProcesses {
    let home = dir.join(".home");
    let files = Workspace::open(FilesConfig {
        workspace: dir.to_owned(),
        roots: Vec::new(),
        home: home.clone(),
    })
    .unwrap();
    let mut workers = WorkersConfig::new(ourselves(&["work"]));
    workers.first_pause = Duration::from_millis(5);
    change(&mut workers);
    let config = ProcessConfig {
        guardian: Some(ourselves(&["guard"])),
        workers: Some(workers),
        ..ProcessConfig::default()
    };
    RunProcesses::new(
        config,
        Arc::new(files),
        Some(Arc::new(FileResults::new(&home))),
    )
}

fn ourselves(mode: &[&str]) -> Vec<OsString> {
    let exe = std::env::current_exe().unwrap();
    let mode = mode.iter().map(OsString::from);
    std::iter::once(exe.into()).chain(mode).collect()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn request(power: &RunProcesses, line: &str) -> ShellRequest {
    ShellRequest {
        line: line.to_owned(),
        cwd: power.directory(None).unwrap(),
        timeout: Duration::ZERO,
        terminal: None,
        closed: ClosedPlaces::default(),
    }
}

async fn run(power: &RunProcesses, line: &str) -> Result<Finished, ToolError> {
    let watch = Watch {
        live: &mut |_| {},
        cancel: &CancelToken::new(),
        session: "s",
    };
    power.run(request(power, line), watch).await
}

/// The same in a task of its own.
fn begin(
    power: &RunProcesses,
    line: &str,
    cancel: &CancelToken,
) -> JoinHandle<Result<Finished, ToolError>> {
    let (power, request, cancel) = (power.clone(), request(power, line), cancel.clone());
    tokio::spawn(async move {
        let watch = Watch {
            live: &mut |_| {},
            cancel: &cancel,
            session: "s",
        };
        power.run(request, watch).await
    })
}

async fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The pid that a command has written to a file, and thus of its parent, the worker.
async fn told_pid(file: &Path) -> u32 {
    wait_for("a pid", || {
        let text = fs::read_to_string(file).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    })
    .await
}

fn lives(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .starts_with(" Z")
    })
}

fn kill(pid: u32) {
    let status = Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(status.unwrap().success());
}

fn a_command_runs_in_a_worker_and_tells_as_it_goes() {
    let dir = tempfile::tempdir().unwrap();
    let power = power(dir.path(), 1, &["work"]);
    runtime().block_on(async {
        let mut heard = String::new();
        let line = "echo $PPID; yes x | head -c 300000; echo end >&2; exit 3";
        let watch = Watch {
            live: &mut |text| heard.push_str(text),
            cancel: &CancelToken::new(),
            session: "s",
        };
        let finished = power.run(request(&power, line), watch).await.unwrap();
        assert_eq!(finished.exit_code, Some(3));
        assert!(finished.output.ends_with("x\nend\n") && finished.truncated);
        assert!(finished.handle.is_some(), "the whole is kept");
        let parent: u32 = heard.lines().next().unwrap().parse().unwrap();
        assert!(parent != std::process::id() && lives(parent));
        assert_eq!(heard.len() as u64, finished.total_bytes);
        let error = run(&power, "nul\0byte").await.unwrap_err();
        assert_eq!(error.code, ErrorCode::InputInvalid, "{error}");
    });
}

fn a_worker_does_one_job_after_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let power = power(dir.path(), 1, &["work"]);
    runtime().block_on(async {
        let first = run(&power, "echo $PPID").await.unwrap().output;
        for _ in 0..20 {
            assert_eq!(run(&power, "echo $PPID").await.unwrap().output, first);
        }
    });
}

fn who_finds_no_worker_free_waits() {
    let dir = tempfile::tempdir().unwrap();
    let power = power(dir.path(), 2, &["work"]);
    let line =
        |n: u32| format!("echo up > up{n}; while ! test -e go{n}; do sleep 0.01; done; echo $PPID");
    runtime().block_on(async {
        let none = CancelToken::new();
        let mut calls: Vec<_> = (0..2).map(|n| begin(&power, &line(n), &none)).collect();
        for n in 0..2 {
            let file = dir.path().join(format!("up{n}"));
            wait_for("two at work", || file.exists().then_some(())).await;
        }
        calls.extend((2..5).map(|n| begin(&power, &line(n), &none)));
        let impatient = CancelToken::new();
        let given_up = begin(&power, &line(9), &impatient);
        tokio::task::yield_now().await;
        impatient.cancel();
        let error = given_up.await.unwrap().unwrap_err();
        assert_eq!(error.code, ErrorCode::Cancelled);
        assert!(!dir.path().join("up2").exists(), "a third one at work");
        let mut workers = Vec::new();
        for n in 0..5 {
            fs::write(dir.path().join(format!("go{n}")), "").unwrap();
        }
        for call in calls {
            workers.push(call.await.unwrap().unwrap().output);
        }
        workers.sort();
        workers.dedup();
        assert_eq!(workers.len(), 2, "{workers:?}");
        assert!(
            !dir.path().join("up9").exists(),
            "cancelled while it waited"
        );
    });
}

fn a_killed_worker_is_an_outcome_and_the_next_call_works() {
    let dir = tempfile::tempdir().unwrap();
    let power = power(dir.path(), 1, &["work"]);
    runtime().block_on(async {
        let (ours, theirs) = (dir.path().join("worker"), dir.path().join("command"));
        let line = "echo $$ > command; echo $PPID > worker; sleep 1000 & setsid sleep 1000 & wait";
        let call = begin(&power, line, &CancelToken::new());
        let worker = told_pid(&ours).await;
        let command = told_pid(&theirs).await;
        kill(worker);
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.code, ErrorCode::ExecutionFailed);
        assert_eq!(error.message, "the worker of this call died: SIGKILL");
        assert!(
            error
                .into_body()
                .hint
                .unwrap()
                .contains("before you try again")
        );
        let next = run(&power, "echo $PPID").await.unwrap().output;
        assert_ne!(next.trim(), worker.to_string());
        wait_for("the command to be gone", || (!lives(command)).then_some(())).await;
        wait_for("no zombie", || {
            (!Path::new(&format!("/proc/{worker}")).exists()).then_some(())
        })
        .await;
    });
}

fn one_that_dies_idle_is_not_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let power = power(dir.path(), 1, &["work"]);
    runtime().block_on(async {
        for _ in 0..3 {
            let worker = run(&power, "echo $PPID").await.unwrap().output;
            let worker: u32 = worker.trim().parse().unwrap();
            kill(worker);
            wait_for("its end", || (!lives(worker)).then_some(())).await;
        }
    });
}

fn a_cancel_ends_one_job_of_two() {
    let dir = tempfile::tempdir().unwrap();
    let power = power(dir.path(), 2, &["work"]);
    runtime().block_on(async {
        let cancel = CancelToken::new();
        let loser = begin(&power, "echo $$ > loser; sleep 1000 & wait", &cancel);
        let line = "echo $$ > winner; while ! test -e go; do sleep 0.01; done; echo done";
        let winner = begin(&power, line, &CancelToken::new());
        let pid = told_pid(&dir.path().join("loser")).await;
        told_pid(&dir.path().join("winner")).await;
        cancel.cancel();
        let finished = loser.await.unwrap().unwrap();
        assert!(finished.cancelled && !lives(pid));
        fs::write(dir.path().join("go"), "").unwrap();
        assert_eq!(winner.await.unwrap().unwrap().output, "done\n");
    });
}

fn an_abandoned_call_ends_its_job() {
    let dir = tempfile::tempdir().unwrap();
    let power = power(dir.path(), 1, &["work"]);
    runtime().block_on(async {
        let call = begin(
            &power,
            "echo $$ > pid; trap '' TERM; sleep 1000 & wait",
            &CancelToken::new(),
        );
        let pid = told_pid(&dir.path().join("pid")).await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        wait_for("the command to be gone", || (!lives(pid)).then_some(())).await;
        assert_eq!(run(&power, "echo next").await.unwrap().output, "next\n");
    });
}

fn a_worker_over_its_memory_dies_and_its_commands_are_not_bound() {
    let dir = tempfile::tempdir().unwrap();
    let power = power_with(dir.path(), |config| {
        config.count = 1;
        config.memory = 48 << 20;
    });
    runtime().block_on(async {
        let limits = run(&power, "ulimit -d; until grep -q 50331648 /proc/$PPID/limits; do sleep 0.01; done; grep 'data size' /proc/$PPID/limits")
            .await
            .unwrap();
        let lines: Vec<&str> = limits.output.lines().collect();
        assert_eq!(lines[0], "unlimited");
        assert!(lines[1].contains(" 50331648 "), "{lines:?}");
        // The line itself has to fit into the worker.
        let long = format!(": {}", "x".repeat(60 << 20));
        let error = run(&power, &long).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ExecutionFailed);
        assert!(
            error.message.contains("SIGABRT: memory allocation of"),
            "{error}"
        );
        assert!(error.into_body().hint.unwrap().contains("48 MB (`workers.memory_mb`"));
        assert_eq!(run(&power, "echo next").await.unwrap().output, "next\n");
    });
}

fn a_start_that_fails_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let tries = dir.path().join("tries");
    let power = power(dir.path(), 4, &["late", tries.to_str().unwrap()]);
    runtime().block_on(async {
        assert_eq!(run(&power, "echo hello").await.unwrap().output, "hello\n");
        assert_eq!(fs::read_to_string(&tries).unwrap(), "try\n".repeat(3));
    });
}

fn where_none_can_start_calls_are_answered() {
    let check = |program: Vec<OsString>, why: &str| {
        let dir = tempfile::tempdir().unwrap();
        let power = power_with(dir.path(), |config| {
            config.program = program;
            config.first_pause = Duration::from_secs(1000);
        });
        runtime().block_on(async {
            for _ in 0..2 {
                let error = run(&power, "echo > made").await.unwrap_err();
                assert_eq!(error.code, ErrorCode::NotAvailable);
                let message = format!("no worker can be started: {why}");
                assert!(error.message.starts_with(&message), "{error}");
                assert!(error.into_body().hint.unwrap().contains("next try is in"));
            }
            assert!(
                power
                    .workers()
                    .unwrap()
                    .trouble()
                    .await
                    .unwrap()
                    .starts_with(why)
            );
        });
        assert!(!dir.path().join("made").exists());
    };
    check(vec!["/no/such/program".into()], "No such file");
    check(
        vec![
            "/bin/sh".into(),
            "-c".into(),
            "echo broken >&2; exit 7".into(),
        ],
        "exit code 7: broken",
    );
    check(
        vec![
            "/bin/sh".into(),
            "-c".into(),
            "echo zzzzzzzz; cat >&2".into(),
        ],
        "it gave a wrong answer: the line is out of step",
    );
}

fn nothing_outlives_haft() {
    let dir = tempfile::tempdir().unwrap();
    let line =
        "echo $PPID > worker; echo $$ > command; setsid sh -c 'echo $$ > far; sleep 1000' & wait";
    let mut haft = Command::new(std::env::current_exe().unwrap())
        .arg("own")
        .args([dir.path().as_os_str(), line.as_ref()])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    runtime().block_on(async {
        let mut pids = Vec::new();
        for name in ["worker", "command", "far"] {
            let file: PathBuf = dir.path().join(name);
            pids.push(told_pid(&file).await);
        }
        haft.kill().unwrap();
        haft.wait().unwrap();
        for pid in pids {
            wait_for("its end", || (!lives(pid)).then_some(())).await;
        }
    });
}
