//! Real sessions: many at once, told, ended, forgotten.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::{CancelToken, ErrorCode};
use tempfile::TempDir;

use super::*;
use crate::process::{ProcessConfig, settle};
use crate::{FileResults, FilesConfig, Workspace};

struct Place {
    _dir: TempDir,
    power: RunProcesses,
}

fn place(config: ProcessConfig) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let (workspace, home) = (dir.path().join("work"), dir.path().join("home"));
    fs::create_dir_all(&workspace).unwrap();
    fs::create_dir_all(&home).unwrap();
    let results = Arc::new(FileResults::new(&home));
    let files = Workspace::open(FilesConfig {
        workspace,
        roots: Vec::new(),
        home,
    })
    .unwrap();
    Place {
        _dir: dir,
        power: RunProcesses::new(config, Arc::new(files), Some(results)),
    }
}

fn background() -> ProcessConfig {
    ProcessConfig {
        background: true,
        ..ProcessConfig::default()
    }
}

impl Place {
    fn request(&self, id: &str, line: &str) -> SessionRequest {
        SessionRequest {
            id: id.to_owned(),
            program: Program::Line(line.to_owned()),
            cwd: self.power.directory(None).unwrap(),
            timeout: Duration::ZERO,
            input: true,
            terminal: None,
            mark: Mark {
                session: "s".to_owned(),
                call: format!("call-{id}"),
                tool: "t".to_owned(),
            },
            closed: ClosedPlaces::default(),
        }
    }

    async fn start(&self, id: &str, line: &str) -> Session {
        let session = self.power.begin(self.request(id, line)).await.unwrap();
        session.to_background();
        session
    }
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn alive(pid: i32) -> bool {
    crate::process::procfs::stat(pid).is_some_and(|stat| !stat.zombie)
}

#[tokio::test]
async fn a_line_goes_on_and_ends() {
    let place = place(background());
    let session = place
        .start("a", "echo begun; read line; echo got $line; exit 3")
        .await;
    until("begun", || session.tail() == "begun\n").await;
    assert!(session.end().is_none());
    let cancel = CancelToken::new();
    session.write(b"word\n", &cancel).await.unwrap();
    let end = session.ended(None).await;
    assert_eq!((end.exit_code, end.signal.as_deref()), (Some(3), None));
    assert!(!end.timed_out && !end.cancelled && !end.well());
    assert_eq!(session.output(), ("begun\ngot word\n".to_owned(), false));
    let late = session.write(b"more", &cancel).await.unwrap_err();
    assert!(
        late.message.starts_with("the session has already ended"),
        "{late}"
    );
}

#[tokio::test]
async fn signals_reach_everything_it_started() {
    let place = place(background());
    let check = async |id: &str, line: &str, hard: bool, expected: (Option<i32>, Option<&str>)| {
        let session = place.start(id, line).await;
        until("no children", || session.tail().lines().count() == 2).await;
        let pids: Vec<i32> = session
            .tail()
            .lines()
            .map(|line| line.parse().unwrap())
            .collect();
        if hard {
            session.kill();
        } else {
            session.terminate();
        }
        let end = session.ended(None).await;
        assert_eq!((end.exit_code, end.signal.as_deref()), expected, "{line}");
        for pid in pids {
            assert!(!alive(pid), "{line}: {pid}");
        }
    };
    let two = "sleep 1000 & echo $!; setsid sleep 1000 & echo $!; wait";
    check("term", two, false, (None, Some("SIGTERM"))).await;
    check("kill", two, true, (None, Some("SIGKILL"))).await;
    let deaf = format!("trap '' TERM; {two}");
    check("deaf", &deaf, true, (None, Some("SIGKILL"))).await;
    let tidy = format!("trap 'exit 7' TERM; {two}");
    check("tidy", &tidy, false, (Some(7), None)).await;
}

#[tokio::test]
async fn only_the_owner_finds_a_session() {
    let place = place(background());
    let session = place.start("mine", "sleep 1000").await;
    let check = |owner, wanted, found: bool| {
        let result = place.power.session(owner, wanted);
        assert_eq!(result.is_ok(), found, "{owner} {wanted:?}");
    };
    check("s", Wanted::Id("mine"), true);
    check("s", Wanted::Id("call-mine"), true);
    check("s", Wanted::Pid(session.pid()), true);
    check("s", Wanted::Id("other"), false);
    check("s", Wanted::Pid(1), false);
    check("s", Wanted::Pid(std::process::id() as i32), false);
    check("t", Wanted::Id("mine"), false);
    check("t", Wanted::Pid(session.pid()), false);
    assert!(place.power.sessions("t").is_empty());
    // One whose call still waits is nobody's yet.
    let waiting = place
        .power
        .begin(place.request("early", "sleep 1000"))
        .await
        .unwrap();
    check("s", Wanted::Id("early"), false);
    waiting.to_background();
    check("s", Wanted::Id("early"), true);
    let newest: Vec<String> = place
        .power
        .sessions("s")
        .iter()
        .map(|one| one.id().to_owned())
        .collect();
    assert_eq!(newest, ["early", "mine"]);
}

#[tokio::test]
async fn sixty_four_at_once() {
    let place = place(background());
    let mut sessions: Vec<Session> = Vec::new();
    for number in 0..64 {
        let line = format!("echo {number}; read line; seq 1 $line; echo end {number}");
        sessions.push(place.start(&number.to_string(), &line).await);
    }
    for (number, session) in sessions.iter().enumerate() {
        until("begun", || session.tail() == format!("{number}\n")).await;
    }
    assert!(sessions.iter().all(|session| session.end().is_none()));
    assert_eq!(place.power.sessions("s").len(), 64);
    for session in &sessions {
        session
            .write(b"60000\n", &CancelToken::new())
            .await
            .unwrap();
    }
    for (number, session) in sessions.iter().enumerate() {
        let end = session.ended(None).await;
        assert!(end.well() && end.handle.is_some());
        let (output, truncated) = session.output();
        assert!(truncated && output.ends_with(&format!("\n60000\nend {number}\n")));
        assert_eq!(session.log(0, 1).total_lines, 60_002);
    }
}

#[tokio::test]
async fn they_end_with_their_owner() {
    let place = place(background());
    let mut pids: Vec<i32> = Vec::new();
    for number in 0..8 {
        let line = "trap '' TERM; sleep 1000 & wait";
        pids.push(place.start(&number.to_string(), line).await.pid());
    }
    place.power.end_sessions().await;
    assert!(!pids.iter().any(|pid| alive(*pid)));

    let pid = place.start("last", "sleep 1000").await.pid();
    assert!(alive(pid));
    drop(place);
    until("it lives on", || !alive(pid)).await;
    assert!(settle(Duration::from_secs(10)));
}

#[tokio::test]
async fn they_are_forgotten_some_time_after_their_end() {
    let place = place(ProcessConfig {
        retention: Duration::from_millis(20),
        ..background()
    });
    let lasting = place.start("lasting", "sleep 1000").await;
    let session = place.start("short", "true").await;
    session.ended(None).await;
    until("it is still known", || {
        place.power.session("s", Wanted::Id("short")).is_err()
    })
    .await;
    assert!(place.power.session("s", Wanted::Id("lasting")).is_ok());
    assert!(lasting.end().is_none());
}

#[tokio::test]
async fn limits_of_time_and_input() {
    let place = place(background());
    let mut request = place.request("timed", "echo a; sleep 1000");
    request.timeout = Duration::from_millis(200);
    let end = place.power.begin(request).await.unwrap().ended(None).await;
    assert!(end.timed_out && !end.well());

    let mut request = place.request("closed", "cat; echo end");
    request.input = false;
    let session = place.power.begin(request).await.unwrap();
    let closed = session.write(b"x", &CancelToken::new()).await.unwrap_err();
    assert_eq!(closed.code, ErrorCode::ExecutionFailed);
    session.ended(None).await;
    assert_eq!(session.tail(), "end\n");

    // A program that does not read makes the writer wait until it is cancelled.
    let session = place.start("deaf", "sleep 1000").await;
    let cancel = CancelToken::new();
    let big = vec![b'x'; 1 << 20];
    let writing = session.write(&big, &cancel);
    let cancelling = async {
        tokio::task::yield_now().await;
        cancel.cancel();
    };
    let (written, ()) = tokio::join!(writing, cancelling);
    let error = written.unwrap_err();
    assert!(error.message.contains("does not read its input"), "{error}");

    let session = place.start("eof", "cat; echo end").await;
    session.write(b"data\n", &CancelToken::new()).await.unwrap();
    session.close_input().await;
    session.ended(None).await;
    assert_eq!(session.tail(), "data\nend\n");
}

#[tokio::test]
async fn a_session_goes_with_the_call_that_waits_for_it() {
    let place = place(background());
    let cancel = CancelToken::new();
    let mut quiet = |_: &str| {};
    let long = Duration::from_secs(1000);

    let session = place
        .power
        .begin(place.request("a", "sleep 1000"))
        .await
        .unwrap();
    {
        let waiting = session.within(long, &mut quiet, &cancel);
        let given_up = tokio::time::timeout(Duration::from_millis(20), waiting).await;
        assert!(given_up.is_err());
    }
    assert!(session.ended(None).await.cancelled);
    assert!(!alive(session.pid()));

    let session = place
        .power
        .begin(place.request("b", "echo b"))
        .await
        .unwrap();
    let mut heard = String::new();
    let mut live = |text: &str| heard.push_str(text);
    let finished = session.within(long, &mut live, &cancel).await.unwrap();
    assert_eq!(finished.unwrap().output, "b\n");
    assert_eq!(heard, "b\n");

    let session = place
        .power
        .begin(place.request("c", "sleep 1000"))
        .await
        .unwrap();
    cancel.cancel();
    let finished = session.within(long, &mut quiet, &cancel).await.unwrap();
    assert!(finished.unwrap().cancelled);
}

#[tokio::test]
async fn programs_without_a_shell() {
    let place = place(background());
    let argv = |words: &[&str]| SessionRequest {
        program: Program::Argv(words.iter().map(|word| (*word).to_owned()).collect()),
        ..place.request("argv", "")
    };
    let session = place
        .power
        .begin(argv(&["printf", "%s\\n", "$HOME; ls", "*"]))
        .await
        .unwrap();
    assert!(session.ended(None).await.well());
    assert_eq!(session.tail(), "$HOME; ls\n*\n");
    let error = place
        .power
        .begin(argv(&["no-such-program"]))
        .await
        .unwrap_err();
    assert_eq!(error.message, "no such program: `no-such-program`");
}

#[tokio::test]
async fn a_process_that_ends_soon_has_no_sessions() {
    let place = place(ProcessConfig::default());
    let error = place
        .power
        .begin(place.request("a", "true"))
        .await
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::NotAvailable);
    assert!(error.into_body().hint.unwrap().contains("haft batch"));
}

/// Who asks for a time gets no more than the configuration allows; who asks for none has none.
#[tokio::test]
async fn a_time_that_is_asked_for_is_bound_by_the_configuration() {
    let place = place(ProcessConfig {
        max_timeout: Duration::from_millis(200),
        ..background()
    });
    let asked = SessionRequest {
        timeout: Duration::from_secs(3000),
        ..place.request("asked", "sleep 1000")
    };
    let end = place.power.begin(asked).await.unwrap().ended(None).await;
    assert!(end.timed_out);
    assert_eq!(end.timeout, Duration::from_millis(200));
    let session = place.start("free", "read line").await;
    session.close_input().await;
    let end = session.ended(None).await;
    assert_eq!(end.timeout, LONGEST_TIMEOUT);
}
