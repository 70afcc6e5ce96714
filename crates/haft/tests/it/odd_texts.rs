//! Texts and paths that are not quite what they should be.

use std::fs;

use serde_json::json;

use crate::place::{Place, text, verdict};

#[test]
fn a_path_that_ends_in_a_slash_makes_no_file() {
    let place = Place::new();
    place.file("there", "x");
    for path in ["notes/", "new/folder/", "there/", "notes/."] {
        let args = json!({"path": path, "content": "x"});
        let outcome = place.call("file.write", &args, &["--yes"]);
        assert_eq!(verdict(&outcome), "input_invalid", "{path} {outcome}");
    }
    assert!(!place.workspace.join("notes").exists() && !place.workspace.join("new").exists());
    assert_eq!(place.read("there"), "x");
}

/// One byte that is none does not make a UTF-8 text one in Latin-1.
#[test]
fn a_stray_byte_leaves_the_rest_utf8() {
    let place = Place::new();
    let path = place.file(
        "a.txt",
        b"gr\xc3\xbc\xc3\x9fe \xe2\x9c\x93\nbad \xe9 byte\nend\n",
    );
    let edit = |search: &str, replace: &str| {
        let args = json!({"path": "a.txt", "search": search, "replace": replace});
        place.call("file.edit", &args, &["--yes"])
    };
    let shown = place.call("file.read", &json!({"path": "a.txt"}), &[]);
    assert!(text(&shown).contains("grüße ✓"), "{shown}");
    assert!(text(&shown).contains("bad \u{fffd} byte"), "{shown}");
    let outcome = edit("grüße", "größe");
    assert_eq!(verdict(&outcome), "ok", "{outcome}");
    let outcome = edit("end", "ende ü");
    assert_eq!(verdict(&outcome), "ok", "{outcome}");
    assert_eq!(
        fs::read(&path).unwrap(),
        b"gr\xc3\xb6\xc3\x9fe \xe2\x9c\x93\nbad \xe9 byte\nende \xc3\xbc\n"
    );
    let outcome = edit("bad \u{fffd} byte", "good");
    assert_eq!(verdict(&outcome), "execution_failed", "{outcome}");
    let why = outcome.to_string();
    assert!(
        why.contains("bytes that are no UTF-8, the first in line 2"),
        "{why}"
    );
}
