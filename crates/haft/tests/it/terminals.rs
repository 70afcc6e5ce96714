//! Commands at a terminal of their own.

use serde_json::json;

use crate::place::{LEVELS, Place, processes_with, text, verdict, wait_for};

#[test]
fn a_command_can_have_a_terminal_of_its_own() {
    for level in LEVELS {
        let place = Place::with_config(level);
        let run = |line: &str| {
            let args = json!({"command": line, "pty": true, "columns": 100, "rows": 30});
            place.call("shell.exec", &args, &["--yes"])
        };
        let check = |line: &str, output: &str| {
            let outcome = run(line);
            assert_eq!(verdict(&outcome), "ok", "{level} {line}: {outcome}");
            let found = outcome["structured"]["output"].as_str().unwrap();
            assert_eq!(found.replace("\r\n", "\n"), output, "{level} {line}");
        };
        check(
            "test -t 0 && test -t 1 && test -t 2 && stty size",
            "30 100\n",
        );
        check("echo painted > /dev/tty; echo err >&2", "painted\nerr\n");
        check("cat; echo end", "end\n");
        let outcome = run("kill -INT $$");
        assert_eq!(outcome["structured"]["signal"], "SIGINT", "{outcome}");
        let args = json!({"command": "test -t 0 || test -t 1 || test -t 2 || echo none"});
        let outcome = place.call("shell.exec", &args, &["--yes"]);
        assert_eq!(text(&outcome), "none\n", "{level}");
    }
}

/// Whatever sits at a terminal ends with its call, also who left it.
#[test]
fn nothing_stays_at_a_terminal() {
    for (n, level) in LEVELS.into_iter().enumerate() {
        let place = Place::with_config(level);
        let marker = format!("554{n}.{}", std::process::id());
        let line =
            format!("trap '' HUP TERM; sleep {marker} & (setsid sleep {marker} &); sleep {marker}");
        let args = json!({"command": line, "pty": true, "timeout": 500});
        let outcome = place.call("shell.exec", &args, &["--yes"]);
        assert_eq!(verdict(&outcome), "timed_out", "{outcome}");
        wait_for("the terminal to be left", || {
            processes_with(&marker).is_empty().then_some(())
        });
    }
}
