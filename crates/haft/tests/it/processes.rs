//! Output while it comes, and the environment that commands see.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::json;

use crate::place::{LEVELS, Place, finish, text, verdict};
use crate::pty::Terminal;

#[test]
fn the_first_line_of_a_slow_command_is_seen_before_it_ends() {
    let place = Place::new();
    // The command ends only after the test has seen its first line.
    let command = "echo first; while [ ! -e seen ]; do sleep 0.02; done; echo last";
    let args = json!({ "command": command }).to_string();
    let mut terminal = Terminal::start(&place, &["call", "shell.exec", &args, "--yes"], &[]);
    let shown = terminal.until("first");
    assert!(!shown.contains("last"), "{shown}");
    place.file("seen", "");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(shown.matches("first").count(), 1, "shown once: {shown:?}");
    assert_eq!(shown.matches("last").count(), 1, "shown once: {shown:?}");
}

/// Of many calls at once, each line says whose it is, and nothing is shown twice.
#[test]
fn live_lines_of_a_batch_are_labelled() {
    let place = Place::new();
    let calls = json!([
        {"id": "a", "name": "shell.exec", "args": {"command": "echo one; printf two"}},
        {"id": "b", "name": "shell.exec", "args": {"command": "echo three; exit 3"}},
        {"id": "c", "name": "file.read", "args": {"path": "README.md"}},
    ]);
    let file = place.file("calls.json", calls.to_string());
    let args = ["batch", file.to_str().unwrap(), "--yes"];
    let (code, shown) = Terminal::start(&place, &args, &[("NO_COLOR", "1")]).end();
    assert_eq!(code, 1, "{shown}");
    for line in [
        "a: one\r\n",
        "a: two\r\n",
        "b: three\r\n",
        "a shell.exec ok",
        "b shell.exec failed",
        "exited with code 3",
    ] {
        assert_eq!(shown.matches(line).count(), 1, "{line:?}: {shown}");
    }
    assert_eq!(shown.matches("one").count(), 1, "{shown}");
    assert_eq!(shown.matches("# a workspace").count(), 1, "{shown}");
}

#[test]
fn live_output_ends_its_last_line() {
    let place = Place::new();
    let args = json!({"command": "printf half; exit 3"}).to_string();
    let (_, shown) = Terminal::start(
        &place,
        &["call", "shell.exec", &args, "--yes"],
        &[("NO_COLOR", "1")],
    )
    .end();
    assert!(shown.contains("half\r\nerror: "), "{shown:?}");
}

/// More than the terminal takes in time is shown in the end.
#[test]
fn a_flood_is_never_lost_silently() {
    let place = Place::new();
    let args = json!({"command": "seq 1 300000; echo the end"}).to_string();
    let (code, shown) = Terminal::start(&place, &["call", "shell.exec", &args, "--yes"], &[]).end();
    assert_eq!(code, 0);
    let complete = shown.contains("\n150000\r\n") && shown.contains("\n299999\r\n");
    assert!(complete || shown.contains("too fast"), "{}", shown.len());
    assert!(shown.contains("the end"), "{}", shown.len());
}

#[test]
fn live_output_cannot_repaint_the_terminal() {
    let place = Place::new();
    let args = json!({"command": r"printf 'a\033[2Jb\n'"}).to_string();
    let (code, shown) = Terminal::start(&place, &["call", "shell.exec", &args, "--yes"], &[]).end();
    assert_eq!(code, 0);
    assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
}

#[test]
fn json_on_a_terminal_is_not_mixed_with_live_output() {
    let place = Place::new();
    let args = json!({"command": "echo hello"}).to_string();
    let (code, shown) = Terminal::start(
        &place,
        &["call", "shell.exec", &args, "--yes", "--json"],
        &[],
    )
    .end();
    assert_eq!(code, 0);
    let outcome: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(text(&outcome), "hello\n");
}

#[test]
fn commands_see_no_secrets_of_the_environment() {
    let place = Place::with_config("isolation: {envVars: [WANTED_TOKEN]}\n");
    let mut command = place.haft();
    for name in [
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "MY_PASSWORD",
        "LD_PRELOAD_X",
        "BASH_ENV",
        "PROMPT_COMMAND",
        "http_proxy",
        "WANTED_TOKEN",
    ] {
        command.env(name, format!("leaked-{name}"));
    }
    let args = json!({"command": "env"}).to_string();
    command.args(["call", "shell.exec", &args, "--yes", "--json"]);
    let outcome = finish(&mut command).exits(0).json();
    let seen = outcome["structured"]["output"].as_str().unwrap();
    assert!(seen.contains("PATH="), "{seen}");
    for line in seen.lines().filter(|line| line.contains("leaked-")) {
        assert!(line.starts_with("WANTED_TOKEN="), "{line}");
    }
    assert!(seen.contains("WANTED_TOKEN="), "{seen}");
}

/// Where nothing keeps a command from looking at other processes, it finds nothing in ours.
#[test]
fn commands_see_no_secrets_of_running_processes() {
    for level in ["shared", "scoped"] {
        // Others on this machine have secrets of their own.
        let mark = format!("leaked-{}-{level}", std::process::id());
        let everybody = format!(
            "cat /proc/$PPID/environ /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a {mark}"
        );
        let config = format!("isolation: {{level: {level}, envVars: [WANTED_TOKEN]}}\n");
        let place = Place::with_config(&config);
        let mut command = place.haft();
        for name in ["GITHUB_TOKEN", "DATABASE_URL", "WANTED_TOKEN"] {
            command.env(name, &mark);
        }
        let args = json!({ "command": everybody }).to_string();
        command.args(["call", "shell.exec", &args, "--yes", "--json"]);
        let outcome = finish(&mut command).exits(0).json();
        let seen = outcome["structured"]["output"].as_str().unwrap();
        // Its own, which it may see.
        assert!(seen.contains("WANTED_TOKEN="), "{level}: {seen}");
        assert!(!seen.contains("GITHUB_TOKEN="), "{level}: {seen}");
        assert!(!seen.contains("DATABASE_URL="), "{level}: {seen}");
    }
}

/// By its tag a haft is found when the call ends that runs it.
#[test]
fn the_tag_of_the_call_around_it_stays_in_sight() {
    let place = Place::new();
    let mut command = place.haft();
    command.env("HAFT_CALL", "outer").env("MY_TOKEN", "leaked");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.arg("mcp").spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    writeln!(input, "{ping}").unwrap();
    let mut answer = String::new();
    BufReader::new(output).read_line(&mut answer).unwrap();
    let shown = std::fs::read(format!("/proc/{}/environ", child.id())).unwrap();
    drop(input);
    child.wait().unwrap();
    let shown: Vec<&[u8]> = shown.split(|byte| *byte == 0).collect();
    let shown: Vec<&[u8]> = shown.into_iter().filter(|one| !one.is_empty()).collect();
    assert_eq!(shown, [b"HAFT_CALL=outer"], "{answer}");
}

#[test]
fn a_command_has_no_input_and_keeps_its_order() {
    let place = Place::new();
    let outcome = place.call(
        "shell.exec",
        &json!({"command": "cat; echo out; echo err >&2; echo out2"}),
        &["--yes"],
    );
    assert_eq!(verdict(&outcome), "ok");
    assert_eq!(text(&outcome), "out\nerr\nout2\n");
}

/// What a command leaves running in the background ends with the call.
#[test]
fn nothing_stays_behind() {
    for (n, level) in LEVELS.into_iter().enumerate() {
        stays_behind(&Place::with_config(level), n);
    }
}

fn stays_behind(place: &Place, n: usize) {
    let marker = format!("739{n}.{}", std::process::id());
    let command = format!(
        "sleep {marker} & (setsid sleep {marker} &) ; nohup sleep {marker} >/dev/null 2>&1 & echo started"
    );
    let outcome = place.call("shell.exec", &json!({ "command": command }), &["--yes"]);
    assert_eq!(text(&outcome), "started\n", "{outcome}");
    crate::place::wait_for("the background to end", || {
        crate::place::processes_with(&marker)
            .is_empty()
            .then_some(())
    });
}

/// A reader that goes away, as `head` does, is no failure to shout about.
#[test]
fn a_closed_pipe_is_quiet() {
    let place = Place::new();
    place.file("long", "word word\n".repeat(6000));
    for args in [
        &["call", "file.read", r#"{"path":"long"}"#][..],
        &["tools"],
        &["tools", "--json"],
        &["doctor"],
        &["completions", "bash"],
        &["config", "schema"],
    ] {
        let mut child = place.haft().args(args).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(
            !err.contains("panicked") && !err.contains("Broken pipe"),
            "{args:?}: {err}"
        );
    }
}

#[test]
fn secrets_in_results_are_masked() {
    let place = Place::new();
    let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    place.file("notes.txt", format!("token: {key}\n"));
    for (tool, args) in [
        ("file.read", json!({"path": "notes.txt"})),
        ("shell.exec", json!({"command": "cat notes.txt"})),
    ] {
        let outcome = place.call(tool, &args, &["--yes"]);
        assert_eq!(verdict(&outcome), "ok");
        assert!(!outcome.to_string().contains(&key), "{tool}: {outcome}");
    }
}
