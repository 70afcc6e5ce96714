//! The form of a text that the model was trained on: lower case, compatible characters joined
//! (NFKC), case folded, spaces made one.

use unicode_normalization::UnicodeNormalization;

/// Stands for a space, in pieces and in text handed to the tokenizer.
pub(crate) const SPACE: char = '\u{2581}';

/// Write the model's form of a text: `▁` in front, `▁` for each run of spaces. Text that holds
/// nothing but spaces and control characters becomes empty.
pub(crate) fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4 + 3);
    if text.is_ascii() {
        // All the steps below at once: ASCII has no compatible forms.
        let lower = text
            .bytes()
            .map(|byte| char::from(byte.to_ascii_lowercase()));
        push_all(&mut out, lower);
    } else {
        let lower: String = text.chars().flat_map(char::to_lowercase).nfkc().collect();
        push_all(&mut out, lower.chars().map(fold).nfkc());
    }
    out
}

fn push_all(out: &mut String, chars: impl Iterator<Item = char>) {
    let mut pending = true;
    for c in chars {
        if is_space(c) {
            pending = true;
        } else if !c.is_control() {
            if pending {
                out.push(SPACE);
                pending = false;
            }
            out.push(c);
        }
    }
}

fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200f}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{202f}'
                | '\u{205f}'
                | '\u{3000}'
                | '\u{feff}'
                | SPACE
    )
}

/// Simple case folding of a character that is lower case already, or that NFKC brought back as a
/// capital (ℌ became H).
fn fold(c: char) -> char {
    match c {
        'ς' => 'σ',
        '\u{345}' => 'ι',
        '\u{1c80}' => 'в',
        '\u{1c81}' => 'д',
        '\u{1c82}' => 'о',
        '\u{1c83}' => 'с',
        '\u{1c84}' | '\u{1c85}' => 'т',
        '\u{1c86}' => 'ъ',
        '\u{1c87}' => 'ѣ',
        '\u{1c88}' => '\u{a64b}',
        // Cherokee folds to its capitals.
        '\u{13f8}'..='\u{13fd}' => shifted(c, -8),
        '\u{ab70}'..='\u{abbf}' => shifted(c, 0x13a0 - 0xab70),
        _ => {
            let mut lower = c.to_lowercase();
            match (lower.next(), lower.next()) {
                (Some(one), None) => one,
                _ => c,
            }
        }
    }
}

fn shifted(c: char, by: i32) -> char {
    (c as u32)
        .checked_add_signed(by)
        .and_then(char::from_u32)
        .unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_the_models_form() {
        let check = |text: &str, want: &str| assert_eq!(normalise(text), want, "{text:?}");
        check("", "");
        check(" \t\u{200b} ", "");
        check("Read a  File", "▁read▁a▁file");
        check("ΟΔΟΣ", "▁οδοσ");
        check("Straße", "▁straße");
        check("ﬁle\u{7}s", "▁files");
        check("ＡＢ　ｃ", "▁ab▁c");
        check("\u{feff}x\r\ny", "▁x▁y");
    }
}
