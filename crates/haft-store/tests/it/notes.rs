//! Notes that nobody would expect.

use haft_store::{Journal, NewNote, Notes, Scope, Shelf, StoreError, Trust};

use crate::fixture::{BEFORE_6, Home, begin, block_on};

fn note(text: &str) -> NewNote {
    NewNote {
        shelf: Shelf {
            namespace: "methods".to_owned(),
            scope: Scope::Project,
            owner: "/w".to_owned(),
        },
        text: text.to_owned(),
        source: Some("a page".to_owned()),
        trust: Trust::Agent,
    }
}

/// Three notes, the second of them in danger.
fn three() -> Home {
    let home = Home::new();
    let journal = home.journal();
    let notes = Notes::new(journal.store().clone());
    for text in ["first", "second", "third"] {
        block_on(notes.add(note(text))).unwrap();
    }
    journal.store().close();
    home
}

fn texts(home: &Home) -> Vec<String> {
    let notes = Notes::new(home.journal().store().clone());
    let all = notes.after(0).unwrap();
    all.into_iter().map(|note| note.text).collect()
}

/// Whatever is changed in a note, nothing of it is told; all others are, and it can be forgotten.
#[test]
fn a_note_that_was_changed_is_named_and_forgotten_and_keeps_no_other_back() {
    for change in [
        "namespace = 'other'",
        "scope = 'user'",
        "scope = 'usér'",
        "owner = ''",
        "text = 'x'",
        "text = CAST(x'ff' AS TEXT)",
        "owner = CAST(x'ff' AS TEXT)",
        "source = NULL",
        "source = 'a person'",
        "trust = 'user'",
        "time = time + 1",
        "hash = zeroblob(32)",
        "replaced = 1",
        "seal = NULL",
        "seal = zeroblob(32)",
    ] {
        let home = three();
        home.sql(&format!("UPDATE notes SET {change} WHERE id = 2"));
        let told = texts(&home);
        assert_eq!(told.len(), 3, "{change}");
        assert_eq!((&*told[0], &*told[2]), ("first", "third"), "{change}");
        assert!(told[1].starts_with("(note 2 is damaged"), "{change}");
        let journal = home.journal();
        let notes = Notes::new(journal.store().clone());
        let found = notes.get(&[2]).unwrap().pop().unwrap();
        assert_eq!(found.text, told[1], "{change}");
        // It is in the way of a copy, and says so.
        let copy = home.path().join("copy.db");
        let refused = journal.backup(&copy).unwrap_err();
        assert_eq!(refused, StoreError::Note(2), "{change}");
        assert!(refused.hint().unwrap().contains("memory.forget"));
        // What it said can be kept anew.
        let (id, new) = block_on(notes.add(note("second"))).unwrap();
        assert!(new && id == 4, "{change}");
        assert_eq!(block_on(notes.forget(vec![2])).unwrap(), 1, "{change}");
        begin(&journal, "goes on");
        journal.backup(&copy).unwrap();
        journal.store().close();
        assert_eq!(texts(&home), ["first", "third", "second"], "{change}");
    }
}

#[test]
fn a_copy_with_a_changed_note_is_not_put_back() {
    let home = three();
    let copy = home.path().join("copy.db");
    home.journal().backup(&copy).unwrap();
    let db = rusqlite::Connection::open(&copy).unwrap();
    db.execute_batch("UPDATE notes SET text = 'x' WHERE id = 3")
        .unwrap();
    assert_eq!(
        Journal::restore(home.path(), &copy),
        Err(StoreError::Note(3))
    );
    // A copy of an older haft proves what it can.
    db.execute_batch(&format!(
        "{BEFORE_6} UPDATE notes SET text = 'third'; ALTER TABLE notes DROP COLUMN seal; \
         PRAGMA user_version = 4",
    ))
    .unwrap();
    assert_eq!(
        Journal::restore(home.path(), &copy),
        Err(StoreError::Note(1))
    );
    db.execute_batch("DELETE FROM notes WHERE id < 3").unwrap();
    Journal::restore(home.path(), &copy).unwrap();
    assert_eq!(texts(&home), ["third"]);
}

#[test]
fn notes_of_an_older_haft_are_sealed_if_they_are_whole() {
    let home = three();
    home.sql(&format!(
        "{BEFORE_6} ALTER TABLE notes DROP COLUMN seal; UPDATE notes SET text = 'x' WHERE id = 2; \
         PRAGMA user_version = 4",
    ));
    let told = texts(&home);
    assert_eq!((&*told[0], &*told[2]), ("first", "third"));
    assert!(told[1].starts_with("(note 2 is damaged"), "{told:?}");
    home.sql("UPDATE notes SET trust = 'user' WHERE id = 1");
    assert!(texts(&home)[0].starts_with("(note 1 is damaged"));
}

/// Setting aside and bringing back seals anew what was whole, and only that.
#[test]
fn replaced_notes_come_back_as_they_were() {
    let home = three();
    home.sql("UPDATE notes SET trust = 'user' WHERE id = 2");
    let journal = home.journal();
    let notes = Notes::new(journal.store().clone());
    let id = block_on(notes.replace(note("instead"))).unwrap();
    let told = notes.after(0).unwrap();
    assert_eq!(told.last().unwrap().id, id);
    assert_eq!(told.len(), 2, "the damaged one is still named: {told:?}");
    assert!(block_on(notes.undo(note("").shelf)).unwrap());
    let back = notes.after(0).unwrap();
    let texts: Vec<&str> = back.iter().map(|note| &*note.text).collect();
    assert_eq!((texts[0], texts[2], texts.len()), ("first", "third", 3));
    assert!(texts[1].starts_with("(note 2 is damaged"), "{texts:?}");
}

/// Whatever bit flips where the notes lie, each is told as it was written, or named, or the store
/// says that it is damaged.
#[test]
fn no_flipped_bit_changes_a_note_unseen() {
    const PAGE: usize = 4096;
    let home = three();
    home.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    let good = std::fs::read(home.db()).unwrap();
    let word = b"second";
    let at = good.windows(word.len()).position(|here| here == word);
    let page = at.unwrap() / PAGE * PAGE;
    let expected = ["first", "second", "third"];
    let (mut named, mut refused) = (0, 0);
    for at in (page..page + PAGE).filter(|at| good[*at] != 0) {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        for end in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", home.db().display()));
        }
        std::fs::write(home.db(), &bad).unwrap();
        let journal = home.journal();
        let told = journal
            .store()
            .ready()
            .and_then(|()| Notes::new(journal.store().clone()).after(0));
        let Ok(told) = told else {
            refused += 1;
            continue;
        };
        assert_eq!(told.len(), 3, "byte {at}: {told:?}");
        for (told, expected) in told.iter().zip(expected) {
            let damaged = told.text.contains("is damaged");
            named += usize::from(damaged);
            assert!(damaged || told.text == expected, "byte {at}: {told:?}");
            assert!(
                damaged || (told.trust == Trust::Agent && told.owner == "/w"),
                "byte {at}: {told:?}"
            );
        }
    }
    assert!(
        named > 100 && refused > 5,
        "{named} named, {refused} refused"
    );
}

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
