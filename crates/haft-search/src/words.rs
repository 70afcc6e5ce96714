//! From text to the words of the keyword index: identifiers split, accents folded, endings cut,
//! scripts without spaces cut into pairs of characters.
//!
//! The same function serves tools and queries, so that both meet in the same form.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::stem::stem;

/// Longest word kept, in bytes: beyond it lies base64, not language.
const LONGEST: usize = 40;

/// Call `found` with each word of a text, in order, stop words aside.
pub(crate) fn words(text: &str, mut found: impl FnMut(&str)) {
    raw_words(text, |word| {
        if !is_stop_word(word) {
            found(stem(word));
        }
    });
}

/// Each word, lower case and without accents, before stemming and with stop words.
pub(crate) fn raw_words(text: &str, mut found: impl FnMut(&str)) {
    let mut word = String::new();
    let mut run = Vec::new();
    let mut before = Kind::Other;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let kind = Kind::of(c);
        let breaks = match (before, kind) {
            (_, Kind::Other) | (Kind::Pair, _) | (_, Kind::Pair) => kind != before,
            (Kind::Lower | Kind::Digit, Kind::Upper) => true,
            // `HTTPServer`: the last capital of a run begins the next word.
            (Kind::Upper, Kind::Upper) => {
                chars
                    .peek()
                    .is_some_and(|next| Kind::of(*next) == Kind::Lower)
                    && !word.is_empty()
            }
            _ => false,
        };
        if breaks {
            flush(&mut word, &mut run, &mut found);
        }
        match kind {
            Kind::Other => {}
            Kind::Pair => run.push(c),
            _ => push_folded(&mut word, c),
        }
        if kind != Kind::Mark {
            before = kind;
        }
    }
    flush(&mut word, &mut run, &mut found);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    /// A combining mark: belongs to the letter before
    Mark,
    /// A character of a script that puts no spaces between words
    Pair,
    Other,
}

impl Kind {
    fn of(c: char) -> Kind {
        match c {
            'a'..='z' => Kind::Lower,
            'A'..='Z' => Kind::Upper,
            '0'..='9' => Kind::Digit,
            _ if c.is_ascii() => Kind::Other,
            _ if is_unspaced(c) => Kind::Pair,
            _ if is_combining_mark(c) => Kind::Mark,
            _ if c.is_uppercase() => Kind::Upper,
            _ if c.is_alphabetic() => Kind::Lower,
            _ if c.is_numeric() => Kind::Digit,
            _ => Kind::Other,
        }
    }
}

fn is_unspaced(c: char) -> bool {
    matches!(
        c as u32,
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff // Thai, Lao, Myanmar, Khmer
            | 0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff
            | 0x2_0000..=0x3_ffff
    )
}

fn push_folded(word: &mut String, c: char) {
    if c.is_ascii() {
        word.push(c.to_ascii_lowercase());
        return;
    }
    for lower in c.to_lowercase() {
        match lower {
            'ß' => word.push_str("ss"),
            'ø' => word.push('o'),
            'ł' => word.push('l'),
            'đ' => word.push('d'),
            'ı' => word.push('i'),
            'æ' => word.push_str("ae"),
            'œ' => word.push_str("oe"),
            _ => {
                for part in std::iter::once(lower).nfkd() {
                    if !is_combining_mark(part) {
                        word.push(part);
                    }
                }
            }
        }
    }
}

fn flush(word: &mut String, run: &mut Vec<char>, found: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        if word.len() <= LONGEST {
            found(word);
        }
        word.clear();
    }
    match run.as_slice() {
        [] => return,
        [one] => found(one.encode_utf8(&mut [0; 4])),
        several => {
            for pair in several.windows(2) {
                let mut text = String::with_capacity(8);
                text.extend(pair);
                found(&text);
            }
        }
    }
    run.clear();
}

/// Words that say nothing about which tool is meant. English only: words of other languages
/// seldom occur in a catalogue, and where they do they mean something.
pub(crate) fn is_stop_word(word: &str) -> bool {
    word.len() <= LONGEST_STOP_WORD && STOP_WORDS.binary_search(&word).is_ok()
}

const LONGEST_STOP_WORD: usize = 7;

#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as",
    "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by",
    "can", "could", "d", "did", "do", "does", "doing", "don", "down", "during", "each", "few",
    "for", "from", "further", "had", "has", "have", "having", "he", "her", "here", "him", "his",
    "how", "i", "if", "in", "into", "is", "it", "its", "just", "ll", "m", "me", "more", "most",
    "my", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our",
    "out", "over", "own", "please", "re", "s", "same", "she", "should", "so", "some", "such", "t",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "through", "to", "too", "under", "until", "up", "us", "ve", "very", "was", "we", "were",
    "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "would",
    "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &str) {
        let mut have = Vec::new();
        raw_words(text, |word| have.push(word.to_owned()));
        assert_eq!(have.join(" "), want, "{text:?}");
    }

    #[test]
    fn identifiers_are_split() {
        check("file.read", "file read");
        check("getHTTPServerName2", "get http server name2");
        check("mcp__git-hub__list_PR", "mcp git hub list pr");
        check("sha256 md5Sum", "sha256 md5 sum");
        check("OAuth", "o auth");
    }

    #[test]
    fn accents_are_folded() {
        check("Créer un dossier", "creer un dossier");
        check("Cre\u{301}er", "creer");
        check("Größe łódź", "grosse lodz");
        check("Файл", "фаил");
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        check("读取文件", "读取 取文 文件");
        check("ファイルを読む x", "ファ ァイ イル ルを を読 読む x");
        check("字", "字");
    }

    #[test]
    fn stop_words_are_sorted_and_dropped() {
        assert!(STOP_WORDS.is_sorted());
        assert!(
            STOP_WORDS
                .iter()
                .all(|word| word.len() <= LONGEST_STOP_WORD)
        );
        let mut have = Vec::new();
        words("please read the files", |word| have.push(word.to_owned()));
        assert_eq!(have, ["read", "fil"]);
    }
}
