//! A store of the version before this one.

use serde_json::json;

use crate::place::{Place, verdict};

/// More than what is brought up to date without a word.
const LARGE: i64 = 33 << 20;

#[test]
fn a_large_store_of_an_older_version_says_why_it_keeps_one_waiting() {
    for (bytes, told) in [(LARGE, true), (0, false)] {
        let place = Place::new();
        place.call("memory.store", &json!({"text": "tea is at four"}), &[]);
        let db = rusqlite::Connection::open(place.home.join("haft.db")).unwrap();
        db.execute_batch(
            "DROP TABLE journal_spans; DROP TABLE journal_words; DROP TABLE journal_ends; \
             DROP TABLE journal_open; ALTER TABLE kept DROP COLUMN seal; CREATE INDEX journal_call ON journal (call_id); \
             PRAGMA user_version = 5",
        )
        .unwrap();
        let grow = "INSERT INTO kept (kind, name, value, time) VALUES ('x', 'x', zeroblob(?1), 0)";
        db.execute(grow, [bytes]).unwrap();
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
        drop(db);
        for told in [told, false] {
            let ran = place.run(["journal", "--json"]);
            ran.exits(0);
            assert!(ran.out.contains("memory.store"), "{ran:?}");
            let says = ran.err.contains("the store is brought up to date");
            assert_eq!(says, told, "{ran:?}");
        }
    }
}

/// The file that held rules before there was a store is met by a call whose store is open already.
#[test]
fn rules_of_an_older_haft_hold_for_the_call_that_takes_them_over() {
    let place = Place::new();
    let write = |name: &str| {
        let outcome = place.call("file.write", &json!({"path": name, "content": "x"}), &[]);
        verdict(&outcome)
    };
    assert_eq!(write("a.txt"), "denied");
    let rule = format!("file.write({})", place.workspace.join("a.txt").display());
    let file = place.home.join("rules.json");
    let rules = json!([{"id": "0123456789ab", "workspace": place.workspace, "rule": rule,
        "at": "2026-01-31T12:00:00Z"}]);
    std::fs::write(&file, rules.to_string()).unwrap();
    for _ in 0..2 {
        assert_eq!(write("a.txt"), "ok");
        assert!(!file.exists());
        assert_eq!(write("b.txt"), "denied");
    }
}
