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

/// A note that does not fit, and small ones after it, far more than the log alone could hold.
const NOTES: &str = r#"
set -u
mount -t tmpfs -o size="$SIZE",mode=0700 none "$HAFT_HOME" || { echo "no mount"; exit 0; }
store() { "$HAFT" call memory.store "{\"text\": \"note $1\"}" >/dev/null 2>>err; }
store first; echo "== first: $?"
{ printf '{"text": "'; head -c 700000 /dev/zero | tr '\0' x; printf '"}'; } > large.json
"$HAFT" call memory.store - < large.json >/dev/null 2>&1; echo "== large: $?"
failed=0
for number in $(seq 60); do store $number || failed=$((failed + 1)); done
echo "== failed: $failed"
"$HAFT" memory list | grep -c 'note '
"$HAFT" gc >/dev/null; echo "== gc: $?"
"$HAFT" journal verify >/dev/null; echo "== verify: $?"
cat err
"#;

fn on_a_disk_of(size: &str, script: &str) -> Ran {
    let place = Place::new();
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script]);
    place.settle(&mut command);
    command.env("SIZE", size).env("HAFT", crate::place::HAFT);
    finish(&mut command)
}

#[test]
fn a_full_disk_refuses_new_work_and_resumes_when_there_is_room() {
    for size in ["1m", "4m", "16m"] {
        let ran = on_a_disk_of(size, SCRIPT);
        ran.exits(0);
        for step in [
            "== before: 0",
            "== full: 1",
            "== written: 1",
            "== read: 0",
            "== after: 0",
            "== verify: 0",
            "make room",
        ] {
            assert!(ran.out.contains(step), "{size}, {step}: {ran:?}");
        }
        assert!(ran.out.ends_with("\n2\n"), "{size}: {ran:?}");
    }
}

/// What was never committed must not keep the room that it took.
#[test]
fn work_that_did_not_fit_leaves_its_room_to_others() {
    let ran = on_a_disk_of("1m", NOTES);
    ran.exits(0);
    for step in [
        "== first: 0",
        "== large: 1",
        "== failed: 0",
        "\n61\n",
        "== gc: 0",
        "== verify: 0",
    ] {
        assert!(ran.out.contains(step), "{step}: {ran:?}");
    }
}
