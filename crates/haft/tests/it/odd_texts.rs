//! Texts and paths that are not quite what they should be.

use serde_json::json;

use crate::place::{Place, verdict};

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
