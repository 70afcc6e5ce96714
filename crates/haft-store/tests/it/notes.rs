//! Notes that nobody would expect.

use haft_store::{NewNote, Notes, Scope, Shelf, Trust};

use crate::fixture::{Home, block_on};

/// Notes of any size and shape come back as they were.
#[test]
fn notes_of_a_hundred_megabytes_and_of_nothing() {
    let home = Home::new();
    let notes = Notes::new(home.journal().store().clone());
    let line = "all of it, word by word, and then some more. ";
    let large = line.repeat((100 << 20) / line.len() + 1);
    assert!(large.len() > 100 << 20);
    let texts = [
        large,
        String::new(),
        "\u{0}\u{7}\u{1b}[31m\u{202e}\r\n".to_owned(),
    ];
    for text in &texts {
        let note = NewNote {
            shelf: Shelf {
                namespace: "knowledge".to_owned(),
                scope: Scope::User,
                owner: String::new(),
            },
            text: text.clone(),
            source: None,
            trust: Trust::User,
        };
        let (id, new) = block_on(notes.add(note.clone())).unwrap();
        assert!(new);
        assert_eq!(notes.get(&[id]).unwrap()[0].text, *text);
        let again = block_on(notes.add(note)).unwrap();
        assert_eq!(again, (id, false), "it is there already");
    }
    let ids = notes.ids().unwrap();
    assert_eq!(block_on(notes.forget(ids)).unwrap(), 3);
    assert_eq!(notes.after(0).unwrap().len(), 0);
}
