//! Backups and the way back.

use haft_store::{Filter, Journal, StoreError};

use crate::fixture::{Home, begin, read};

#[test]
fn a_copy_taken_while_calls_go_on_is_whole() {
    let home = Home::with_calls(300);
    let journal = home.journal();
    let copy = home.path().join("copy.db");
    std::thread::scope(|scope| {
        let journal = &journal;
        let writing = scope.spawn(move || (0..200).for_each(|n| read(journal, &format!("x{n}"))));
        home.journal().backup(&copy).unwrap();
        writing.join().unwrap();
    });
    journal.store().close();
    let elsewhere = Home::new();
    std::fs::copy(
        home.path().join("journal.key"),
        elsewhere.path().join("journal.key"),
    )
    .unwrap();
    Journal::restore(elsewhere.path(), &copy).unwrap();
    let lines = elsewhere.journal().list(&Filter::default()).unwrap();
    assert!(lines.len() >= 300);
}

#[test]
fn what_is_not_a_good_copy_is_not_put_back() {
    let home = Home::with_calls(40);
    let copy = home.path().join("copy.db");
    home.journal().backup(&copy).unwrap();
    assert!(
        home.journal().backup(&copy).is_err(),
        "a file that is there stays"
    );
    let mut bytes = std::fs::read(&copy).unwrap();
    let word = b"tester";
    let at = bytes.windows(word.len()).position(|here| here == word);
    bytes[at.unwrap()] ^= 1;
    let bad = home.path().join("bad.db");
    std::fs::write(&bad, bytes).unwrap();
    let before = std::fs::read(home.db()).unwrap();
    // It is the copy that is blamed, and nobody is led to give up the store.
    let refused = |from: &std::path::Path| {
        let error = Journal::restore(home.path(), from).unwrap_err();
        assert!(matches!(error, StoreError::BadCopy { .. }), "{error}");
        assert!(!error.hint().unwrap().contains("accept"), "{error}");
    };
    refused(&bad);
    std::fs::write(
        &bad,
        "text that is no database, and long enough to be looked at",
    )
    .unwrap();
    refused(&bad);
    refused(&home.path().join("nowhere"));
    assert_eq!(std::fs::read(home.db()).unwrap(), before);
    let names: Vec<_> = std::fs::read_dir(home.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("new"))
        .collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_store_in_use_is_not_replaced() {
    let home = Home::with_calls(5);
    let copy = home.path().join("copy.db");
    home.journal().backup(&copy).unwrap();
    let journal = home.journal();
    begin(&journal, "holds it");
    assert_eq!(Journal::restore(home.path(), &copy), Err(StoreError::Busy));
    journal.store().close();
    let aside = Journal::restore(home.path(), &copy).unwrap().aside.unwrap();
    assert!(aside.exists(), "what was there is kept");
}

/// Without the log readers would block writers, and nobody could see that a store is in use.
#[test]
fn a_restored_store_keeps_its_log() {
    let home = Home::with_calls(5);
    let copy = home.path().join("copy.db");
    home.journal().backup(&copy).unwrap();
    Journal::restore(home.path(), &copy).unwrap();
    assert_eq!(mode(&home), "wal");
    // Nothing of the work that prepared it is left, and it is in use as soon as somebody has it.
    let names = std::fs::read_dir(home.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.contains(".new")).count(), 0);
    let journal = home.journal();
    journal.store().ready().unwrap();
    assert_eq!(Journal::restore(home.path(), &copy), Err(StoreError::Busy));
    journal.store().close();

    // One that lost it earlier gets it back when it is opened.
    home.sql("PRAGMA journal_mode = DELETE");
    assert_eq!(mode(&home), "delete");
    begin(&home.journal(), "goes on");
    assert_eq!(mode(&home), "wal");
}

fn mode(home: &Home) -> String {
    let db = rusqlite::Connection::open(home.db()).unwrap();
    db.query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn a_second_restore_keeps_what_the_first_one_kept() {
    let home = Home::with_calls(5);
    let copy = home.path().join("copy.db");
    home.journal().backup(&copy).unwrap();
    let journal = home.journal();
    begin(&journal, "worth keeping");
    journal.store().close();
    let first = Journal::restore(home.path(), &copy).unwrap().aside.unwrap();
    let count = || {
        let kept = rusqlite::Connection::open(&first).unwrap();
        kept.query_row("SELECT count(*) FROM journal", [], |row| {
            row.get::<_, i64>(0)
        })
        .unwrap()
    };
    assert_eq!(count(), 6);
    let second = Journal::restore(home.path(), &copy).unwrap().aside.unwrap();
    let third = Journal::restore(home.path(), &copy).unwrap().aside.unwrap();
    assert!(first != second && second != third && first != third);
    assert_eq!(count(), 6, "it is as it was");
}

/// A new machine, or a home that was lost with its key.
#[test]
fn a_copy_is_restored_into_an_empty_home_and_said_to_be_unproven() {
    // Long enough to hold a mark that another key has signed.
    let home = Home::with_calls(1_100);
    let copy = home.path().join("copy.db");
    home.journal().backup(&copy).unwrap();
    let elsewhere = Home::new();
    let restored = Journal::restore(elsewhere.path(), &copy).unwrap();
    assert_eq!(restored.aside, None);
    assert_eq!(restored.unproven, Some(1_101));
    let journal = elsewhere.journal();
    let verified = journal.verify().unwrap().unwrap();
    assert!(
        verified.notices[0].contains("before 1101") && verified.notices[0].contains("not proven"),
        "{verified:?}"
    );
    begin(&journal, "goes on");
    assert_eq!(journal.list(&Filter::default()).unwrap().len(), 1_102);
    journal.store().close();
    assert!(elsewhere.journal().verify().unwrap().is_ok());
    // From there on it is proven as ever.
    elsewhere.sql("UPDATE journal SET tool = 'other' WHERE seq = 1102");
    assert_eq!(
        elsewhere.journal().verify().unwrap().unwrap_err().seq,
        1_102
    );

    // A chain that does not hold together is no good copy, whoever signed it.
    let db = rusqlite::Connection::open(&copy).unwrap();
    db.execute_batch("UPDATE journal SET tool = 'other' WHERE seq = 7")
        .unwrap();
    drop(db);
    let empty = Home::new();
    assert!(Journal::restore(empty.path(), &copy).is_err());
    assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0);
}

#[test]
fn a_home_whose_key_is_gone_is_told_the_way_back() {
    let home = Home::with_calls(3);
    let copy = home.path().join("copy.db");
    home.journal().backup(&copy).unwrap();
    std::fs::remove_file(home.path().join("journal.key")).unwrap();
    let refused = home.try_journal().err().unwrap();
    assert!(matches!(refused, StoreError::KeyGone(_)), "{refused}");
    assert!(refused.hint().unwrap().contains("haft restore"));
    Journal::restore(home.path(), &copy).unwrap();
    begin(&home.journal(), "goes on");
}

/// A chain of hashes can be made by anybody: only the key of the home proves where a copy comes from.
#[test]
fn a_copy_that_another_home_made_is_not_called_proven() {
    let (home, other) = (Home::with_calls(5), Home::with_calls(40));
    let copy = home.path().join("copy.db");
    other.journal().backup(&copy).unwrap();
    let unsigned = |from: &std::path::Path| {
        let error = Journal::restore(home.path(), from).unwrap_err();
        assert!(matches!(error, StoreError::Unsigned(_)), "{error}");
        assert!(error.hint().unwrap().contains("--unproven"));
    };
    unsigned(&copy);
    // Nor is it without any mark, and neither is our own.
    let own = home.path().join("own.db");
    home.journal().backup(&own).unwrap();
    for copy in [&copy, &own] {
        let db = rusqlite::Connection::open(copy).unwrap();
        db.execute_batch("DELETE FROM journal_marks").unwrap();
        drop(db);
        unsigned(copy);
    }
    assert_eq!(home.journal().verify().unwrap().unwrap().records, 5);

    let restored = Journal::restore_unproven(home.path(), &copy).unwrap();
    assert_eq!(restored.unproven, Some(41));
    let journal = home.journal();
    begin(&journal, "goes on");
    let verified = journal.verify().unwrap().unwrap();
    assert_eq!(verified.records, 2, "those before are not counted");
    assert!(verified.notices[0].contains("not proven"), "{verified:?}");
}

/// The same for a database that was exchanged as a file.
#[test]
fn a_database_of_another_home_is_not_accepted_as_proven() {
    let (home, other) = (Home::with_calls(5), Home::with_calls(40));
    for end in ["", "-wal"] {
        let name = |home: &Home| format!("{}{end}", home.db().display());
        std::fs::copy(name(&other), name(&home)).unwrap();
    }
    let _ = std::fs::remove_file(format!("{}-shm", home.db().display()));
    assert!(home.journal().verify().unwrap().is_err());
    assert_eq!(home.journal().accept("looked at").unwrap(), (41, false));
}
