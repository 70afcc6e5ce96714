//! Options as programs read them. A long one may be cut short, and most programs take what is left
//! of it for the whole: `--rec` is `--recursive`. What is too short to be clear is an error there,
//! and counts here.

use super::Word;

/// Whether a word is this long option, whole or cut short, with a value or without.
pub(crate) fn is_long(text: &str, option: &str) -> bool {
    let Some(given) = text.strip_prefix("--") else {
        return false;
    };
    let name = given.split_once('=').map_or(given, |(name, _)| name);
    !name.is_empty() && option.trim_start_matches('-').starts_with(name)
}

pub(crate) fn has_long<'a>(words: impl IntoIterator<Item = &'a Word>, options: &[&str]) -> bool {
    let is_one = |text: &str| options.iter().any(|option| is_long(text, option));
    words.into_iter().any(|word| is_one(&word.text))
}

/// The letters of a word that gives options by one letter each.
pub(crate) fn letters(text: &str) -> Option<&str> {
    let letters = text.strip_prefix('-')?;
    (!letters.is_empty() && !letters.starts_with('-')).then_some(letters)
}

/// The same, up to the first letter that has a value.
pub(crate) fn flags<'a>(text: &'a str, valued: &str) -> Option<&'a str> {
    letters(text)?.split(|c| valued.contains(c)).next()
}

pub(crate) fn has_letter<'a>(words: impl IntoIterator<Item = &'a Word>, wanted: &[char]) -> bool {
    words
        .into_iter()
        .filter_map(|word| letters(&word.text))
        .any(|letters| letters.contains(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_options_may_be_cut_short() {
        let check = |text: &str, expected: bool| {
            assert_eq!(is_long(text, "--recursive"), expected, "{text}");
        };
        for text in ["--recursive", "--recurs", "--rec", "--r", "--rec=x"] {
            check(text, true);
        }
        for text in [
            "--",
            "-r",
            "--reverse",
            "--recursively",
            "recursive",
            "--=rec",
        ] {
            check(text, false);
        }
    }
}
