//! The environment of a login shell, as commands see it.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::place::{Place, processes_with, text, verdict, wait_for};

/// A shell that every machine has.
fn haft(place: &Place) -> Command {
    let mut command = place.haft();
    command.env("SHELL", "/bin/sh");
    command
}

fn profile(place: &Place, lines: &str) {
    fs::write(place.beside("person/.profile"), lines).unwrap();
}

/// What a line says.
fn said(place: &Place, line: &str) -> String {
    let args = json!({ "command": line }).to_string();
    let output = haft(place)
        .args(["call", "shell.exec", &args, "--yes", "--json"])
        .output()
        .unwrap();
    let outcome = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict(&outcome), "ok", "{outcome}");
    text(&outcome)
}

const SHOW: &str = "echo $EDITOR ${GITHUB_TOKEN-none} ${OTHER-none}; command -v tool || true";

#[test]
fn start_up_files_count_and_their_noise_does_not() {
    for level in crate::place::LEVELS {
        let place = Place::with_config(level);
        let bin = place.file("bin/tool", "#!/bin/sh\n");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&bin, mode).unwrap();
        profile(
            &place,
            &format!(
                "echo noise; echo more >&2; printf 'no line end'\n\
                 export EDITOR='from a profile' GITHUB_TOKEN=secret OTHER=x\n\
                 export PATH=\"{}:$PATH\"\nset -x\n",
                bin.parent().unwrap().display()
            ),
        );
        let expected = format!("from a profile none none\n{}\n", bin.display());
        assert_eq!(said(&place, SHOW), expected, "{level}");
    }
}

#[test]
fn start_up_files_run_once_and_again_when_they_change() {
    let place = Place::new();
    let count = place.beside("person/count");
    let counting = |editor: &str| {
        profile(
            &place,
            &format!("echo x >> {}\nexport EDITOR={editor}\n", count.display()),
        );
    };
    let runs = || {
        fs::read_to_string(&count)
            .unwrap_or_default()
            .lines()
            .count()
    };
    counting("one");
    for _ in 0..3 {
        assert_eq!(said(&place, "echo $EDITOR"), "one\n");
    }
    assert_eq!(runs(), 1);
    counting("another");
    assert_eq!(said(&place, "echo $EDITOR"), "another\n");
    assert_eq!(runs(), 2);
    place.config("shell: {login: false}\n");
    counting("third");
    assert_eq!(said(&place, "echo ${EDITOR-none}"), "none\n");
    assert_eq!(runs(), 2);
}

/// Whatever a profile does, commands still run, and `haft doctor` tells.
#[test]
fn a_profile_that_hangs_or_ends_the_shell_is_done_without() {
    let place = Place::with_config("shell: {login_timeout_ms: 300}\n");
    let marker = format!("6543.{}", std::process::id());
    for (lines, trouble) in [
        (
            format!("export EDITOR=x\nsleep {marker}\n"),
            "longer than 300 ms",
        ),
        (
            format!("trap '' TERM\nsleep {marker} & wait\n"),
            "longer than 300 ms",
        ),
        ("export EDITOR=x\nexit 0\n".to_owned(), "end it before"),
        ("exec true\n".to_owned(), "end it before"),
    ] {
        profile(&place, &lines);
        assert_eq!(said(&place, "echo ${EDITOR-none}"), "none\n", "{lines}");
        let doctor = haft(&place).arg("doctor").output().unwrap();
        let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(doctor.contains(trouble), "{lines}: {doctor}");
    }
    wait_for("the profile's programs to end", || {
        processes_with(&marker).is_empty().then_some(())
    });
}

/// What the owner lets through is read by each process and not written down.
#[test]
fn a_secret_of_a_profile_is_not_kept() {
    let place = Place::with_config("isolation: {envVars: [OTHER_TOKEN]}\n");
    let secret = "correct-horse-battery";
    profile(&place, &format!("export OTHER_TOKEN={secret}\n"));
    let length = format!("{}\n", secret.len());
    assert_eq!(said(&place, "echo ${#OTHER_TOKEN}"), length);
    assert_eq!(said(&place, "echo ${#OTHER_TOKEN}"), length);
    let found = Command::new("grep")
        .args(["-r", secret])
        .arg(&place.home)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}
