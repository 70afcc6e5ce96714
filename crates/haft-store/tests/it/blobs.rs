//! Bytes by their hash.

use haft_store::{BlobId, Blobs, StoreError};

use crate::fixture::Home;

#[test]
fn blobs_are_kept_once_and_come_back_as_they_were() {
    let home = Home::new();
    let blobs = Blobs::new(home.journal().store().clone(), home.path());
    let id = blobs.keep("a", b"bytes").unwrap();
    assert_eq!(blobs.keep("b", b"bytes").unwrap(), id);
    assert_eq!(blobs.read(&id).unwrap(), b"bytes");
    let empty = blobs.keep("a", b"").unwrap();
    assert_eq!(blobs.read(&empty).unwrap(), b"");
    assert!(blobs.read(&BlobId::of(b"never kept")).is_err());
    for bad in ["", "../../etc/passwd", &"A".repeat(64), &"a".repeat(65)] {
        assert_eq!(BlobId::parse(bad), None, "{bad}");
    }
}

#[test]
fn a_changed_blob_is_not_handed_out_and_can_be_kept_again() {
    let home = Home::new();
    let blobs = Blobs::new(home.journal().store().clone(), home.path());
    let id = blobs.keep("a", b"good bytes").unwrap();
    let (folder, name) = id.as_str().split_at(2);
    let file = home.path().join("blobs").join(folder).join(name);
    std::fs::write(&file, b"evil bytes").unwrap();
    assert!(matches!(blobs.read(&id), Err(StoreError::Damaged(_))));
    assert_eq!(blobs.keep("b", b"good bytes").unwrap(), id);
    assert_eq!(blobs.read(&id).unwrap(), b"good bytes");
}

#[test]
fn only_what_nobody_refers_to_is_swept() {
    let home = Home::new();
    let blobs = Blobs::new(home.journal().store().clone(), home.path());
    let shared = blobs.keep("a", b"shared").unwrap();
    blobs.keep("b", b"shared").unwrap();
    let alone = blobs.keep("a", b"alone").unwrap();
    let fresh = blobs.keep("c", b"fresh").unwrap();
    blobs.release(vec!["a".to_owned()]).unwrap();
    blobs.release(vec!["c".to_owned()]).unwrap();
    home.sql(&format!(
        "UPDATE blobs SET time = 0 WHERE hash <> '{}'",
        fresh.as_str()
    ));
    let dry = blobs.sweep(true).unwrap();
    assert_eq!((dry.blobs, dry.bytes), (1, 5));
    assert!(blobs.read(&alone).is_ok(), "a dry run removes nothing");
    assert_eq!(blobs.sweep(false).unwrap(), dry);
    assert!(blobs.read(&alone).is_err());
    assert!(blobs.read(&shared).is_ok(), "somebody refers to it");
    assert!(blobs.read(&fresh).is_ok(), "it may be on its way");
    blobs.release(vec!["b".to_owned()]).unwrap();
    assert_eq!(blobs.sweep(false).unwrap().blobs, 1);
}

/// A haft that died between the bytes and the word of them leaves a file that nobody knows.
#[test]
fn files_that_nobody_knows_go_when_they_are_old() {
    let home = Home::new();
    let blobs = Blobs::new(home.journal().store().clone(), home.path());
    let known = blobs.keep("a", b"known").unwrap();
    let folder = home.path().join("blobs/ab");
    std::fs::create_dir_all(&folder).unwrap();
    let unknown = folder.join("c".repeat(62));
    let draft = folder.join(".x.new-1-1");
    let young = folder.join("d".repeat(62));
    for file in [&unknown, &draft, &young] {
        std::fs::write(file, "left").unwrap();
    }
    let (shelf, name) = known.as_str().split_at(2);
    for file in [
        &unknown,
        &draft,
        &home.path().join("blobs").join(shelf).join(name),
    ] {
        let file = std::fs::File::options().append(true).open(file).unwrap();
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7_200);
        file.set_modified(long_ago).unwrap();
    }
    let dry = blobs.sweep(true).unwrap();
    assert_eq!((dry.blobs, dry.bytes), (2, 8));
    assert_eq!(blobs.sweep(false).unwrap(), dry);
    assert!(!unknown.exists() && !draft.exists() && young.exists());
    assert_eq!(blobs.read(&known).unwrap(), b"known");
}
