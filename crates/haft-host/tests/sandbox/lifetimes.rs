//! How sandboxed commands end: by themselves, by a time limit, and with haft.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use haft_host::{
    ClosedPlaces, Level, Mark, ProcessConfig, Program, RunProcesses, Session, SessionRequest,
};

use crate::fixture::{Fixture, runtime};

pub(crate) fn a_command_is_asked_to_end_before_it_is_made_to() {
    let fixture = Fixture::new();
    let check = |line: &str, output: &str, signal: Option<&str>| {
        let finished = fixture.run_for(Duration::from_millis(400), line);
        assert!(finished.timed_out, "{line}");
        assert_eq!(finished.output, output, "{line}");
        assert_eq!(finished.signal.as_deref(), signal, "{line}");
        assert!(finished.duration < Duration::from_secs(10), "{line}");
    };
    check("echo said; exec sleep 1000", "said\n", Some("SIGTERM"));
    check(
        "trap 'echo bye; exit 3' TERM; sleep 1000 & wait",
        "bye\n",
        None,
    );
    check(
        "trap '' TERM; while :; do sleep 1; done",
        "",
        Some("SIGKILL"),
    );
}

/// The first process of a sandbox hears no SIGTERM; the command has to, once it is there.
pub(crate) fn a_signal_while_the_sandbox_starts_reaches_the_command() {
    let fixture = Fixture::new();
    for _ in 0..10 {
        runtime().block_on(async {
            let session = begin(&fixture, "exec sleep 20").await;
            until(&session, || !children(session.pid()).is_empty()).await;
            session.terminate();
            let end = session.ended(None).await;
            assert_eq!(end.signal.as_deref(), Some("SIGTERM"), "{end:?}");
        });
    }
}

/// What it left behind may say its last words; who stops it then stops nothing.
pub(crate) fn a_command_that_has_ended_is_not_stopped() {
    let fixture = Fixture::new();
    runtime().block_on(async {
        let session = begin(&fixture, "sleep 1000 & exit 0").await;
        let name = |pid: i32| fs::read_to_string(format!("/proc/{pid}/comm"));
        // The first process has buried the shell when only what the shell left is its child.
        let shell_is_gone = || {
            let first = children(session.pid());
            let [first] = first.as_slice() else {
                return false;
            };
            let [left] = children(*first)[..] else {
                return false;
            };
            name(left).is_ok_and(|name| name == "sleep\n")
        };
        until(&session, shell_is_gone).await;
        session.stop();
        let end = session.ended(None).await;
        assert!(end.well(), "{end:?}");
    });
}

async fn begin(fixture: &Fixture, line: &str) -> Session {
    let config = ProcessConfig {
        background: true,
        ..fixture.config(fixture.sandbox(Level::Sandboxed))
    };
    let power = RunProcesses::new(config, fixture.files().unwrap(), None);
    let request = SessionRequest {
        id: "early".to_owned(),
        program: Program::Line(line.to_owned()),
        cwd: fixture.work.clone(),
        timeout: Duration::from_secs(60),
        input: false,
        terminal: None,
        mark: Mark {
            session: "s".to_owned(),
            call: "c".to_owned(),
            tool: "t".to_owned(),
        },
        closed: ClosedPlaces::default(),
    };
    let session = power.begin(request).await.unwrap();
    // The power ends its sessions when it goes.
    std::mem::forget(power);
    session
}

/// Wait for a condition, or for the end.
async fn until(session: &Session, condition: impl Fn() -> bool) {
    while !condition() && session.end().is_none() {
        tokio::task::yield_now().await;
    }
}

fn children(pid: i32) -> Vec<i32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect()
}

/// Run a line that does not end, and say so by a file.
pub(crate) fn own() {
    let fixture = Fixture::at(Path::new(&std::env::args_os().nth(2).unwrap()));
    fixture.run(Level::Sandboxed, &std::env::args().nth(3).unwrap());
}

/// With no guardian at all: the launcher itself notices.
pub(crate) fn nothing_outlives_haft() {
    for line in [
        "touch ready; @WORK/sleeper 1000",
        "(setsid @WORK/sleeper 1000 &); touch ready; trap '' TERM HUP INT; @WORK/sleeper 1000",
        "env -i setsid @WORK/sleeper 1000 & touch ready; wait",
    ] {
        let fixture = Fixture::new();
        let sleeper = fixture.work.join("sleeper");
        std::os::unix::fs::symlink("/bin/sleep", &sleeper).unwrap();
        let mut haft = Command::new(std::env::current_exe().unwrap())
            .arg("own")
            .arg(&fixture.root)
            .arg(fixture.fill(line))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("no sleeper", || {
            fixture.work.join("ready").exists() && running(&sleeper) > 0
        });
        haft.kill().unwrap();
        haft.wait().unwrap();
        wait_for(line, || running(&sleeper) == 0);
        // And what stood in for missing files is gone with the launcher.
        wait_for("placeholders stay", || {
            !fixture.work.join(".git/commondir").exists()
        });
    }
}

fn running(program: &Path) -> usize {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            words.starts_with(program.to_str().unwrap().as_bytes())
        })
        .count()
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
