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
    blobs.release("a").unwrap();
    blobs.release("c").unwrap();
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
    blobs.release("b").unwrap();
    assert_eq!(blobs.sweep(false).unwrap().blobs, 1);
}
