//! Whole results, from the file they come in to the blob they become.

use std::fs;
use std::io::Read;

use haft_store::{Blobs, Results, StoreError, Values};
use rustix::fs::{FlockOperation, flock};

use crate::fixture::Home;

const HANDLE: &str = "r_0123";

fn come_in(home: &Home, session: &str, handle: &str, text: &str) -> std::path::PathBuf {
    let folder = home
        .path()
        .join("results")
        .join(haft_core::session_folder(session));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(handle), text).unwrap();
    folder.join(handle)
}

fn read(results: &Results, session: &str, handle: &str) -> Option<String> {
    let mut text = String::new();
    let mut file = results.open(session, handle).unwrap()?;
    file.read_to_string(&mut text).unwrap();
    Some(text)
}

#[test]
fn a_result_is_taken_over_and_found_by_its_session_alone() {
    let home = Home::new();
    let journal = home.journal();
    let results = Results::new(journal.store().clone(), home.path());
    let file = come_in(&home, "s", HANDLE, "whole");
    results.take("s", HANDLE);
    results.take("s", "r_gone");
    assert_eq!(
        journal.store().close(),
        0,
        "what is not there costs nothing"
    );
    assert!(!file.exists(), "its first name is gone");
    let results = Results::new(home.journal().store().clone(), home.path());
    assert_eq!(read(&results, "s", HANDLE).as_deref(), Some("whole"));
    assert_eq!(read(&results, "t", HANDLE), None);
    assert_eq!(read(&results, "s", "r_0124"), None);
}

#[test]
fn what_is_still_written_is_left_alone() {
    let home = Home::new();
    let results = Results::new(home.journal().store().clone(), home.path());
    let file = come_in(&home, "s", HANDLE, "half");
    let writer = fs::File::options().append(true).open(&file).unwrap();
    flock(&writer, FlockOperation::LockExclusive).unwrap();
    assert_eq!(results.take_all().unwrap(), 0);
    assert!(file.exists());
    drop(writer);
    assert_eq!(results.take_all().unwrap(), 1);
    assert_eq!(read(&results, "s", HANDLE).as_deref(), Some("half"));
    assert!(!file.parent().unwrap().exists(), "an empty folder goes");
}

#[test]
fn a_flipped_bit_is_said_and_not_read() {
    let home = Home::new();
    let results = Results::new(home.journal().store().clone(), home.path());
    come_in(&home, "s", HANDLE, "whole");
    results.take_all().unwrap();
    let id = haft_store::BlobId::of(b"whole");
    let (folder, name) = id.as_str().split_at(2);
    let blob = home.path().join("blobs").join(folder).join(name);
    fs::write(&blob, "whale").unwrap();
    assert!(matches!(
        results.open("s", HANDLE),
        Err(StoreError::Damaged(_))
    ));
    // The same bytes again put it right.
    come_in(&home, "t", HANDLE, "whole");
    results.take_all().unwrap();
    assert_eq!(read(&results, "s", HANDLE).as_deref(), Some("whole"));
}

#[test]
fn limits_let_the_oldest_go_and_never_what_another_needs() {
    let home = Home::new();
    let journal = home.journal();
    let results = Results::new(journal.store().clone(), home.path());
    for (number, text) in ["same", "same", "others"].iter().enumerate() {
        come_in(&home, "s", &format!("r_{number}"), text);
        results.take_all().unwrap();
    }
    home.sql("UPDATE blob_refs SET time = 5 WHERE owner LIKE '%r_0'");
    home.sql("UPDATE blobs SET time = 5");
    let (all, gone) = results.limit(6, u64::MAX, true).unwrap();
    assert_eq!((all.blobs, all.bytes, gone.blobs), (3, 14, 1));
    assert!(read(&results, "s", "r_0").is_some(), "a dry run");
    results.limit(6, u64::MAX, false).unwrap();
    let blobs = Blobs::new(journal.store().clone(), home.path());
    assert_eq!(blobs.sweep(false).unwrap().blobs, 0);
    assert_eq!(read(&results, "s", "r_0"), None);
    assert_eq!(read(&results, "s", "r_1").as_deref(), Some("same"));
    let (_, gone) = results.limit(0, 1, false).unwrap();
    assert_eq!(gone.blobs, 2);
    assert_eq!(blobs.sweep(false).unwrap().blobs, 2);
}

#[test]
fn things_by_name_are_seen_by_others_and_wait_nowhere() {
    let home = Home::new();
    assert_eq!(Values::peek(home.path(), "rule").unwrap(), []);
    assert!(!home.db().exists(), "looking makes nothing");
    let values = Values::new(home.journal().store().clone());
    let value = |name: &str| (name.to_owned(), name.as_bytes().to_vec());
    // Also on a thread that an async runtime has lent us.
    crate::fixture::block_on(async {
        let two = vec![(value("b"), 1), (value("a"), 2)];
        values.add("rule", two).wait().unwrap();
    });
    let other = vec![(("a".to_owned(), b"other".to_vec()), 9)];
    values.add("rule", other).wait().unwrap();
    let all = Values::peek(home.path(), "rule").unwrap();
    assert_eq!(all, [value("b"), value("a")]);
    let gone = values.remove("rule", |name, _| name == "a").wait().unwrap();
    assert_eq!(gone, [value("a")]);
    values.put("x", "a", b"1".to_vec()).wait().unwrap();
    values.put("x", "a", b"2".to_vec()).wait().unwrap();
    let found = Values::peek_at(home.path(), "x", "a").unwrap();
    assert_eq!(found.as_deref(), Some(&b"2"[..]));
    home.sql("PRAGMA user_version = 2");
    assert_eq!(Values::peek(home.path(), "rule").unwrap(), []);
    home.sql("PRAGMA user_version = 99");
    assert!(matches!(
        Values::peek(home.path(), "rule"),
        Err(StoreError::Newer { .. })
    ));
}
