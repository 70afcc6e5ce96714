//! Writing the index and reading it again.

use haft_search::{Index, LoadError};

use crate::catalogue::builtin;

fn index() -> Index {
    let mut index = Index::new();
    index.update(&builtin());
    index
}

#[test]
fn read_again_it_answers_the_same() {
    let mut index = index();
    index.remove("mail.send");
    let again = Index::from_bytes(&index.to_bytes()).unwrap();
    for query in ["read a file", "bash", "datenbank abfragen", "calend"] {
        assert_eq!(
            again.searcher().search(query, 10),
            index.searcher().search(query, 10),
            "{query}"
        );
    }
    assert_eq!(again.to_bytes(), index.to_bytes());
}

#[test]
fn read_again_nothing_is_embedded_again() {
    let mut again = Index::from_bytes(&index().to_bytes()).unwrap();
    let changes = again.update(&builtin());
    assert_eq!(
        (changes.added, changes.removed, changes.kept),
        (0, 0, builtin().len())
    );
}

#[test]
fn damaged_bytes_are_refused() {
    let bytes = index().to_bytes();
    let check = |bytes: &[u8], want: LoadError| {
        assert_eq!(
            Index::from_bytes(bytes).err(),
            Some(want),
            "{} bytes",
            bytes.len()
        );
    };
    check(&[], LoadError::Damaged);
    check(
        b"something else that is longer than a checksum is",
        LoadError::Damaged,
    );
    for end in [10, 40, bytes.len() / 2, bytes.len() - 1] {
        let error = Index::from_bytes(&bytes[..end]).err();
        assert!(error.is_some(), "{end}");
    }
    for at in (20..bytes.len()).step_by(997) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        check(&damaged, LoadError::Damaged);
    }
    let mut other = bytes;
    other[8] ^= 1;
    check(&other, LoadError::OtherVersion);
}
