//! Files with several names: an undo leaves them one file, with what it held.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};

use crate::place::Place;
use crate::undo::{furnished, tree};

const NAMES: [&str; 3] = ["b.txt", "one", "src/two"];

/// A workspace with three names for one file.
fn linked() -> Place {
    let place = furnished();
    for name in &NAMES[1..] {
        fs::hard_link(place.workspace.join("b.txt"), place.workspace.join(name)).unwrap();
    }
    place
}

/// The names of each file that has several, in order.
fn groups(place: &Place) -> Vec<Vec<String>> {
    let mut groups: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for name in tree(&place.workspace).into_keys() {
        let name = String::from_utf8(name).unwrap();
        let about = fs::symlink_metadata(place.workspace.join(&name)).unwrap();
        if about.is_file() {
            groups.entry(about.ino()).or_default().push(name);
        }
    }
    let mut groups: Vec<_> = groups.into_values().filter(|one| one.len() > 1).collect();
    groups.sort();
    groups
}

#[track_caller]
fn call(place: &Place, tool: &str, args: &Value) -> Value {
    let outcome = place.done(tool, args);
    let lost = &outcome["structured"]["notUndoable"];
    assert!(lost.is_null(), "{args} {outcome}");
    outcome
}

#[test]
fn one_file_under_several_names_is_one_again() {
    for line in [
        "rm one",
        "rm one b.txt",
        "rm one b.txt src/two",
        "rm -r src one",
        "echo x > one",
        "echo x > one; echo y > b.txt",
        "echo x >> src/two; rm one",
        "sed -i s/two/2/ one",
        "mv one three",
        "mv src lib; mv one two; echo x > lib/two",
        "mv one a.txt",
        "chmod 755 one",
        "rm one; echo x > one",
        "rm one; ln a.txt one; echo x > a.txt",
        "echo x > one; cp one copy; mv copy b.txt; chmod 700 one",
    ] {
        let place = linked();
        let (before, names) = (tree(&place.workspace), groups(&place));
        assert_eq!(names, [NAMES.map(str::to_owned)]);
        call(&place, "shell.exec", &json!({ "command": line }));
        let after = (tree(&place.workspace), groups(&place));
        for _ in 0..2 {
            place.run(["undo", "--yes"]).exits(0);
            assert_eq!(tree(&place.workspace), before, "{line}");
            assert_eq!(groups(&place), names, "{line}");
            place.run(["undo", "--yes"]).exits(0);
            assert_eq!(groups(&place), after.1, "{line}");
            assert!(after.0.keys().eq(tree(&place.workspace).keys()), "{line}");
        }
    }
}

/// A new content goes to one name alone, and that is said.
#[test]
fn a_name_that_a_write_splits_off_is_told_and_put_back() {
    for (tool, args) in [
        ("file.write", json!({"path": "one", "content": "x"})),
        (
            "file.edit",
            json!({"path": "one", "search": "two", "replace": "x"}),
        ),
        (
            "file.batch",
            json!({"operation": "transform", "pattern": "one", "find": "two", "replace": "x"}),
        ),
    ] {
        let place = linked();
        let before = tree(&place.workspace);
        let outcome = call(&place, tool, &args);
        let why = outcome["structured"]["notKept"][0]["why"].to_string();
        assert!(why.contains("hard links"), "{outcome}");
        assert_eq!(place.read("b.txt"), "two\n");
        place.run(["undo", "--yes"]).exits(0);
        assert_eq!(tree(&place.workspace), before);
        assert_eq!(groups(&place), [NAMES.map(str::to_owned)]);
    }
}

/// What somebody has written under the other name is theirs.
#[test]
fn another_name_that_was_changed_since_is_left_alone() {
    let place = linked();
    call(&place, "shell.exec", &json!({"command": "rm one src/two"}));
    fs::write(place.workspace.join("b.txt"), "a person's own\n").unwrap();
    place.run(["undo", "--yes"]).exits(0).says("hard links");
    assert_eq!(place.read("b.txt"), "a person's own\n");
    assert_eq!(place.read("one"), "two\n");
    assert_eq!(groups(&place), [["one", "src/two"].map(str::to_owned)]);
}
