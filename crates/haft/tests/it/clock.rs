//! A clock that steps back and forth: a library put before the system's own shifts what it says.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{Place, Ran, finish};

const SHIFTED: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, t);
    const char *shift = getenv("CLOCK_SHIFT");
    if (id == CLOCK_REALTIME && shift) t->tv_sec += atol(shift);
    return result;
}
"#;

fn library(place: &Place) -> PathBuf {
    let source = place.beside("shift.c");
    std::fs::write(&source, SHIFTED).unwrap();
    let library = place.beside("shift.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status()
        .unwrap();
    assert!(built.success());
    library
}

/// Run haft so many seconds away from now.
fn shifted(place: &Place, library: &Path, seconds: i64, args: &[&str]) -> Ran {
    let mut haft = place.haft();
    haft.args(args)
        .env("LD_PRELOAD", library)
        .env("CLOCK_SHIFT", seconds.to_string());
    finish(&mut haft)
}

#[test]
fn the_journal_keeps_its_order_and_proves_itself_whatever_the_clock_says() {
    let place = Place::new();
    let library = library(&place);
    let at = |days: i64, args: &[&str]| shifted(&place, &library, days * 86_400, args);
    let days = [0, -400, 30, -3_000, 0];
    for (number, day) in days.into_iter().enumerate() {
        let path = format!("f{number}");
        let args = json!({"path": path, "content": "x"}).to_string();
        at(day, &["call", "file.write", &args, "--yes"]).exits(0);
    }
    let listed = |day: i64, flags: &[&str]| -> Vec<String> {
        let mut args = vec!["journal", "--json"];
        args.extend(flags);
        let ran = at(day, &args);
        let lines = ran.exits(0).out.lines();
        lines
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|line| line["args"]["path"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(listed(0, &[]), ["f0", "f1", "f2", "f3", "f4"]);
    assert_eq!(listed(0, &["--since", "1h"]), ["f0", "f2", "f4"]);
    assert_eq!(listed(-3_000, &["--since", "1h"]).len(), 5);
    for day in days {
        at(day, &["journal", "verify"]).exits(0);
    }
    // A clock that has gone back takes nothing for old, and neither does one that has jumped ahead,
    // by itself or when it is asked to.
    at(-3_000, &["gc"]).exits(0);
    let _ = std::fs::remove_file(place.home.join("haft.db.tidied"));
    at(400, &["call", "file.read", r#"{"path": "f0"}"#]).exits(0);
    at(400, &["gc"]).exits(0);
    assert_eq!(listed(0, &["--tool", "file.write"]).len(), 5);
    at(0, &["undo", "--yes"]).exits(0);
    assert!(!place.workspace.join("f4").exists(), "the newest is undone");
    at(0, &["journal", "verify"]).exits(0);
}

/// Ages count again once the journal has gone on for a day under the clock.
#[test]
fn what_is_old_goes_although_a_clock_that_jumped_is_doubted() {
    let place = Place::new();
    let library = library(&place);
    let at = |days: i64, args: &[&str]| shifted(&place, &library, days * 86_400, args);
    let read = ["call", "file.read", r#"{"path": "README.md"}"#];
    let gone = |day: i64| -> u64 {
        let report: Value = at(day, &["gc", "--json"]).exits(0).json();
        let parts = report["parts"].as_array().unwrap();
        let journal = parts.iter().find(|part| part["what"] == "journal records");
        journal.unwrap()["goes"].as_u64().unwrap()
    };
    at(0, &read).exits(0);
    at(1_000, &read).exits(0);
    assert_eq!(gone(1_000), 0, "the clock may have jumped");
    assert_eq!(gone(1_002), 1, "it has gone on for more than a day");
}

#[test]
fn a_clock_before_1970_is_no_reason_to_fail() {
    let place = Place::new();
    let library = library(&place);
    let write = json!({"path": "f", "content": "x"}).to_string();
    for call in [
        ["call", "file.write", &write, "--yes"],
        ["call", "shell.exec", r#"{"command": "echo hi"}"#, "--yes"],
    ] {
        shifted(&place, &library, -4_000_000_000, &call).exits(0);
    }
    place.run(["journal", "verify"]).exits(0);
}
