//! Line ends of another program's file: an editor may read and write `\n`; what it does not touch
//! keeps its bytes, and what it puts in ends its lines as the file does.

use anyhow::Result;

/// Edit a text whose lines may end in `\r\n` as if they ended in `\n`.
pub(super) fn kept(text: &str, edit: impl FnOnce(&str) -> Result<String>) -> Result<String> {
    if !text.contains("\r\n") {
        return edit(text);
    }
    let plain = text.replace("\r\n", "\n");
    let new = edit(&plain)?;
    let length = |(a, b): (char, char)| (a == b).then_some(a.len_utf8());
    let start: usize = plain.chars().zip(new.chars()).map_while(length).sum();
    let (old_rest, new_rest) = (&plain[start..], &new[start..]);
    let ends = old_rest.chars().rev().zip(new_rest.chars().rev());
    let end: usize = ends.map_while(length).sum();
    let first = text.find('\n').unwrap_or_default();
    let put_in = &new_rest[..new_rest.len() - end];
    let put_in = match text[..first].ends_with('\r') {
        true => put_in.replace('\n', "\r\n"),
        false => put_in.to_owned(),
    };
    let (before, after) = (place(text, start), place(text, plain.len() - end));
    Ok([&text[..before], &put_in, &text[after..]].concat())
}

/// Where in the text stands what is at this place when all lines end in `\n`.
fn place(text: &str, plain: usize) -> usize {
    let mut left = plain;
    for (at, piece) in text.split_inclusive('\n').scan(0, |at, piece| {
        let start = *at;
        *at += piece.len();
        Some((start, piece))
    }) {
        let length = piece.len() - usize::from(piece.ends_with("\r\n"));
        if left < length {
            return at + left;
        }
        left -= length;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, from: &str, to: &str, expected: &str) {
        let edited = kept(text, |plain| Ok(plain.replacen(from, to, 1))).unwrap();
        assert_eq!(edited, expected, "{text:?}");
        let back = kept(&edited, |plain| Ok(plain.replacen(to, from, 1))).unwrap();
        assert_eq!(back, text);
    }

    #[test]
    fn only_what_is_edited_changes() {
        check("a\nb\n", "b\n", "b\nc\n", "a\nb\nc\n");
        check("a\r\nb\r\n", "b\n", "b\nc\n", "a\r\nb\r\nc\r\n");
        check("a\r\nb\nd\r\n", "b\n", "b\nc\n", "a\r\nb\nc\r\nd\r\n");
        check("a\nb\r\n", "b", "x\nb", "a\nx\nb\r\n");
        check("ä\r\nb", "b", "b\nü", "ä\r\nb\r\nü");
        check("a\r\n", "a\n", "a\n\n\nz\n", "a\r\n\r\n\r\nz\r\n");
    }
}
