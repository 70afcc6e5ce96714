//! A small dictionary for languages that the model knows too little of: everyday words become
//! English ones before a query's vectors are worked out. Keywords are looked for as typed. One
//! table for all of them and no guessing which language it is, so no entry may be an English word.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;

/// Lines of words, a colon, and what they are in English; `word-` also stands for longer forms.
const TABLE: &str = include_str!("../data/gloss.txt");

/// Longest ending that a longer form may have, in characters.
const LONGEST_ENDING: usize = 7;
/// Letters of a word that is looked for only as it is spelled.
const SHORT: usize = 3;
/// What Arabic puts before a word: the article, alone or behind a preposition.
const ARTICLES: [&str; 6] = ["ال", "وال", "بال", "فال", "كال", "لل"];

/// Which beginnings of three letters some entry has: most English words are told
/// apart by that alone.
static STARTS: LazyLock<Box<[bool]>> = LazyLock::new(|| {
    let mut starts = vec![false; 1 << 15];
    for word in MEANINGS.keys() {
        starts[start(word)] = true;
    }
    starts.into()
});

struct Meaning {
    english: &'static str,
    /// Longer forms are meant as well
    stem: bool,
}

static MEANINGS: LazyLock<HashMap<String, Meaning>> = LazyLock::new(|| {
    let mut meanings = HashMap::new();
    for (words, english) in entries() {
        for word in words.split_whitespace() {
            let bare = word.trim_end_matches('-');
            let meaning = Meaning {
                english,
                stem: bare != word,
            };
            // The first line that has a word counts.
            meanings.entry(key(bare)).or_insert(meaning);
        }
    }
    meanings
});

fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| Some((line.split_once(':')?.0, line.split_once(':')?.1.trim())))
}

/// The text with the words that the table has in English.
pub(crate) fn glossed(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut word = String::new();
    for c in text.chars() {
        if c.is_alphabetic() || is_mark(c) {
            word.push(c);
        } else {
            flush(&mut word, &mut out);
            out.push(c);
        }
    }
    flush(&mut word, &mut out);
    out
}

fn flush(word: &mut String, out: &mut String) {
    out.push_str(meaning(word).unwrap_or(word));
    word.clear();
}

/// The first three letters as a number; of bytes beyond ASCII some bits.
fn start(word: &str) -> usize {
    let bytes = word.bytes().chain(std::iter::repeat(0)).take(3);
    bytes.fold(0, |sum, byte| sum << 5 | usize::from(byte & 31))
}

/// A word in English, if the table has it.
fn meaning(word: &str) -> Option<&'static str> {
    // Letters of ASCII need no folding, and no article stands before them.
    if word.is_empty() || word.is_ascii() && !STARTS[start(word)] {
        return None;
    }
    let word = key(word);
    let bare = ARTICLES
        .iter()
        .filter_map(|article| word.strip_prefix(article));
    std::iter::once(&*word).chain(bare).find_map(|word| {
        if let Some(meaning) = MEANINGS.get(word) {
            return Some(meaning.english);
        }
        let shorter = word.char_indices().rev().take(LONGEST_ENDING);
        let mut shorter = shorter.filter_map(|(end, _)| MEANINGS.get(&word[..end]));
        shorter
            .find(|meaning| meaning.stem)
            .map(|meaning| meaning.english)
    })
}

/// The form in which words meet: a short one as it is spelled, since without its accents it could
/// be anything.
fn key(word: &str) -> String {
    match word.chars().count() {
        ..=SHORT => word.to_lowercase(),
        _ => folded(word),
    }
}

/// Lower case, without accents and without the signs for short vowels that Arabic may leave out.
fn folded(word: &str) -> String {
    let letters = word.chars().flat_map(char::to_lowercase).nfkd();
    letters
        .filter(|c| !matches!(c, '\u{300}'..='\u{36f}' | '\u{64b}'..='\u{655}'))
        .collect()
}

fn is_mark(c: char) -> bool {
    !c.is_ascii() && unicode_normalization::char::is_combining_mark(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_english_in_any_of_their_forms() {
        let check = |text: &str, want: &str| assert_eq!(glossed(text), want);
        check("Mutfaktaki lambayı", "kitchen light lamp");
        check("الأبواب", "door");
        check("MÚSICA, música", "MÚSICA, música");
        check("चुप", "चुप");
        check("", "");
        check("-- ", "-- ");
    }

    #[test]
    fn every_line_says_what_its_words_mean() {
        for line in TABLE
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let (words, english) = line.split_once(": ").unwrap();
            assert!(!words.trim().is_empty() && english.is_ascii(), "{line}");
            for word in words.split_whitespace() {
                let bare = word.trim_end_matches('-');
                assert!(
                    bare.chars().all(|c| c.is_alphabetic() || is_mark(c)),
                    "{word}"
                );
                assert!(
                    bare == word || bare.len() >= 3,
                    "{word}: too short for a stem"
                );
            }
        }
    }
}
