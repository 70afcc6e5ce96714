//! A query made ready: clipped, cleaned, cut into words and pieces. Whatever comes in, the work
//! that follows is bounded.

use crate::dot::{Row, Wide};
use crate::gloss;
use crate::model::{self, DIMENSIONS};
use crate::synonyms;
use crate::words::words;

/// Bytes read of a long query: its start, and its end, where people ask after pasting a log.
const FIRST_BYTES: usize = 900;
const LAST_BYTES: usize = 300;
const MOST_WORDS: usize = 64;
const MOST_PIECES: usize = 200;
const MOST_CLAUSES: usize = 12;
/// A clause of fewer pieces says too little to be compared alone.
const SHORTEST_CLAUSE: usize = 3;
/// A synonym counts this much of the word itself.
const SYNONYM_WEIGHT: f32 = 0.3;

const CLAUSE_ENDS: [char; 13] = [
    '.', ',', ';', '?', '!', '\n', '。', '、', '，', '？', '！', '؟', '،',
];

/// As Latin, Chinese, Arabic and Greek writing have it.
const QUESTION_MARKS: [char; 4] = ['?', '？', '؟', '\u{37e}'];

/// Unit vectors are multiplied by this before they become whole numbers.
pub(crate) const WIDE: f32 = 8191.0;

/// A word to look for.
pub(crate) struct QueryWord {
    pub(crate) text: String,
    pub(crate) weight: f32,
    /// Typed, and not added by us: only such words say how much of the query a catalogue covers
    pub(crate) typed: bool,
}

/// A query, ready to be asked.
pub(crate) struct Query {
    pub(crate) words: Vec<QueryWord>,
    pub(crate) pieces: Vec<u16>,
    /// It has a question mark
    pub(crate) asks: bool,
    pub(crate) vector: Wide,
    /// The same with fewer bits, and what its numbers are to be multiplied by
    pub(crate) small: (Row, f32),
    /// The vectors of its clauses; the whole where there is but one
    pub(crate) clauses: Vec<Wide>,
}

/// What people have written down about words: synonyms and the dictionary.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lexicon {
    Whole,
    /// To judge what is left without it
    #[cfg(feature = "eval")]
    None,
}

impl Query {
    pub(crate) fn of(text: &str) -> Query {
        Query::read(text, Lexicon::Whole)
    }

    pub(crate) fn read(text: &str, lexicon: Lexicon) -> Query {
        let text = cleaned(&clipped(text));
        let glossed = match lexicon {
            Lexicon::Whole => gloss::glossed(&text),
            #[cfg(feature = "eval")]
            Lexicon::None => text.clone(),
        };
        let mut pieces = Vec::new();
        let mut clauses = Vec::new();
        let mut whole = [0.0; DIMENSIONS];
        for clause in glossed.split(CLAUSE_ENDS) {
            let mut ids = model::pieces(clause);
            ids.truncate(MOST_PIECES - pieces.len());
            let sum = model::sum(&ids);
            for (whole, part) in whole.iter_mut().zip(&sum) {
                *whole += part;
            }
            if ids.len() >= SHORTEST_CLAUSE && clauses.len() < MOST_CLAUSES {
                clauses.push(wide(sum));
            }
            pieces.extend(ids);
        }
        let vector = wide(whole);
        if clauses.is_empty() {
            clauses.push(vector);
        }
        Query {
            asks: text.contains(QUESTION_MARKS),
            words: query_words(&text, lexicon),
            pieces,
            small: small(&vector),
            vector,
            clauses,
        }
    }

    /// True where nothing was said.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.words.is_empty()
    }
}

fn query_words(text: &str, lexicon: Lexicon) -> Vec<QueryWord> {
    let mut list: Vec<QueryWord> = Vec::new();
    words(text, |word| {
        if list.len() < MOST_WORDS && list.iter().all(|have| have.text != word) {
            list.push(QueryWord {
                text: word.to_owned(),
                weight: 1.0,
                typed: true,
            });
        }
    });
    let added: Vec<&str> = match lexicon {
        Lexicon::Whole => list
            .iter()
            .flat_map(|word| synonyms::of(&word.text))
            .copied()
            .collect(),
        #[cfg(feature = "eval")]
        Lexicon::None => Vec::new(),
    };
    for other in added {
        if list.iter().all(|have| have.text != other) {
            list.push(QueryWord {
                text: other.to_owned(),
                weight: SYNONYM_WEIGHT,
                typed: false,
            });
        }
    }
    list
}

/// Start and end of a text that is too long.
fn clipped(text: &str) -> String {
    if text.len() <= FIRST_BYTES + LAST_BYTES {
        return text.to_owned();
    }
    let first = &text[..text.floor_char_boundary(FIRST_BYTES)];
    let last = &text[text.ceil_char_boundary(text.len() - LAST_BYTES)..];
    format!("{first}\n{last}")
}

/// Without what names a thing and no deed: addresses and plain numbers. A query of nothing else
/// stays as it is.
fn cleaned(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for token in text.split_inclusive(char::is_whitespace) {
        let bare = token.trim_matches(|c: char| !c.is_alphanumeric());
        let number = bare.bytes().any(|byte| byte.is_ascii_digit())
            && !bare.chars().any(char::is_alphabetic);
        if number || bare.contains("://") || bare.contains('@') {
            out.push(' ');
        } else {
            out.push_str(token);
        }
    }
    if out.trim().is_empty() {
        text.to_owned()
    } else {
        out
    }
}

/// A sum of rows as a vector of length 1 in whole numbers.
fn wide(sum: [f32; DIMENSIONS]) -> Wide {
    // Rounded by hand: the function for it is a call on machines without SSE 4.
    model::scaled(sum).map(|x| (x * WIDE + 0.5_f32.copysign(x)) as i16)
}

fn small(vector: &Wide) -> (Row, f32) {
    let largest = vector.iter().map(|x| x.unsigned_abs()).max();
    let shrink = 127.0 / f32::from(largest.unwrap_or(0).max(1));
    let shrunk = |x: i16| {
        let x = f32::from(x) * shrink;
        (x + 0.5_f32.copysign(x)) as i8
    };
    (vector.map(shrunk), 1.0 / (shrink * WIDE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_deed_is_dropped() {
        let check = |text: &str, want: &str| {
            let have = cleaned(text);
            assert_eq!(
                have.split_whitespace().collect::<Vec<_>>().join(" "),
                want,
                "{text:?}"
            );
        };
        check("send 5 mails to a@b.example", "send mails to");
        check("fetch https://example.com/x, please", "fetch please");
        check("set h264 at 10:30", "set h264 at");
        check("42", "42");
    }

    #[test]
    fn long_queries_are_bounded() {
        let query = Query::of(&"delete the old file. ".repeat(5_000));
        assert!(query.pieces.len() <= MOST_PIECES && query.clauses.len() <= MOST_CLAUSES);
        let query = Query::of(&(0..9_000).map(|n| format!("w{n}x ")).collect::<String>());
        assert!(query.words.len() <= MOST_WORDS, "{}", query.words.len());
        let end = Query::of(&("x".repeat(100_000) + " read a file"));
        assert!(end.words.iter().any(|word| word.text == "read"));
    }
}
