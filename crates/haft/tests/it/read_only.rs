//! A home that can only be read: what was written down and noted is shown, and nothing is done.

use std::process::Command;

use serde_json::json;

use crate::place::{Place, Ran, finish};

/// What is done there; each step says how it went.
const SCRIPT: &str = r#"
set -u
mount --bind "$HAFT_HOME" "$HAFT_HOME" && mount -o remount,bind,ro "$HAFT_HOME" || { echo "no mount"; exit 0; }
say() { echo "== $1: $2"; }
"$HAFT" journal --json; say journal $?
"$HAFT" journal show 1 >/dev/null; say show $?
"$HAFT" journal verify; say verify $?
"$HAFT" stats >/dev/null; say stats $?
"$HAFT" memory list; say list $?
"$HAFT" memory export; say export $?
"$HAFT" call memory.recall '{"query": "tea"}'; say recall $?
"$HAFT" call file.write '{"path": "new", "content": "x"}' --yes 2>&1; say write $?
[ -e new ]; say written $?
echo '# methods' > notes.md; echo 'test first' >> notes.md
"$HAFT" memory import notes.md 2>&1; say import $?
"$HAFT" gc 2>&1; say gc $?
"$HAFT" gc --dry-run >/dev/null; say dry $?
"$HAFT" backup copy.db >/dev/null; say backup $?
"#;

fn looked_at(place: &Place) -> Ran {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", SCRIPT]);
    place.settle(&mut command);
    command.env("HAFT", crate::place::HAFT);
    finish(&mut command)
}

#[test]
fn a_home_that_can_only_be_read_is_read_and_nothing_is_done() {
    for (log, shared) in [(true, true), (true, false), (false, false)] {
        let place = Place::new();
        place.call("memory.store", &json!({"text": "tea is at four"}), &[]);
        place.call("file.read", &json!({"path": "README.md"}), &[]);
        if !log {
            // As a copy on a medium of its own: the database and no log.
            let db = rusqlite::Connection::open(place.home.join("haft.db")).unwrap();
            db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
                .unwrap();
            drop(db);
            let _ = std::fs::remove_file(place.home.join("haft.db-wal"));
        }
        if !shared {
            let _ = std::fs::remove_file(place.home.join("haft.db-shm"));
        }
        let ran = looked_at(&place);
        ran.exits(0);
        for step in [
            "== journal: 0",
            "== show: 0",
            "== verify: 0",
            "== stats: 0",
            "== list: 0",
            "== export: 0",
            "== recall: 0",
            "== write: 1",
            "== written: 1",
            "== import: 1",
            "== gc: 1",
            "== dry: 0",
            "== backup: 0",
            "the store can only be read",
            "make it and its folder writable",
        ] {
            assert!(ran.out.contains(step), "{log}, {shared}, {step}: {ran:?}");
        }
        assert_eq!(ran.out.matches("tea is at four").count(), 3, "{ran:?}");
        assert_eq!(
            ran.out.matches("\"tool\":\"file.read\"").count(),
            1,
            "{ran:?}"
        );
        // Once it can be written again, all goes on.
        let written = json!({"path": "new", "content": "x"});
        let outcome = place.call("file.write", &written, &["--yes"]);
        assert_eq!(outcome["ok"], true, "{outcome}");
        place.run(["journal", "verify"]).exits(0);
    }
}
