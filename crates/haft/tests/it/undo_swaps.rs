//! Folders, files and links that take each other's names: an undo leaves nothing of one in the other.

use serde_json::json;

use crate::place::{Place, verdict};
use crate::undo::{furnished, there_and_back};

#[track_caller]
fn shell(place: &Place, line: &str) {
    let outcome = place.call("shell.exec", &json!({ "command": line }), &["--yes"]);
    assert_eq!(verdict(&outcome), "ok", "{outcome}");
    assert!(
        outcome["structured"]["notUndoable"].is_null(),
        "{line}: {outcome}"
    );
}

#[test]
fn what_took_the_name_of_a_folder_goes_with_all_it_holds() {
    let lines = [
        "rm -rf src && mv ignored src",
        "rm -rf nothing/in/here && mv src nothing/in/here",
        "mv -T src nothing/in/here",
        "mv -T src/deep/er nothing/in/here && mv -T ignored src/deep/er",
        "rm -rf src && cp -r ignored src && mv src/cache.bin src/main.rs",
        "mv src tmp && mv ignored src && mv tmp ignored",
        "mv src/deep tmp; mv src tmp/deep; mv ignored src",
        "rm -rf src/deep && mv ignored src/deep && mv src/deep nothing/in/deep && mkdir src/deep",
        "rm -rf src && mkdir src && mv ignored src/deep && mv nothing src/deep/er",
        "rm -rf src && cp a.txt src",
        "rm -rf src && ln -s ignored src && echo x > src/main.rs",
        "rm a.txt && mv src a.txt && mv ignored src",
        "rm link && mv src link && echo x > link/new",
        "mv a.txt t && mv src a.txt && mv t src",
        "mv link t && mv src link && mv t src",
        "rmdir src; rm -rf src/deep; mkdir src/deep; echo x > src/deep/x; rmdir src/deep; true",
        "cp a.txt same && mv a.txt same",
        "cp -p a.txt b.txt && mv a.txt b.txt",
    ];
    for line in lines {
        let place = furnished();
        println!("{line}");
        there_and_back(&place, |place| shell(place, line));
    }
}
