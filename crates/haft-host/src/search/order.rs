//! The order of an answer: what a folder holds itself before what its folders hold, each by name.

use std::cmp::Ordering;

/// Compare two paths, slashes between their names. A path that ends with a slash stands for the
/// first thing that could be in that folder.
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let fork = memchr::memrchr(b'/', &a[..same]).map_or(0, |slash| slash + 1);
    let name = |path: &'_ [u8]| memchr::memchr(b'/', &path[fork..]).map(|length| fork + length);
    match (name(a), name(b)) {
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (None, None) => a[fork..].cmp(&b[fork..]),
        (Some(end_a), Some(end_b)) => a[fork..end_a].cmp(&b[fork..end_b]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_before_folders() {
        let sorted = [
            "", "a.txt", "z.txt", "a/", "a/x", "a/y", "a/b/", "a/b/c", "a-b/c", "b/a",
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                let ordering = compare(a.as_bytes(), b.as_bytes());
                assert_eq!(ordering, i.cmp(&j), "{a} {b}");
            }
        }
    }
}
