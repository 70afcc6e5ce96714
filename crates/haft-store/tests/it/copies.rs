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
    assert!(matches!(
        Journal::restore(home.path(), &bad),
        Err(StoreError::Damaged(_))
    ));
    std::fs::write(&bad, "text").unwrap();
    assert!(Journal::restore(home.path(), &bad).is_err());
    assert!(Journal::restore(home.path(), &home.path().join("nowhere")).is_err());
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
    let aside = Journal::restore(home.path(), &copy).unwrap().unwrap();
    assert!(aside.exists(), "what was there is kept");
}
