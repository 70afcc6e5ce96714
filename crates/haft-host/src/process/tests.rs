//! Real commands, really ended. What must be alone in its process is in `tests/lifetimes.rs`.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::{CancelToken, ErrorCode, ResultStore, ToolError};
use tempfile::TempDir;

use super::*;
use crate::{ClosedPlaces, FilesConfig};

struct Place {
    dir: TempDir,
    power: RunProcesses,
    results: Arc<FileResults>,
}

fn place(config: ProcessConfig) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let workspace = dir.path().join("work");
    let home = dir.path().join("home");
    fs::create_dir_all(&workspace).unwrap();
    fs::create_dir_all(&home).unwrap();
    let results = Arc::new(FileResults::new(&home));
    let files = Workspace::open(FilesConfig {
        workspace,
        roots: Vec::new(),
        home,
    })
    .unwrap();
    let power = RunProcesses::new(config, Arc::new(files), Some(results.clone()));
    Place {
        dir,
        power,
        results,
    }
}

impl Place {
    async fn run(&self, line: &str) -> Result<Finished, ToolError> {
        self.run_with(line, Duration::ZERO, &CancelToken::new(), &mut |_| {})
            .await
    }

    async fn run_with(
        &self,
        line: &str,
        timeout: Duration,
        cancel: &CancelToken,
        live: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Finished, ToolError> {
        let request = ShellRequest {
            line: line.to_owned(),
            cwd: self.power.directory(None)?,
            timeout,
            terminal: None,
            closed: ClosedPlaces::default(),
        };
        let watch = Watch {
            live,
            cancel,
            session: "s",
        };
        self.power.run(request, watch).await
    }
}

async fn check(line: &str, expected: &str) {
    let finished = place(ProcessConfig::default()).run(line).await.unwrap();
    let end = match (finished.exit_code, &finished.signal) {
        (Some(code), None) => code.to_string(),
        (None, Some(signal)) => signal.clone(),
        other => format!("{other:?}"),
    };
    assert_eq!(format!("{}|{end}", finished.output), expected, "{line}");
}

#[tokio::test]
async fn output_and_end() {
    check("echo hello", "hello\n|0").await;
    check("exit 3", "|3").await;
    check("echo a; echo b >&2; echo c; echo d >&2", "a\nb\nc\nd\n|0").await;
    check("kill -SEGV $$", "|SIGSEGV").await;
    check("kill -KILL $$", "|SIGKILL").await;
    check("kill -TERM $$", "|SIGTERM").await;
    check("{ sh -c 'kill -9 $$'; } 2>&-; exit $?", "|137").await;
    check("cat; echo end", "end\n|0").await;
    check(r"printf 'a\377b\303'", "a\u{FFFD}b\u{FFFD}|0").await;
    check("trap 'echo bye' EXIT; echo hi", "hi\nbye\n|0").await;
    check("echo x | tee /dev/stderr", "x\nx\n|0").await;
}

#[tokio::test]
async fn a_missing_command_is_an_ordinary_failure() {
    let finished = place(ProcessConfig::default())
        .run("no-such-command-at-all")
        .await
        .unwrap();
    assert_eq!(finished.exit_code, Some(127));
    assert!(finished.output.contains("not found"), "{}", finished.output);
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let place = place(ProcessConfig {
        shell: Some("/usr/bin/env".into()),
        ..ProcessConfig::default()
    });
    let check = async |line: &str, code, message: &str| {
        let error = place.run(line).await.unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (code, message));
    };
    check(
        "a\0b",
        ErrorCode::InputInvalid,
        "the command holds a NUL byte",
    )
    .await;
    check(
        &"x".repeat(200_000),
        ErrorCode::InputInvalid,
        "the command is too long: 200000 bytes",
    )
    .await;
    let gone = place.dir.path().join("work");
    fs::remove_dir_all(&gone).unwrap();
    let message = format!(
        "no such directory: `{}`",
        gone.canonicalize().unwrap_or(gone).display()
    );
    check("true", ErrorCode::ExecutionFailed, &message).await;
}

#[tokio::test]
async fn directories() {
    let place = place(ProcessConfig::default());
    let work = place.power.directory(None).unwrap();
    fs::create_dir(work.join("sub")).unwrap();
    fs::write(work.join("file"), "").unwrap();
    std::os::unix::fs::symlink("/etc", work.join("out")).unwrap();
    let check = |given: &str, expected: Result<&Path, ErrorCode>| {
        let found = place.power.directory(Some(given));
        assert_eq!(
            found.as_deref().map_err(|error| error.code),
            expected,
            "{given}"
        );
    };
    check(".", Ok(&work));
    check("sub", Ok(&work.join("sub")));
    check("sub/..", Ok(&work));
    check("missing", Err(ErrorCode::ExecutionFailed));
    check("file", Err(ErrorCode::ExecutionFailed));
    check("..", Err(ErrorCode::Denied));
    check("/", Err(ErrorCode::Denied));
    check("out", Err(ErrorCode::Denied));
}

#[tokio::test]
async fn a_line_runs_where_it_should_and_cd_does_not_last() {
    let place = place(ProcessConfig::default());
    let work = format!("{}\n", place.power.directory(None).unwrap().display());
    assert_eq!(
        place.run("pwd; echo $PWD").await.unwrap().output,
        work.repeat(2)
    );
    assert_eq!(place.run("cd /; pwd").await.unwrap().output, "/\n");
    assert_eq!(place.run("pwd").await.unwrap().output, work);
}

#[tokio::test]
async fn long_output_keeps_its_end_and_its_whole() {
    let place = place(ProcessConfig::default());
    let mut heard = 0;
    let finished = place
        .run_with(
            "seq 1 200000",
            Duration::ZERO,
            &CancelToken::new(),
            &mut |text| heard += text.len(),
        )
        .await
        .unwrap();
    assert!(finished.truncated && finished.output.ends_with("199999\n200000\n"));
    assert_eq!(finished.output.chars().count(), OUTPUT_CHARS);
    assert_eq!(finished.tail.chars().count(), TAIL_CHARS);
    let mut whole = String::new();
    let handle = finished.handle.unwrap();
    std::io::Read::read_to_string(&mut place.results.open("s", &handle).unwrap(), &mut whole)
        .unwrap();
    assert!(whole.starts_with("1\n2\n3\n") && whole.ends_with(&finished.output));
    assert_eq!(whole.len() as u64, finished.total_bytes);
    assert_eq!(heard as u64, finished.total_bytes);
}

#[tokio::test]
async fn secrets_and_open_files_stay_here() {
    let place = place(ProcessConfig::default());
    let secret = place.dir.path().join("secret-file");
    let file = fs::File::create(&secret).unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let place = super::tests::place(ProcessConfig::default());
    let finished = place.run("ls -l /proc/self/fd; env").await.unwrap();
    assert!(
        !finished.output.contains("secret-file"),
        "{}",
        finished.output
    );
    // Cargo sets these for every test; none of them is on the list.
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
    assert!(
        !finished.output.contains("CARGO_PKG_NAME"),
        "{}",
        finished.output
    );
    assert!(finished.output.contains("\nPATH="), "{}", finished.output);
    assert!(
        finished.output.contains("\nHAFT_CALL="),
        "{}",
        finished.output
    );
    drop(file);
}

#[test]
fn a_permission_is_bound_to_shell_and_environment() {
    let one = place(ProcessConfig::default());
    let same = place(ProcessConfig::default());
    let other = place(ProcessConfig {
        shell: Some("/usr/bin/env".into()),
        ..ProcessConfig::default()
    });
    let wider = place(ProcessConfig {
        env: crate::EnvPolicy {
            extra: vec!["CARGO_PKG_NAME".into()],
        },
        ..ProcessConfig::default()
    });
    assert_eq!(one.power.fingerprint(), same.power.fingerprint());
    assert_ne!(one.power.fingerprint(), other.power.fingerprint());
    assert_ne!(one.power.fingerprint(), wider.power.fingerprint());
}

/// What a command can do to outlive its call. `SLEEP` is a program that would run for long.
const SHAPES: [(&str, &str); 16] = [
    ("foreground", "SLEEP"),
    ("background", "SLEEP & wait"),
    ("left behind", "SLEEP & exit 0"),
    ("double fork", "( ( SLEEP & ) & ); SLEEP"),
    ("new session", "setsid SLEEP & wait"),
    ("new session, double fork", "( setsid SLEEP & ); SLEEP"),
    ("nohup", "nohup SLEEP >/dev/null 2>&1 & wait"),
    ("deaf to SIGTERM", "trap '' TERM; SLEEP & wait"),
    (
        "deaf in a new session",
        "trap '' TERM; ( setsid SLEEP & ); exit 0",
    ),
    ("closed pipes", "SLEEP <&- >&- 2>&- & exec >&- 2>&-; wait"),
    ("pipeline", "SLEEP | SLEEP | cat"),
    ("subshells", "( ( ( SLEEP; true ); true ); true ); true"),
    ("stopped", "SLEEP & kill -STOP $$; wait"),
    ("job control", "set -m; SLEEP & SLEEP & wait"),
    ("empty environment", "env -i SLEEP & wait"),
    ("respawning", "trap '' TERM; while :; do SLEEP; done"),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    TimeOut,
    Cancel,
    Drop,
}

/// Run a shape until its sleeper runs, stop it, and count who is left.
async fn stop(name: &str, line: &str, way: Way) {
    let place = place(ProcessConfig::default());
    // The place's own name marks its sleepers: nobody else looks for that path.
    let mark = place.dir.path().join("sleeper");
    std::os::unix::fs::symlink("/bin/sleep", &mark).unwrap();
    let line = line.replace("SLEEP", &format!("{} 1000", mark.display()));
    let cancel = CancelToken::new();
    let begun = Instant::now();
    let timeout = match way {
        Way::TimeOut => Duration::from_millis(600),
        Way::Cancel | Way::Drop => Duration::ZERO,
    };
    let mut quiet = |_: &str| {};
    let mut running = Box::pin(place.run_with(&line, timeout, &cancel, &mut quiet));
    let mut ended = None;
    // Until the sleeper runs, unless the line has ended by itself already.
    while ended.is_none() && sleepers(&mark) == 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{name} never began"
        );
        let turn = tokio::time::timeout(Duration::from_millis(5), &mut running);
        ended = turn.await.ok();
    }
    match way {
        Way::Drop => drop(running),
        Way::Cancel | Way::TimeOut => {
            if way == Way::Cancel {
                cancel.cancel();
            }
            let finished = match ended {
                Some(finished) => finished,
                None => running.await,
            }
            .unwrap();
            let by_itself = line.ends_with("exit 0");
            assert!(
                by_itself || finished.timed_out == (way == Way::TimeOut),
                "{name}"
            );
            assert!(
                by_itself || finished.cancelled == (way == Way::Cancel),
                "{name}"
            );
            assert_eq!(sleepers(&mark), 0, "{name} by {way:?}: {finished:?}");
        }
    }
    assert!(settle(Duration::from_secs(10)), "{name} by {way:?}");
    assert_eq!(sleepers(&mark), 0, "{name} by {way:?}");
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "{name} by {way:?}"
    );
}

/// How many processes run the marked program.
fn sleepers(mark: &Path) -> usize {
    let mark = mark.to_str().unwrap().as_bytes();
    procfs::all()
        .filter_map(|pid| fs::read(format!("/proc/{pid}/cmdline")).ok())
        .filter(|line| line.starts_with(mark))
        .count()
}

#[tokio::test]
async fn nothing_survives_a_timeout() {
    all(SHAPES.map(|(name, line)| stop(name, line, Way::TimeOut))).await;
}

#[tokio::test]
async fn nothing_survives_a_cancel() {
    all(SHAPES.map(|(name, line)| stop(name, line, Way::Cancel))).await;
}

#[tokio::test]
async fn nothing_survives_a_dropped_future() {
    all(SHAPES.map(|(name, line)| stop(name, line, Way::Drop))).await;
}

#[tokio::test]
async fn a_timeout_says_so_and_keeps_the_output() {
    let place = place(ProcessConfig::default());
    let finished = place
        .run_with(
            "echo before; sleep 100; echo after",
            Duration::from_millis(300),
            &CancelToken::new(),
            &mut |_| {},
        )
        .await
        .unwrap();
    assert!(finished.timed_out && !finished.cancelled);
    assert_eq!(finished.output, "before\n");
    assert_eq!(
        (finished.exit_code, finished.signal.as_deref()),
        (None, Some("SIGTERM"))
    );
    assert!(finished.duration < Duration::from_secs(50));
    assert!(finished.ended_at_ms >= finished.started_at_ms + 300);
}

#[tokio::test]
async fn a_background_child_does_not_hold_the_call_up() {
    let finished = place(ProcessConfig::default())
        .run("sleep 100 & echo started")
        .await
        .unwrap();
    assert_eq!(
        (finished.output.as_str(), finished.exit_code),
        ("started\n", Some(0))
    );
    assert!(finished.duration < Duration::from_secs(50));
}

#[tokio::test]
async fn late_words_of_a_helper_are_heard() {
    // The shell does not wait for the substituted process, which answers after its end.
    let place = place(ProcessConfig {
        shell: Some("/bin/bash".into()),
        ..ProcessConfig::default()
    });
    let finished = place.run("echo word > >(cat)").await.unwrap();
    assert_eq!(finished.output, "word\n", "{finished:?}");
}

#[tokio::test]
async fn a_fork_storm_ends() {
    let place = place(ProcessConfig::default());
    let mark = place.dir.path().join("sleeper");
    std::os::unix::fs::symlink("/bin/sleep", &mark).unwrap();
    // Two hundred at a time, for as long as it lives; each leaves its parent at once.
    let storm = format!(
        "while :; do for i in 1 2 3 4 5 6 7 8 9 10; do ( {} 0.2 & ) ; done; done",
        mark.display()
    );
    let finished = place
        .run_with(
            &storm,
            Duration::from_millis(400),
            &CancelToken::new(),
            &mut |_| {},
        )
        .await
        .unwrap();
    assert!(finished.timed_out);
    assert_eq!(sleepers(&mark), 0);
}

#[tokio::test]
async fn many_at_once_keep_apart() {
    let place = place(ProcessConfig::default());
    let runs = (0..24).map(|number| {
        let place = &place;
        async move {
            let line = format!("sleep 100 & for i in 1 2 3; do echo {number}; done; exit {number}");
            place.run(&line).await.unwrap()
        }
    });
    let finished = all(runs).await;
    for (number, finished) in finished.into_iter().enumerate() {
        assert_eq!(finished.output, format!("{number}\n").repeat(3));
        assert_eq!(finished.exit_code, Some(number as i32));
    }
}

/// Drive all futures on this task, as a batch of calls does.
async fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures
        .into_iter()
        .map(|future| (Box::pin(future), None))
        .collect();
    std::future::poll_fn(|cx| {
        for (future, output) in &mut futures {
            if output.is_none()
                && let std::task::Poll::Ready(ready) = future.as_mut().poll(cx)
            {
                *output = Some(ready);
            }
        }
        if futures.iter().all(|(_, output)| output.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    futures
        .into_iter()
        .map(|(_, output)| output.unwrap())
        .collect()
}
