//! How far commands are shut in: by default, by config, and where the machine cannot.

use std::fs;

use serde_json::{Value, json};

use crate::place::{HAFT, Place, finish, text, verdict};

fn run(place: &Place, command: &str) -> Value {
    place.call("shell.exec", &json!({ "command": command }), &["--yes"])
}

#[test]
fn commands_are_shut_in_unless_the_owner_says_otherwise() {
    let place = Place::new();
    let outside = place.beside("outside");
    let line = format!("echo in > inside; echo out > {}", outside.display());
    let outcome = run(&place, &line);
    assert_eq!(outcome["structured"]["isolation"], "sandboxed", "{outcome}");
    assert_eq!(place.read("inside"), "in\n");
    assert!(!outside.exists());

    place.config("isolation: {level: shared}\n");
    let outcome = run(&place, &line);
    assert_eq!(outcome["structured"]["isolation"], "shared", "{outcome}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "out\n");
}

/// Shut in for good: no file of the workspace by any tool, and it is said that work is not kept.
#[test]
fn an_air_gapped_caller_has_no_files() {
    let place = Place::with_config("isolation: {level: air-gapped}\n");
    place.file("sub/a", "one");
    let line = json!({"command": "echo x > made; cat made a; pwd", "cwd": "sub"});
    let outcome = place.call("shell.exec", &line, &["--yes"]);
    assert_eq!(
        outcome["structured"]["isolation"], "air-gapped",
        "{outcome}"
    );
    assert_eq!(outcome["structured"]["workKept"], false, "{outcome}");
    let told = text(&outcome);
    assert!(told.starts_with("x\ncat: "), "{told}");
    assert!(told.contains("/sub\n"), "{told}");
    assert!(told.ends_with("what it writes is not kept]"), "{told}");
    assert!(!place.workspace.join("sub/made").exists());
    for (tool, args) in [
        ("file.read", json!({"path": "sub/a"})),
        ("file.write", json!({"path": "b", "content": "x"})),
        ("file.list", json!({})),
        ("file.grep", json!({"pattern": "one"})),
        ("git.status", json!({})),
    ] {
        let outcome = place.call(tool, &args, &["--yes"]);
        assert_eq!(verdict(&outcome), "not_available", "{tool}: {outcome}");
        let message = outcome["error"]["message"].to_string();
        assert!(
            message.contains("air-gapped caller has no files"),
            "{message}"
        );
    }
    assert!(!place.workspace.join("b").exists());
}

/// Hosts come with the tools for HTTP: to ask for them before is no mistake.
#[test]
fn allowed_hosts_are_not_available_yet() {
    let place = Place::with_config("isolation: {allowedHosts: [example.org]}\n");
    let args = json!({"command": "true"});
    let outcome = place.call("shell.exec", &args, &["--yes"]);
    assert_eq!(verdict(&outcome), "not_available", "{outcome}");
    // A mistake besides is a mistake.
    place.config("isolation: {allowedHosts: [], levle: shared}\n");
    let outcome = place.call("shell.exec", &args, &["--yes"]);
    assert_eq!(verdict(&outcome), "execution_failed", "{outcome}");
}

/// A workspace that comes from elsewhere cannot open what is shut.
#[test]
fn an_untrusted_project_cannot_open_the_sandbox() {
    let place = Place::new();
    place.file(
        "haft.yaml",
        "isolation: {level: shared, without: [no-landlock]}\n",
    );
    let outcome = run(&place, "true");
    assert_eq!(outcome["structured"]["isolation"], "sandboxed", "{outcome}");
    let ran = place.run(["doctor"]);
    ran.says("`isolation.level` in `haft.yaml` is ignored")
        .says("`isolation.without` in `haft.yaml` is ignored")
        .says("sandboxed: commands write the workspace only");
}

#[test]
fn background_commands_are_shut_in_too() {
    let place = Place::new();
    let outside = place.beside("outside");
    let line = format!("echo x > {}; echo ran", outside.display());
    let outcomes = place.batch(
        &json!([
            {"name": "process.start", "args": {"command": line}},
            {"name": "shell.exec", "args": {"command": line, "yieldMs": 120_000}},
        ]),
        &["--yes"],
    );
    for outcome in &outcomes {
        assert_eq!(outcome["structured"]["isolation"], "sandboxed", "{outcome}");
    }
    assert!(text(&outcomes[1]).contains("ran"), "{}", outcomes[1]);
    assert!(!outside.exists());
}

/// haft inside a command finds neither its owner's config nor a way to shut anything in, and
/// says how its owner could do with less.
#[test]
fn where_the_machine_cannot_it_is_refused_with_a_way_out() {
    let place = Place::with_config("tools: {deny: [system.info]}\n");
    // Where a command sees it, wherever it was built.
    fs::copy(HAFT, place.workspace.join("tool")).unwrap();
    let inner = |arguments: &str| {
        let line = format!("unset HAFT_CALL; HAFT_HOME=/tmp/inner ./tool {arguments}");
        text(&run(&place, &line))
    };
    let told = inner(r#"call shell.exec '{"command":"echo ran"}' --yes --json"#);
    let outcome: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    assert_eq!(verdict(&outcome), "not_available", "{outcome}");
    let hint = outcome["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("isolation: {level: shared}"), "{hint}");
    let told = inner("doctor");
    assert!(told.contains("every command is refused"), "{told}");
    assert!(told.contains("user namespace no"), "{told}");
    assert!(!told.contains("system.info"), "{told}");
}

#[test]
fn git_works_from_the_first_init_on() {
    let place = Place::new();
    let outcome = run(
        &place,
        "git init -q -b main && git config user.name n && git config user.email e && \
         git add -A && git commit -qm first",
    );
    assert_eq!(verdict(&outcome), "ok", "{outcome}");
    let outcome = place.call("git.status", &json!({}), &[]);
    assert_eq!(verdict(&outcome), "ok", "{outcome}");
    let outcome = run(&place, "git clone -q . copy && ls copy");
    assert_eq!(text(&outcome), "README.md\n", "{outcome}");
    let outcome = run(&place, "echo evil > .git/hooks/pre-commit");
    assert_eq!(verdict(&outcome), "execution_failed", "{outcome}");
}

/// The toolchains of whoever runs this, in their own home, with nothing else of it to be seen.
#[test]
fn ordinary_tools_work_although_the_home_is_out_of_sight() {
    let place = Place::new();
    let home = std::env::var_os("HOME").unwrap();
    let run = |command: &str| {
        let args = json!({ "command": command }).to_string();
        let mut haft = place.haft();
        haft.args(["call", "shell.exec", &args, "--yes", "--json"]);
        haft.env("HOME", &home);
        for name in ["CARGO_HOME", "RUSTUP_HOME"] {
            haft.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        finish(&mut haft).json()
    };
    place.file(
        "Cargo.toml",
        "[package]\nname = \"p\"\nedition = \"2024\"\n",
    );
    place.file("src/main.rs", "fn main() { println!(\"built\") }\n");
    for (command, expected) in [
        ("cargo run -q --offline --target-dir t", "built\n"),
        (
            "git init -q -b main && git status -s Cargo.toml",
            "?? Cargo.toml\n",
        ),
        ("python3 -c 'import json; print(json.dumps([1]))'", "[1]\n"),
        (
            "if command -v npm >/dev/null; then npm --version >/dev/null; fi; echo $?",
            "0\n",
        ),
    ] {
        let outcome = run(command);
        assert_eq!(text(&outcome), expected, "{outcome}");
    }
    let seen = text(&run("ls -A ~; ls -A ~/.config ~/.ssh 2>/dev/null; true"));
    for hidden in [
        ".bashrc", ".profile", ".npmrc", ".haft", ".ssh", "gh", "claude",
    ] {
        assert!(!seen.lines().any(|name| name == hidden), "{seen}");
    }
}

/// What stands in the workspace while a command runs goes with it, also when its end is forced.
#[test]
fn a_command_that_is_killed_leaves_no_repository_behind() {
    let place = Place::with_config("isolation: {level: sandboxed}\n");
    let deaf = |then: &str| format!("trap '' TERM; {then} sleep 1000");
    let git = place.workspace.join(".git");
    let late = json!({"command": deaf(""), "timeout": 200});
    let outcome = place.call("shell.exec", &late, &["--yes"]);
    assert_eq!(verdict(&outcome), "timed_out", "{outcome}");
    assert!(!git.exists());
    let waits = "until [ -e up ]; do sleep 0.02; done";
    place.batch(
        &json!([
            {"name": "process.start", "args": {"command": deaf("touch up;")}},
            {"name": "shell.exec", "args": {"command": waits}},
        ]),
        &["--yes"],
    );
    assert!(place.workspace.join("up").exists() && !git.exists());
}
