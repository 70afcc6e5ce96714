//! A store whose newest part was cut off: what is left is shown, with a word about it, and nothing
//! is added until the owner has looked.

use serde_json::json;

use crate::place::Place;

/// Four notes, the last of them in the log alone, which is cut.
fn cut() -> Place {
    let place = Place::new();
    let store = |text: &str| {
        let outcome = place.call("memory.store", &json!({"text": text}), &[]);
        assert_eq!(outcome["ok"], true, "{outcome}");
    };
    ["note one", "note two", "note three"]
        .into_iter()
        .for_each(store);
    let db = rusqlite::Connection::open(place.home.join("haft.db")).unwrap();
    let emptied = "PRAGMA wal_checkpoint(TRUNCATE)";
    db.query_row(emptied, [], |_| Ok(())).unwrap();
    drop(db);
    store("note four");
    let _ = std::fs::remove_file(place.home.join("haft.db-shm"));
    std::fs::write(place.home.join("haft.db-wal"), "").unwrap();
    place
}

#[test]
fn what_is_left_of_a_cut_store_is_shown_and_said_to_be_so() {
    for command in [
        &["memory", "list"][..],
        &["memory", "export"],
        &["journal"],
        &["journal", "--json"],
        &["journal", "show", "1"],
        &["stats"],
        &["policy", "rules"],
    ] {
        // Whoever comes first, and whoever comes after that.
        let place = cut();
        for _ in 0..2 {
            let ran = place.run(command);
            ran.exits(1);
            assert!(ran.err.contains("the store is damaged"), "{ran:?}");
            assert!(ran.err.contains("haft journal accept"), "{ran:?}");
            assert!(!ran.out.is_empty(), "what is there is shown: {ran:?}");
        }
    }
}

#[test]
fn nothing_is_added_to_a_cut_store_until_the_owner_has_looked() {
    let place = cut();
    place.file("notes.md", "# methods\n\ntest first\n");
    let commands = [
        &["memory", "import", "notes.md"][..],
        &["memory", "edit", "methods"],
        &["policy", "allow", "shell.exec(echo hi)"],
        &["policy", "rules", "revoke", "shell.exec(echo hi)"],
        &["gc"],
        &["backup", "copy.db"],
    ];
    // An editor that adds a line.
    let script = place.file("edit.sh", "echo more >> \"$1\"\n");
    let editor = format!("sh {}", script.display());
    let run = |command: &[&str]| {
        let mut haft = place.haft();
        haft.args(command).env("EDITOR", &editor);
        crate::place::finish(&mut haft)
    };
    for command in commands {
        let ran = run(command);
        ran.exits(1);
        assert!(ran.err.contains("the store is damaged"), "{ran:?}");
    }
    place.run(["journal", "accept"]).exits(0);
    let listed = place.run(["memory", "list"]);
    listed.exits(0).says("note three");
    assert!(!listed.out.contains("test first"), "{listed:?}");
    place.run(["policy", "rules"]).exits(0).says("no rule");
    // Revoking comes after allowing here, so each of them has something to do.
    for command in commands {
        run(command).exits(0);
    }
}
