//! What must be tested alone in its process: the death of haft itself, the last resort against
//! processes that hide, and memory. The same program plays all the parts: with `guard` it is the
//! guardian, with `own DIR LINE…` it is a haft that runs lines, with `keep DIR LINE…` one that
//! keeps them in the background, else it is the test.

// A test without the usual harness is not known as one.
#![allow(clippy::unwrap_used)]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::CancelToken;
use haft_host::{
    ClosedPlaces, FileResults, FilesConfig, Finished, Mark, ProcessConfig, Program, RunProcesses,
    Session, SessionRequest, ShellRequest, Watch, Workspace, guardian_main,
};

/// What a command can do to outlive haft; `SLEEP` would run for long.
const SHAPES: [(&str, &str); 12] = [
    ("foreground", "SLEEP"),
    ("background", "SLEEP & wait"),
    ("double fork", "( ( SLEEP & ) & ); SLEEP"),
    ("new session", "setsid SLEEP & wait"),
    ("new session, double fork", "( setsid SLEEP & ); SLEEP"),
    ("nohup", "nohup SLEEP >/dev/null 2>&1 & wait"),
    ("deaf to signals", "trap '' TERM INT HUP; SLEEP & wait"),
    ("closed pipes", "SLEEP <&- >&- 2>&- & exec >&- 2>&-; wait"),
    ("pipeline", "SLEEP | SLEEP | cat"),
    ("stopped", "SLEEP & kill -STOP $$; wait"),
    ("job control", "set -m; SLEEP & SLEEP & wait"),
    ("empty environment", "env -i setsid SLEEP & wait"),
];

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|word| word.to_str()) {
        Some("guard") => guardian_main(),
        Some("own") => {
            let power = power(Path::new(&arguments[1]));
            for line in &arguments[2..] {
                run(&power, line.to_str().unwrap());
            }
        }
        Some("keep") => keep(Path::new(&arguments[1]), &arguments[2..]),
        // The flags that `cargo test` passes on choose among tests; here all run or none.
        _ if arguments.iter().any(|word| word == "--list") => {}
        _ => {
            for (name, line) in SHAPES {
                dies_with_haft("own", name, line);
                dies_with_haft("keep", name, line);
            }
            a_new_guardian_takes_over();
            cut_ties_do_not_help();
            a_flood_is_held_in_little_memory();
            many_floods_are_held_in_little_memory();
            println!("lifetimes: ok");
        }
    }
}

/// The power as haft has it, with this very program as the guardian.
fn power(dir: &Path) -> RunProcesses {
    let files = Workspace::open(FilesConfig {
        workspace: dir.to_owned(),
        roots: Vec::new(),
        home: dir.join(".home"),
    })
    .unwrap();
    let config = ProcessConfig {
        guardian: Some(vec![
            std::env::current_exe().unwrap().into(),
            "guard".into(),
        ]),
        background: true,
        ..ProcessConfig::default()
    };
    let results = FileResults::new(&dir.join(".home"));
    RunProcesses::new(config, Arc::new(files), Some(Arc::new(results)))
}

fn run(power: &RunProcesses, line: &str) -> Finished {
    let request = ShellRequest {
        line: line.to_owned(),
        cwd: power.directory(None).unwrap(),
        timeout: Duration::ZERO,
        terminal: None,
        closed: ClosedPlaces::default(),
    };
    let watch = Watch {
        live: &mut |_| {},
        cancel: &CancelToken::new(),
        session: "s",
    };
    runtime().block_on(power.run(request, watch)).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

async fn session(power: &RunProcesses, id: &str, line: &str) -> Session {
    let request = SessionRequest {
        id: id.to_owned(),
        program: Program::Line(line.to_owned()),
        cwd: power.directory(None).unwrap(),
        timeout: Duration::ZERO,
        input: true,
        terminal: None,
        mark: Mark {
            session: "s".to_owned(),
            call: id.to_owned(),
            tool: "t".to_owned(),
        },
        closed: ClosedPlaces::default(),
    };
    let session = power.begin(request).await.unwrap();
    session.to_background();
    session
}

/// Start every line in the background and wait for the end of the last.
fn keep(dir: &Path, lines: &[OsString]) {
    let power = power(dir);
    runtime().block_on(async {
        let mut sessions = Vec::new();
        for line in lines {
            sessions.push(session(&power, "line", line.to_str().unwrap()).await);
        }
        for session in sessions {
            session.ended(None).await;
        }
    });
}

/// A directory, and a program in it that sleeps under a name nobody else has.
fn marked() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("sleeper");
    std::os::unix::fs::symlink("/bin/sleep", &mark).unwrap();
    (dir, mark)
}

fn sleep_line(line: &str, mark: &Path) -> String {
    line.replace("SLEEP", &format!("{} 1000", mark.display()))
}

/// The processes whose command line has these words at its start.
fn running(words: &[&Path]) -> Vec<i32> {
    let start: Vec<u8> = words
        .iter()
        .flat_map(|word| [word.to_str().unwrap().as_bytes(), b"\0"].concat())
        .collect();
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(&start))
        })
        .collect()
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A haft of its own, with lines that sleep.
fn own(way: &str, dir: &Path, lines: &[&str]) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .arg(way)
        .arg(dir)
        .args(lines)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn dies_with_haft(way: &str, name: &str, line: &str) {
    let (dir, mark) = marked();
    let mut haft = own(way, dir.path(), &[&sleep_line(line, &mark)]);
    wait_for(name, || !running(&[&mark]).is_empty());
    haft.kill().unwrap();
    haft.wait().unwrap();
    wait_for(&format!("{name} survived"), || running(&[&mark]).is_empty());
}

/// A command that kills the guardian shakes it off for itself only: the next has a new one.
fn a_new_guardian_takes_over() {
    let exe = std::env::current_exe().unwrap();
    let guardians = || running(&[&exe, Path::new("guard")]);
    wait_for("an old guardian stays", || guardians().is_empty());
    let (dir, mark) = marked();
    let line = sleep_line("SLEEP", &mark);
    let mut haft = own("own", dir.path(), &[&line, &line]);
    wait_for("no sleeper", || !running(&[&mark]).is_empty());
    let (first, guardian) = (running(&[&mark])[0], guardians()[0]);
    let kill = |pid| {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    };
    kill(guardian);
    // One that is still dying has not closed its end of the line.
    wait_for("the guardian lives on", || {
        let stat = fs::read_to_string(format!("/proc/{guardian}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    });
    kill(first);
    wait_for("no second sleeper", || {
        running(&[&mark]).iter().any(|pid| *pid != first)
    });
    assert_ne!(guardians(), [guardian]);
    haft.kill().unwrap();
    haft.wait().unwrap();
    wait_for("the second survived", || running(&[&mark]).is_empty());
}

/// A process without its group, its parent and its environment is still found: it became a
/// child of ours, and no other command can have left it.
fn cut_ties_do_not_help() {
    let (dir, mark) = marked();
    let line = "( env -i setsid SLEEP & ); until test -e go; do sleep 0.01; done";
    let dir_path = dir.path().to_owned();
    let seen = mark.clone();
    let helper = std::thread::spawn(move || {
        wait_for("no sleeper", || !running(&[&seen]).is_empty());
        fs::write(dir_path.join("go"), "").unwrap();
    });
    let finished = run(&power(dir.path()), &sleep_line(line, &mark));
    helper.join().unwrap();
    assert_eq!(finished.exit_code, Some(0));
    assert_eq!(running(&[&mark]), [] as [i32; 0]);
}

/// The most memory this process has ever held, in kilobytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().split_whitespace().next().unwrap();
    kilobytes.parse().unwrap()
}

fn a_flood_is_held_in_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let power = power(dir.path());
    run(&power, "head -c 1000000 /dev/zero");
    let before = peak();
    let finished = run(&power, "yes '0123456789 äöü 0123456789' | head -c 50000000");
    assert_eq!(finished.total_bytes, 50_000_000);
    assert!(finished.truncated && finished.handle.is_some());
    let grown = peak() - before;
    assert!(grown < 8_000, "{grown} kB more at the peak");
}

/// What 64 sessions hold does not grow with what they say: after a first round that fills every
/// buffer, ten times as much again costs nothing.
fn many_floods_are_held_in_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let power = power(dir.path());
    let line = "read go; head -c 300000 /dev/zero; read go; head -c 3000000 /dev/zero";
    runtime().block_on(async {
        let before = peak();
        let mut sessions = Vec::new();
        for number in 0..64 {
            sessions.push(session(&power, &number.to_string(), line).await);
        }
        let round = async |chars: u64| {
            for session in &sessions {
                session.write(b"go\n", &CancelToken::new()).await.unwrap();
            }
            for session in &sessions {
                while session.total_chars() < chars {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        };
        round(300_000).await;
        let filled = peak();
        let held = filled.saturating_sub(before);
        assert!(held < 40_000, "{held} kB for 64");
        round(3_300_000).await;
        // The kernel counts in batches, so a peak may read a little lower later on.
        let grown = peak().saturating_sub(filled);
        assert!(grown < 8_000, "{grown} kB more at the peak");
        for session in &sessions {
            assert!(session.ended(None).await.well());
        }
    });
}
