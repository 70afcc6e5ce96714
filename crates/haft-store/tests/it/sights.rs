//! What sessions have seen: known to every process, taken over from files, not kept for ever.

use haft_store::Sights;

use super::fixture::Home;

fn sights(home: &Home) -> Sights {
    Sights::new(home.journal().store().clone(), home.path())
}

#[test]
fn what_was_seen_last_is_known_at_once_and_to_another_process() {
    let home = Home::new();
    let (one, other) = (sights(&home), sights(&home));
    for n in 0..50_u8 {
        one.keep("s/a", &[n]);
        assert_eq!(one.last("s/a").unwrap(), Some(vec![n]));
    }
    assert_eq!(other.last("s/a").unwrap(), Some(vec![49]));
    assert_eq!(other.last("s/b").unwrap(), None);
}

/// A record as an older haft wrote it.
fn record(key: u8, kind: u8, what: u8) -> Vec<u8> {
    let mut record = vec![0; 128];
    record[..32].fill(key);
    record[32] = kind;
    record[40..96].fill(what);
    let check = blake3::hash(&record[..112]);
    record[112..].copy_from_slice(&check.as_bytes()[..16]);
    record
}

#[test]
fn files_of_an_older_haft_are_taken_over_once() {
    let home = Home::new();
    let folder = home.path().join("seen");
    std::fs::create_dir(&folder).unwrap();
    let session = "0123456789abcdef0123456789abcdef";
    let mut spoilt = record(3, 1, 5);
    spoilt[50] ^= 1;
    // Places that nobody used are empty.
    let bytes = [record(1, 1, 7), vec![0; 128], spoilt, record(2, 3, 9)].concat();
    std::fs::write(folder.join(session), bytes).unwrap();
    let sights = sights(&home);
    let name = |key: &str| format!("{session}/{}", key.repeat(32));
    // What was seen since is newer.
    sights.keep(&name("02"), &[4]);
    assert_eq!(sights.take_over().unwrap(), 2);
    assert!(!folder.exists());
    let mut first = vec![1];
    first.extend([7; 56]);
    assert_eq!(sights.last(&name("01")).unwrap(), Some(first));
    assert_eq!(sights.last(&name("02")).unwrap(), Some(vec![4]));
    assert_eq!(sights.last(&name("03")).unwrap(), None);
    assert_eq!(sights.take_over().unwrap(), 0);
}

#[test]
fn what_is_old_is_forgotten() {
    let home = Home::new();
    let sights = sights(&home);
    sights.keep("s/a", b"x");
    sights.forget(0).unwrap();
    assert!(sights.last("s/a").unwrap().is_some());
    sights.forget(i64::MAX).unwrap();
    assert_eq!(sights.last("s/a").unwrap(), None);
}
