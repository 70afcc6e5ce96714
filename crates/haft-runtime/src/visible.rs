//! What a person sees is what runs: characters that hide, reorder or repaint text are spelled out.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with control, bidirectional, zero-width and other invisible characters made visible.
/// New lines and tabs stay.
pub fn visible(text: &str) -> String {
    if !text.chars().any(hides) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hides(c) {
            let _ = write!(shown, "\\u{{{:x}}}", c as u32);
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The first `limit` characters, with what was left out stated.
pub(crate) fn shortened(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        None => Cow::Borrowed(text),
        Some((end, _)) => {
            let total = text.chars().count();
            Cow::Owned(format!(
                "{}… [{} more characters]",
                &text[..end],
                total - limit
            ))
        }
    }
}

fn hides(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => {
            true
        }
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' => true,
        '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' => true,
        '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides() {
        assert_eq!(visible("rm -rf x\ty\nz ü 漢"), "rm -rf x\ty\nz ü 漢");
        assert_eq!(visible("a\u{1b}[2Kb"), "a\\u{1b}[2Kb");
        assert_eq!(
            visible("a\u{202e}b\u{200b}c\rd"),
            "a\\u{202e}b\\u{200b}c\\u{d}d"
        );
        assert_eq!(shortened("häftig", 3), "häf… [3 more characters]");
        assert_eq!(shortened("haft", 4), "haft");
    }
}
