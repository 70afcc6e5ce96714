//! The way back from an entry that was put in: as long as nobody has touched the file since, it
//! becomes again what it was, to the byte.

use serde::{Deserialize, Serialize};

/// What differs, and how to know that the file is still the one that was written. The rest of the
/// file is not kept: it can hold secrets.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Back {
    /// Hash of the text that was written
    written: String,
    /// Bytes at the beginning and at the end that are the same in both
    start: usize,
    end: usize,
    /// What stood between them; none where there was no file
    between: Option<String>,
}

impl Back {
    pub(crate) fn new(old: Option<&str>, new: &str) -> Back {
        let text = old.unwrap_or_default();
        let pairs = text.chars().zip(new.chars());
        let start: usize = pairs
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a.len_utf8())
            .sum();
        let (left, right) = (&text[start..], &new[start..]);
        let pairs = left.chars().rev().zip(right.chars().rev());
        let end: usize = pairs
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a.len_utf8())
            .sum();
        Back {
            written: hash(new),
            start,
            end,
            between: old.map(|_| left[..left.len() - end].to_owned()),
        }
    }

    /// What the file was, if this is what was written: some text, or that there was none.
    pub(crate) fn of(&self, text: &str) -> Option<Option<String>> {
        if hash(text) != self.written {
            return None;
        }
        let Some(between) = &self.between else {
            return Some(None);
        };
        let start = text.get(..self.start)?;
        let end = text.get(text.len().checked_sub(self.end)?..)?;
        Some(Some([start, between, end].concat()))
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_is_what_it_was() {
        for (old, new) in [
            ("", "x"),
            ("{\"ä\": 1}", "{\n  \"ä\": 1,\n  \"é\": 2\n}"),
            ("aaa", "aaaa"),
            ("a\nb\n", "a\nnew\nb\n"),
            ("same", "same"),
        ] {
            let back = Back::new(Some(old), new);
            assert_eq!(back.of(new).unwrap().unwrap(), old);
            assert!(back.of(&format!("{new} ")).is_none(), "it was touched");
        }
        assert_eq!(Back::new(None, "x").of("x"), Some(None));
    }
}
