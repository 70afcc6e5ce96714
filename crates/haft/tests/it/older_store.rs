//! A store of the version before this one.

use serde_json::json;

use crate::place::Place;

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
