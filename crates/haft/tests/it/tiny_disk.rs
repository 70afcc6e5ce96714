//! A home on a disk that is really full: a file system of its own, in a mount namespace of its own.

use std::process::Command;

use crate::place::{Place, Ran, finish};

/// What is done there; each step says how it went.
const SCRIPT: &str = r#"
set -u
mount -t tmpfs -o size="$SIZE",mode=0700 none "$HAFT_HOME" || { echo "no mount"; exit 0; }
call() { "$HAFT" call file.write "{\"path\": \"$1\", \"content\": \"x\"}" --yes --json; }
say() { echo "== $1: $2"; }
call before >/dev/null 2>&1; say before $?
cat /dev/zero > "$HAFT_HOME/fill" 2>/dev/null
call full > full.json 2>full.err; say full $?
[ -e full ]; say written $?
cat full.json
"$HAFT" call file.read '{"path": "README.md"}' >/dev/null 2>&1; say read $?
rm "$HAFT_HOME/fill"
call after >/dev/null 2>&1; say after $?
"$HAFT" journal verify >/dev/null 2>&1; say verify $?
"$HAFT" journal --json --tool file.write | grep -c '"state":"ok"'
"#;

fn on_a_disk_of(size: &str) -> Ran {
    let place = Place::new();
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", SCRIPT]);
    place.settle(&mut command);
    command.env("SIZE", size).env("HAFT", crate::place::HAFT);
    finish(&mut command)
}

#[test]
fn a_full_disk_refuses_new_work_and_resumes_when_there_is_room() {
    for size in ["1m", "4m", "16m"] {
        let ran = on_a_disk_of(size);
        ran.exits(0);
        for step in [
            "== before: 0",
            "== full: 1",
            "== written: 1",
            "== read: 0",
            "== after: 0",
            "== verify: 0",
            "no room left",
        ] {
            assert!(ran.out.contains(step), "{size}, {step}: {ran:?}");
        }
        assert!(ran.out.ends_with("\n2\n"), "{size}: {ran:?}");
    }
}
