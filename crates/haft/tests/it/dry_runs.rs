//! What a dry run lists and a commit does, beyond contents: times, names, and what would be gone.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};

use crate::place::{Place, text, verdict};
use crate::undo::furnished;

#[track_caller]
fn tried(place: &Place, line: &str) -> Value {
    let args = json!({ "command": line });
    let outcome = place.call("shell.exec", &args, &["--yes", "--dry-run"]);
    assert_eq!(verdict(&outcome), "ok", "{outcome}");
    outcome
}

#[track_caller]
fn commit(place: &Place, tried: &Value) -> Value {
    let args = json!({"id": tried["structured"]["id"]});
    place.call("shell.commit", &args, &["--yes"])
}

#[test]
fn times_and_names_are_listed_and_put_in_place() {
    let place = furnished();
    let outcome = tried(
        &place,
        "ln a.txt hard; ln a.txt src/hard; echo x > n; ln n m; touch -d @1000000000 a.txt src",
    );
    for line in [
        "changed a.txt (time set to @1000000000)",
        "changed src/ (time set to @1000000000)",
        "added hard (hard link to a.txt)",
        "added src/hard (hard link to a.txt)",
        "added n (hard link to m)",
    ] {
        let lines = text(&outcome);
        assert!(lines.lines().any(|one| one == line), "{line}: {outcome}");
    }
    assert_eq!(verdict(&commit(&place, &outcome)), "ok");
    let about = |path: &str| fs::metadata(place.workspace.join(path)).unwrap();
    for path in ["a.txt", "src"] {
        assert_eq!(about(path).mtime(), 1_000_000_000, "{path}");
    }
    for (one, other) in [("a.txt", "hard"), ("a.txt", "src/hard"), ("n", "m")] {
        assert_eq!(about(one).ino(), about(other).ino(), "{one} {other}");
    }
    place.run(["undo", "--yes"]).exits(0);
    assert_eq!(about("a.txt").nlink(), 1);
}

/// The other name is not what it was when the trial ran.
#[test]
fn a_name_of_something_else_is_a_conflict() {
    let place = furnished();
    let outcome = tried(&place, "ln a.txt hard");
    place.file("a.txt", "other\n");
    assert_eq!(verdict(&commit(&place, &outcome)), "conflict");
    assert!(!place.workspace.join("hard").exists());
}

#[test]
fn what_would_be_deleted_is_shown() {
    let place = furnished();
    place.file(".env", "KEY=hidden\n");
    place.file("long.txt", "line\n".repeat(100_000));
    let outcome = tried(&place, "rm -r a.txt src/deep .env long.txt");
    let diff = outcome["structured"]["diff"].as_str().unwrap();
    assert!(
        diff.contains("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"),
        "{diff}"
    );
    assert!(
        !diff.contains("hidden") && !diff.contains("line\n"),
        "{diff}"
    );
    assert!(diff.contains("[3 files without a diff"), "{diff}");
}
