//! Background sessions as a caller sees them, object by object.

use std::time::{Duration, Instant};

use haft_core::{CommandLine, ErrorCode, Mode, Output};
use haft_host::ProcessConfig;
use serde_json::{Value, json};

use super::told;
use crate::shell::tests::{Fixture, fixture_with, text};

fn fixture() -> Fixture {
    let config = ProcessConfig {
        background: true,
        ..ProcessConfig::default()
    };
    fixture_with(config, true)
}

async fn ok(fixture: &Fixture, tool: &str, args: Value) -> Value {
    let output = fixture.call(tool, &args).await.unwrap();
    assert!(output.error.is_none(), "{tool} {args}: {output:?}");
    output.into_body().structured.unwrap()
}

async fn code(fixture: &Fixture, tool: &str, args: Value) -> ErrorCode {
    fixture.call(tool, &args).await.unwrap_err().code
}

/// Poll until the condition holds.
async fn until(fixture: &Fixture, id: &Value, condition: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let polled = ok(fixture, "process.poll", json!({ "sessionId": id })).await;
        if condition(&polled) {
            return polled;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{polled}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Take the fields that are different each time out, and look at them.
fn settled(mut value: Value) -> Value {
    let object = value.as_object_mut().unwrap();
    let id = object.shift_remove("sessionId").unwrap();
    let version = uuid::Uuid::parse_str(id.as_str().unwrap()).unwrap();
    assert_eq!(version.get_version_num(), 7);
    if let Some(pid) = object.shift_remove("pid") {
        assert!(pid.as_u64().unwrap() > 1);
    }
    let begun = object.shift_remove("startedAt").unwrap().as_u64().unwrap();
    assert!(begun > 1_700_000_000_000, "milliseconds, not seconds");
    if let Some(ended) = object.shift_remove("endedAt").and_then(|at| at.as_u64()) {
        let duration = object.shift_remove("durationMs").unwrap();
        assert_eq!(ended - begun, duration.as_u64().unwrap());
    }
    value
}

#[tokio::test]
async fn a_running_command_field_by_field() {
    let fixture = fixture();
    let args = json!({"command": "sleep 1000", "background": true, "cwd": "sub"});
    let running = ok(&fixture, "shell.exec", args).await;
    let expected = json!({
        "status": "running",
        "tail": "",
        "workdir": fixture.work.join("sub").to_str(),
        "isolation": "shared",
    });
    assert_eq!(settled(running.clone()), expected);
    let polled = ok(
        &fixture,
        "process.poll",
        json!({"sessionId": running["sessionId"]}),
    )
    .await;
    assert_eq!(
        settled(polled),
        json!({
            "status": "running",
            "running": true,
            "exitCode": null,
            "signal": null,
            "timedOut": false,
            "durationMs": null,
            "command": "sleep 1000",
            "workdir": fixture.work.join("sub").to_str(),
            "isolation": "shared",
            "tail": "",
            "totalChars": 0,
            "handle": null,
        })
    );
}

#[tokio::test]
async fn a_yield_answers_with_whichever_comes_first() {
    let fixture = fixture();
    let quick = json!({"command": "echo quick; exit 3", "yieldMs": 60_000});
    let output = fixture.call("shell.exec", &quick).await.unwrap();
    assert_eq!(text(&output), "quick\n[command exited with code 3]");
    assert_eq!(
        settled(output.into_body().structured.unwrap()),
        json!({
            "status": "failed",
            "exitCode": 3,
            "signal": null,
            "timedOut": false,
            "output": "quick\n",
            "tail": "quick\n",
            "truncated": false,
            "workdir": fixture.work.to_str(),
            "isolation": "shared",
        })
    );
    assert_eq!(
        ok(&fixture, "process.list", json!({})).await,
        json!({"sessions": []})
    );

    // Less than 10 ms is 10 ms.
    let slow = json!({"command": "echo slow; sleep 1000", "yieldMs": 0});
    let running = ok(&fixture, "shell.exec", slow).await;
    assert_eq!(running["status"], "running");
    until(&fixture, &running["sessionId"], |polled| {
        polled["tail"] == "slow\n"
    })
    .await;
    let listed = ok(&fixture, "process.list", json!({})).await;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn long_output_within_the_window_is_whole_behind_the_handle() {
    let fixture = fixture();
    let args = json!({"command": "seq 1 60000", "yieldMs": 120_000});
    let output = fixture.call("shell.exec", &args).await.unwrap();
    assert!(output.handle.is_some());
    assert_eq!(output.total_chars, Some(348_894));
    let structured = output.structured.as_ref().unwrap();
    assert_eq!(structured["truncated"], true);
    assert_eq!(structured["output"].as_str().unwrap().len(), 200_000);
}

#[tokio::test]
async fn every_action_of_process() {
    let fixture = fixture();
    let line = "echo ready; while read line; do echo got $line; done";
    let args = json!({"command": line, "background": true});
    let id = ok(&fixture, "shell.exec", args).await["sessionId"].clone();
    until(&fixture, &id, |polled| polled["tail"] == "ready\n").await;

    let act = async |action: &str, more: Value| {
        let mut args = json!({"action": action, "sessionId": id});
        for (key, value) in more.as_object().unwrap() {
            args[key] = value.clone();
        }
        ok(&fixture, "Process", args).await
    };
    assert_eq!(
        act("write", json!({"data": "a"})).await,
        json!({"sessionId": id, "status": "running", "written": 1})
    );
    assert_eq!(
        act("submit", json!({"data": "b"})).await,
        json!({"sessionId": id, "status": "running", "written": 2})
    );
    act("submit", json!({})).await;
    until(&fixture, &id, |polled| {
        polled["tail"] == "ready\ngot ab\ngot\n"
    })
    .await;
    assert_eq!(
        act("log", json!({"offset": 1, "limit": 1})).await,
        json!({
            "sessionId": id,
            "status": "running",
            "running": true,
            "output": "got ab",
            "offset": 1,
            "limit": 1,
            "lines": 1,
            "totalLines": 3,
            "totalChars": 17,
            "droppedLines": 0,
            "truncated": false,
        })
    );
    assert_eq!(act("log", json!({})).await["limit"], 200);
    let listed = ok(&fixture, "Process", json!({"action": "list"})).await;
    assert_eq!(listed["sessions"][0]["sessionId"], id);
    assert_eq!(act("poll", json!({})).await["running"], true);

    let killed = act("kill", json!({})).await;
    assert_eq!(
        (&killed["killed"], &killed["sent"], &killed["status"]),
        (&json!(true), &json!("SIGKILL"), &json!("failed"))
    );
    assert_eq!(killed["signal"], "SIGKILL");
    assert_eq!(killed["running"], false);
    assert_eq!(act("kill", json!({})).await["killed"], false);
    for action in ["write", "submit"] {
        let args = json!({"action": action, "sessionId": id, "data": "x"});
        assert_eq!(
            code(&fixture, "Process", args).await,
            ErrorCode::ExecutionFailed
        );
    }
    let listed = ok(&fixture, "process.list", json!({})).await;
    assert_eq!(listed["sessions"][0]["status"], "failed");
}

#[tokio::test]
async fn errors_as_the_documents_have_them() {
    let fixture = fixture();
    for action in ["poll", "log", "write", "submit", "kill"] {
        let without = json!({ "action": action });
        assert_eq!(
            code(&fixture, "Process", without).await,
            ErrorCode::InputInvalid
        );
        let unknown = json!({"action": action, "sessionId": "nobody"});
        assert_eq!(
            code(&fixture, "Process", unknown).await,
            ErrorCode::ExecutionFailed
        );
    }
    for tool in ["process.status", "process.kill"] {
        let not_ours = json!({"pid": std::process::id()});
        assert_eq!(
            code(&fixture, tool, not_ours).await,
            ErrorCode::ExecutionFailed
        );
        assert_eq!(
            code(&fixture, tool, json!({})).await,
            ErrorCode::InputInvalid
        );
    }
    let args = json!({"command": "cat", "background": true, "stdin": false});
    let id = ok(&fixture, "shell.exec", args).await["sessionId"].clone();
    let done = until(&fixture, &id, |polled| polled["running"] == false).await;
    assert_eq!(done["status"], "completed");
    let zero = json!({"sessionId": id, "limit": 0});
    assert_eq!(
        code(&fixture, "process.log", zero).await,
        ErrorCode::InputInvalid
    );
    let two = json!({"sessionId": id, "pid": 1});
    assert_eq!(
        code(&fixture, "process.poll", two).await,
        ErrorCode::InputInvalid
    );
}

#[tokio::test]
async fn a_process_by_its_pid() {
    let fixture = fixture();
    let args = json!({"command": "sh", "args": ["-c", "trap 'echo bye; exit 4' TERM; echo up; while :; do sleep 0.01; done"]});
    let started = ok(&fixture, "process.start", args).await;
    assert_eq!(started["status"], "running");
    let pid = &started["pid"];
    until(&fixture, &started["sessionId"], |polled| {
        polled["tail"] == "up\n"
    })
    .await;
    let status = ok(&fixture, "process.status", json!({ "pid": pid })).await;
    assert_eq!((&status["running"], &status["pid"]), (&json!(true), pid));
    let killed = ok(&fixture, "process.kill", json!({ "pid": pid })).await;
    assert_eq!(killed["sent"], "SIGTERM");
    assert_eq!(
        (&killed["exitCode"], &killed["signal"]),
        (&json!(4), &Value::Null)
    );
    assert!(killed["tail"].as_str().unwrap().ends_with("bye\n"));
    // Also by the call that started it.
    let by_call = ok(&fixture, "process.poll", json!({"sessionId": "c"})).await;
    assert_eq!(by_call["sessionId"], started["sessionId"]);
}

#[tokio::test]
async fn without_a_lasting_process_nothing_goes_on() {
    let fixture = fixture_with(ProcessConfig::default(), true);
    let refused = |output: Result<Output, haft_core::ToolError>| match output {
        Err(error) => error,
        Ok(output) => output.into_body().error.unwrap(),
    };
    for (tool, args) in [
        ("shell.exec", json!({"command": "true", "background": true})),
        ("process.start", json!({"command": "true"})),
    ] {
        let error = refused(fixture.call(tool, &args).await);
        assert_eq!(error.code, ErrorCode::NotAvailable, "{tool} {args}");
        assert!(error.into_body().hint.unwrap().contains("haft batch"));
    }
    let slow = json!({"command": "sleep 0.1; echo done", "yieldMs": 10});
    assert_eq!(ok(&fixture, "shell.exec", slow).await["output"], "done\n");
}

#[tokio::test]
async fn policy_is_told_what_runs() {
    let fixture = fixture();
    let effects = |tool: &str, args: Value| {
        let cx = fixture.context(tool);
        let tool = super::pack()
            .tools
            .into_iter()
            .find(|one| &*one.spec().name == tool)
            .unwrap();
        tool.prepare(&args).unwrap().effects(&cx).unwrap()
    };
    let argv = |words: &[&str]| CommandLine::Argv {
        argv: words.iter().map(|word| (*word).to_owned()).collect(),
        cwd: fixture.work.clone(),
    };
    let line = |line: &str| CommandLine::Shell {
        line: line.to_owned(),
        cwd: fixture.work.clone(),
    };
    let start = json!({"command": "rm", "args": ["-rf", "a b"]});
    assert_eq!(
        effects("process.start", start).commands,
        [argv(&["rm", "-rf", "a b"])]
    );
    assert_eq!(
        effects("process.start", json!({"command": "rm x"})).commands,
        [line("rm x")]
    );
    let args = json!({"command": "sh", "background": true});
    let started = ok(&fixture, "shell.exec", args).await;
    let id = &started["sessionId"];
    assert_eq!(
        effects("process.submit", json!({"sessionId": id, "data": "rm x"})).commands,
        [line("rm x")]
    );
    assert_eq!(
        effects(
            "process.manage",
            json!({"action": "write", "sessionId": id, "data": "rm x\n"})
        )
        .commands,
        [line("rm x\n")]
    );
    assert_eq!(
        effects("process.kill", json!({ "sessionId": id })).commands,
        [argv(&["kill", "-s", "SIGTERM", id.as_str().unwrap()])]
    );
    // Looking on waits for what was started before it, and needs no permission.
    for (tool, args) in [
        ("process.list", json!({})),
        ("process.poll", json!({ "sessionId": id })),
        ("process.manage", json!({"action": "log", "sessionId": id})),
    ] {
        let effects = effects(tool, args);
        assert!(effects.commands.is_empty() && !effects.anything);
        assert_eq!(effects.accesses.len(), 1);
        assert_eq!(effects.accesses[0].mode, Mode::Read);
        assert_eq!(effects.accesses[0].resource, told::sessions());
    }
}
