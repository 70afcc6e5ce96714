//! Calls that changed files, from the files they come in to rows and blobs.

use std::fs;
use std::path::PathBuf;

use haft_core::KeptChanges;
use haft_store::{Blobs, Changes, Durability, Journal};

use crate::fixture::Home;

fn changes(home: &Home, journal: &Journal) -> Changes {
    Changes::new(journal.store().clone(), home.path())
}

fn hex(content: &str) -> String {
    blake3::hash(content.as_bytes()).to_hex().to_string()
}

fn file(home: &Home, id: &str, ending: &str) -> PathBuf {
    let folder = home.path().join(KeptChanges::FOLDER);
    folder.join(KeptChanges::file_name(id, ending))
}

/// A call that is over: a log, a pack of its own, and a large content.
fn come_in(home: &Home, id: &str, large: &str) -> KeptChanges {
    fs::create_dir_all(home.path().join(KeptChanges::FOLDER)).unwrap();
    let (log, pack) = (format!("log of {id}"), format!("pack of {id}"));
    let entry = KeptChanges {
        id: id.to_owned(),
        place: "here".to_owned(),
        call: format!("call {id}"),
        at_ms: 1_000_000,
        places: 3,
        undoes: vec!["other".to_owned()],
        bytes: 100,
        log: hex(&log),
        pack: Some(hex(&pack)),
        contents: vec![hex(large)],
        ..KeptChanges::default()
    };
    fs::write(file(home, id, KeptChanges::LOG), log).unwrap();
    fs::write(file(home, id, KeptChanges::PACK), pack).unwrap();
    fs::write(file(home, id, &hex(large)), large).unwrap();
    let told = serde_json::to_vec(&entry).unwrap();
    fs::write(file(home, id, KeptChanges::DONE), told).unwrap();
    entry
}

fn files(home: &Home) -> usize {
    fs::read_dir(home.path().join(KeptChanges::FOLDER))
        .unwrap()
        .count()
}

fn ids(changes: &Changes) -> Vec<String> {
    let listed = changes.list("here").unwrap();
    listed.into_iter().map(|entry| entry.id).collect()
}

#[test]
fn the_files_of_a_call_go_once_all_of_it_is_on_the_disk() {
    let home = Home::new();
    let journal = home.journal();
    let changes = changes(&home, &journal);
    let entry = come_in(&home, "a", "large");
    // Still at work, and cut short while it said that it was over.
    fs::write(file(&home, "b", KeptChanges::LOG), "log").unwrap();
    fs::write(file(&home, "c", KeptChanges::DONE), "{\"id\":").unwrap();
    changes.take_soon();
    let seen = journal.store().write(Durability::Process, |_| Ok(()));
    seen.wait().unwrap();
    assert_eq!(files(&home), 6, "listed, and perhaps not on the disk yet");
    let contents = Vec::new();
    let expected = KeptChanges {
        contents,
        ..entry.clone()
    };
    assert_eq!(changes.list("here").unwrap(), [expected]);
    assert_eq!(changes.list("there").unwrap(), []);
    assert_eq!(changes.take_all().unwrap(), 0, "it is known");
    assert_eq!(files(&home), 2);
    for (_, digest) in entry.files() {
        let content = std::io::read_to_string(changes.open(digest).unwrap()).unwrap();
        assert_eq!(hex(&content), digest);
    }
}

#[test]
fn order_is_that_of_their_ends_whatever_the_clock_says() {
    let home = Home::new();
    let journal = home.journal();
    let changes = changes(&home, &journal);
    for id in ["5", "3", "4"] {
        come_in(&home, id, id);
        assert_eq!(changes.take_all().unwrap(), 1);
    }
    assert_eq!(ids(&changes), ["4", "3", "5"]);
}

#[test]
fn a_call_whose_contents_are_gone_stays_where_it_is() {
    let home = Home::new();
    let journal = home.journal();
    let changes = changes(&home, &journal);
    come_in(&home, "a", "large");
    fs::remove_file(file(&home, "a", KeptChanges::PACK)).unwrap();
    assert_eq!(changes.take_all().unwrap(), 0);
    assert_eq!((ids(&changes).len(), files(&home)), (0, 3));
}

#[test]
fn limits_let_the_oldest_go_and_never_what_another_needs() {
    let home = Home::new();
    let journal = home.journal();
    let changes = changes(&home, &journal);
    for (id, large) in [("1", "same"), ("2", "same"), ("3", "others")] {
        come_in(&home, id, large);
    }
    assert_eq!(changes.take_all().unwrap(), 3);
    home.sql("UPDATE changes SET time = 5 WHERE id = '1'");
    home.sql("UPDATE blobs SET time = 5");
    let (all, gone) = changes.limit(6, u64::MAX, true).unwrap();
    assert_eq!((all.blobs, all.bytes, gone.blobs), (3, 300, 1));
    assert_eq!(ids(&changes).len(), 3, "a dry run");
    changes.limit(6, u64::MAX, false).unwrap();
    assert_eq!(ids(&changes), ["3", "2"]);
    let blobs = Blobs::new(journal.store().clone(), home.path());
    assert_eq!(blobs.sweep(false).unwrap().blobs, 2, "its log and its pack");
    assert!(changes.open(&hex("same")).is_ok());
    assert_eq!(changes.limit(0, 150, false).unwrap().1.blobs, 1);
    assert_eq!(ids(&changes), ["3"]);
    assert_eq!(blobs.sweep(false).unwrap().blobs, 3);
    assert!(changes.open(&hex("same")).is_err());
}

#[test]
fn two_that_take_over_at_once_list_each_call_once() {
    let home = Home::new();
    let journals = [home.journal(), home.journal()];
    for number in 0..40 {
        come_in(&home, &format!("{number:02}"), "large");
    }
    std::thread::scope(|scope| {
        for journal in &journals {
            let changes = changes(&home, journal);
            scope.spawn(move || changes.take_all().unwrap());
        }
    });
    let changes = changes(&home, &journals[0]);
    assert_eq!(ids(&changes).len(), 40);
    assert_eq!(files(&home), 0);
    for entry in changes.list("here").unwrap() {
        assert!(changes.open(&entry.log).is_ok());
    }
}
