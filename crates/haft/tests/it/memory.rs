//! Notes across processes, as a person and a model meet them.

use serde_json::json;

use crate::place::Place;

#[test]
fn a_note_is_found_by_meaning_in_the_next_process_and_then_forgotten() {
    let place = Place::new();
    let text = "The production database is backed up every Sunday night";
    let stored = place.call("remember", &json!({"content": text}), &[]);
    assert_eq!(stored["structured"]["stored"], true, "{stored}");
    place.call("memory.store", &json!({"text": "Anna likes tea"}), &[]);
    let query = json!({"query": "Wann wird die Datenbank gesichert?", "limit": 1});
    let found = place.call("memory_search", &query, &[]);
    assert_eq!(found["structured"]["results"][0]["text"], text);
    // The journal knows that a note was kept, and not what it says.
    let line = place.run(["journal", "show", "1"]).json();
    assert!(!line.to_string().contains("Sunday"), "{line}");
    assert_eq!(line["private"], true);

    let gone = place.call("memory.forget", &json!({"id": 1}), &["--yes"]);
    assert_eq!(gone["structured"]["forgotten"], 1, "{gone}");
    for entry in std::fs::read_dir(&place.home).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains("Sunday"), "{}", path.display());
    }
    place.run(["journal", "verify"]).exits(0);
}

/// However a note came in, what it says is nowhere after it was forgotten.
#[test]
fn a_note_is_in_no_record_however_it_was_given() {
    let place = Place::new();
    let secret = "Sundaynightbackup";
    let nested = json!({"name": "memory.store", "params": {"text": secret}});
    place.call("run_parallel", &json!({"actions": [nested]}), &[]);
    place.call("execute_tool", &nested, &[]);
    place.call("background_run", &nested, &[]);
    for wrong in [
        json!({"text": [secret]}),
        json!({"txt": secret}),
        json!({"text": "x", "scope": secret}),
    ] {
        place.call("memory.store", &wrong, &[]);
        let through = json!({"name": "memory.store", "params": wrong});
        place.call("execute_tool", &through, &[]);
        place.call("run_parallel", &json!({"actions": [through]}), &[]);
    }
    place.call("memory.nosuch", &json!({"text": secret}), &[]);
    place.call(
        "memory.forget",
        &json!({"namespace": "knowledge"}),
        &["--yes"],
    );
    for entry in std::fs::read_dir(&place.home).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains(secret), "{}", path.display());
    }
}

/// A note that is too long to be shown whole is kept whole behind a handle, and goes with the note.
#[test]
fn a_forgotten_note_is_in_no_result_that_was_kept() {
    let place = Place::new();
    let text = "the vault opens on Thursdaymorning\n".repeat(20_000);
    place.file("long.txt", &text);
    let store = json!({"text": text});
    let file = place.beside("store.json");
    std::fs::write(
        &file,
        json!([{"name": "memory.store", "args": store}]).to_string(),
    )
    .unwrap();
    place.run_with_input(&["batch", "--json"], &std::fs::read(&file).unwrap());
    let read = json!({"namespace": "knowledge"});
    let recall = json!({"query": "when does the vault open"});
    let nested = json!({"actions": [
        {"name": "memory.read", "params": read},
        {"name": "memory.recall", "params": recall},
    ]});
    let session = ["--session", "one"];
    let whole = place.call("memory.read", &read, &session);
    let handle = whole["meta"]["handle"].as_str().unwrap().to_owned();
    place.call(
        "memory.search",
        &recall,
        &["--session", "two", "--key", "k"],
    );
    place.call("run_parallel", &nested, &session);
    place.call(
        "execute_tool",
        &json!({"name": "memory.read", "params": read}),
        &session,
    );
    let again = json!({"handle": handle, "regex": "vault"});
    let shown = place.call("result.read", &again, &session);
    assert_eq!(shown["ok"], true, "{shown}");
    // What came from elsewhere stays, though it says the same.
    let other = place.call("file.read", &json!({"path": "long.txt"}), &session);
    let other = other["meta"]["handle"].as_str().unwrap().to_owned();
    place.run(["gc"]).exits(0);
    assert!(holding(&place.home, "Thursdaymorning").len() >= 3);

    let gone = place.call("memory.forget", &json!({"id": 1}), &["--yes"]);
    assert_eq!(gone["structured"]["forgotten"], 1, "{gone}");
    let shown = place.call("result.read", &again, &session);
    assert!(shown.to_string().contains("no such result"), "{shown}");
    let left = holding(&place.home, "Thursdaymorning");
    assert_eq!(left.len(), 1, "that of the file: {left:?}");
    let again = json!({"handle": other, "regex": "vault", "lines": "1-2"});
    let shown = place.call("result.read", &again, &session);
    assert_eq!(shown["ok"], true, "{shown}");
}

/// The files under a folder that hold a text.
pub(crate) fn holding(folder: &std::path::Path, text: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(text) {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_damaged_note_is_named_and_forgotten_while_the_others_are_used() {
    let place = Place::new();
    for text in ["the printer is on floor two", "tea is at four"] {
        place.call("memory.store", &json!({"text": text}), &[]);
    }
    let db = rusqlite::Connection::open(place.home.join("haft.db")).unwrap();
    db.execute_batch("UPDATE notes SET trust = 'user', owner = 'x' WHERE id = 1")
        .unwrap();
    drop(db);
    let file = place.beside("notes.md");
    let export = || place.run(["memory", "export", file.to_str().unwrap()]);
    export().exits(0).says("note 1 is damaged and left out");
    let other = Place::new();
    let import = other.run(["memory", "import", file.to_str().unwrap()]);
    import.exits(0).says("1 notes were added");
    let told = || {
        let query = json!({"query": "when is tea", "limit": 5});
        let all = json!({"namespace": "knowledge"});
        let told = [
            place.call("memory.read", &all, &[]),
            place.run(["memory", "list", "--json"]).exits(0).json(),
            place.call("memory.search", &query, &[]),
        ];
        for told in &told {
            assert!(told.to_string().contains("tea is at four"), "{told}");
            assert!(!told.to_string().contains("printer"), "{told}");
        }
        told.map(|told| told.to_string().contains("note 1 is damaged"))
    };
    assert_eq!(told()[..2], [true; 2]);
    let gone = place.call("memory.forget", &json!({"id": 1}), &["--yes"]);
    assert_eq!(gone["structured"]["forgotten"], 1, "{gone}");
    assert_eq!(told(), [false; 3]);
    assert_eq!(export().exits(0).err, "");
    place.run(["journal", "verify"]).exits(0);
}

/// Whoever reads holds the log fast; what was forgotten leaves it with the next try.
#[test]
fn a_second_try_at_forgetting_takes_the_traces_away() {
    let place = Place::new();
    let text = "the safe is behind the Vermeer";
    place.call("memory.store", &json!({"text": text}), &[]);
    let db = rusqlite::Connection::open(place.home.join("haft.db")).unwrap();
    db.execute_batch("BEGIN; SELECT count(*) FROM notes")
        .unwrap();
    let held = place.call("memory.forget", &json!({"id": 1}), &["--yes"]);
    assert!(held.to_string().contains("try again"), "{held}");
    // Still open: the last one to close it would empty the log.
    db.execute_batch("ROLLBACK").unwrap();
    let log = place.home.join("haft.db-wal");
    let has = |text: &str| String::from_utf8_lossy(&std::fs::read(&log).unwrap()).contains(text);
    assert!(has("Vermeer"), "the first try had to leave it");
    let gone = place.call("memory.forget", &json!({"id": 1}), &["--yes"]);
    assert!(gone.to_string().contains("no such note"), "{gone}");
    assert!(!has("Vermeer"));
}

#[test]
fn notes_are_exported_imported_and_edited() {
    let place = Place::new();
    let args = json!({"text": "# odd\nsecond line", "namespace": "methods"});
    place.call("memory.store", &args, &[]);
    let file = place.beside("notes.md");
    place
        .run(["memory", "export", file.to_str().unwrap()])
        .exits(0);
    let other = Place::new();
    other
        .run(["memory", "import", file.to_str().unwrap()])
        .exits(0)
        .says("1 notes were added");
    other
        .run(["memory", "import", file.to_str().unwrap()])
        .exits(0)
        .says("0 notes were added");
    let listed = other.run(["memory", "list", "--json"]).json();
    assert_eq!(listed[0]["text"], "# odd\nsecond line");
    // An editor is any command that takes a file.
    let editor = other.file("editor", "#!/bin/sh\necho use tabs > \"$1\"\n");
    std::fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut edit = other.haft();
    edit.args(["memory", "edit", "style"]).env("EDITOR", editor);
    crate::place::finish(&mut edit).exits(0).says("saved");
    let listed = other.run(["memory", "list", "--json"]).json();
    assert_eq!(
        (listed[1]["text"].as_str(), listed[1]["trust"].as_str()),
        (Some("use tabs"), Some("user"))
    );
    other.run(["memory", "edit"]).exits(1).says("no editor");
}
