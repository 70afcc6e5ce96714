//! What is worked out from one tool's text, once: its pieces, its vectors, its words by field.
//! Nothing here depends on the other tools, so it can be kept and moved between indexes.

use std::collections::BTreeMap;

use crate::doc::ToolDoc;
use crate::dot::Row;
use crate::model::{self, DIMENSIONS};
use crate::words::words;

/// Most pieces of a tool that are compared one by one with a query's.
const MOST_PIECES: usize = 96;
/// Most words of one field that are indexed: a description of a megabyte is not read whole.
const MOST_WORDS: usize = 2_000;
/// Most bytes of one text that are read.
const MOST_TEXT: usize = 16_000;

/// What a word counts in the name, the description, a parameter's name and elsewhere.
pub(crate) const FIELD_WEIGHTS: [f32; 4] = [1.0, 1.0, 0.8, 0.4];

/// The fields of the keyword index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Name,
    Body,
    Parameter,
    Other,
}

/// A vector of length 1 in eight bits a number: numbers × scale.
#[derive(Clone, PartialEq)]
pub(crate) struct Packed {
    pub(crate) row: Row,
    pub(crate) scale: f32,
}

impl Packed {
    pub(crate) fn of(pieces: &[u16]) -> Packed {
        let unit = model::unit(pieces);
        let largest = unit.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        let mut row = [0; DIMENSIONS];
        if largest > 0.0 {
            for (small, x) in row.iter_mut().zip(&unit) {
                *small = (x / largest * 127.0 + 0.5_f32.copysign(*x)) as i8;
            }
        }
        Packed {
            row,
            scale: largest / 127.0,
        }
    }
}

/// One tool, ready to be indexed.
#[derive(Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: [u8; 16],
    pub(crate) id: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) category: Box<str>,
    /// Names that find this tool first when typed whole, in the form of [`exact_form`]
    pub(crate) exact: Vec<Box<str>>,
    pub(crate) whole: Packed,
    pub(crate) head: Packed,
    /// Distinct pieces of the text in order of appearance, the name's first
    pub(crate) pieces: Box<[u16]>,
    /// How many of `pieces` are the name's
    pub(crate) name_pieces: u16,
    /// Each word with how often it occurs, weighted by field
    pub(crate) words: Vec<(Box<str>, f32)>,
    /// Words in each field
    pub(crate) lengths: [u16; 4],
}

impl Entry {
    pub(crate) fn of(doc: &ToolDoc) -> Entry {
        let name = spaced(clipped(&doc.name));
        let description = clipped(&doc.description);
        let pieces = distinct(&doc.text(&name));
        let name_pieces = distinct(&name).len().min(pieces.len());
        let head = format!("{name}: {}", first_sentence(description));
        let mut counted = Counted::default();
        counted.field(Field::Name, &name);
        counted.field(Field::Body, &doc.title);
        counted.field(Field::Body, description);
        for (name, description) in &doc.parameters {
            counted.field(Field::Parameter, name);
            counted.field(Field::Other, description);
        }
        counted.field(Field::Other, &doc.category);
        counted.field(Field::Other, doc.server.as_deref().unwrap_or_default());
        for alias in &doc.aliases {
            counted.field(Field::Name, alias);
        }
        for text in doc.tags.iter().chain(&doc.side_effects) {
            counted.field(Field::Other, text);
        }
        let mut all: Vec<u16> = model::pieces(&doc.text(&name));
        all.truncate(2_000);
        Entry {
            key: doc.key(),
            id: doc.id.as_str().into(),
            name: doc.name.as_str().into(),
            category: doc.category.as_str().into(),
            exact: exact_names(doc),
            whole: Packed::of(&all),
            head: Packed::of(&model::pieces(&head)),
            pieces: pieces.into_iter().take(MOST_PIECES).collect(),
            name_pieces: name_pieces as u16,
            lengths: counted.lengths,
            words: counted.weighted(),
        }
    }
}

impl ToolDoc {
    /// The text that is embedded: the name in words, then what it is about.
    fn text(&self, name: &str) -> String {
        let mut text = String::new();
        text.push_str(name);
        text.push_str(": ");
        if let Some(server) = &self.server {
            text.push_str(&spaced(clipped(server)));
            text.push_str(". ");
        }
        text.push_str(clipped(&self.description));
        if !self.category.is_empty() {
            text.push_str(" (");
            text.push_str(&spaced(clipped(&self.category)));
            text.push(')');
        }
        if !self.parameters.is_empty() {
            text.push_str(" Parameters:");
            for (name, _) in self.parameters.iter().take(64) {
                text.push(' ');
                text.push_str(&spaced(clipped(name)));
            }
        }
        text
    }
}

#[derive(Default)]
struct Counted {
    words: BTreeMap<Box<str>, [u8; 4]>,
    lengths: [u16; 4],
}

impl Counted {
    fn field(&mut self, field: Field, text: &str) {
        let at = field as usize;
        words(clipped(text), |word| {
            if usize::from(self.lengths[at]) >= MOST_WORDS {
                return;
            }
            self.lengths[at] += 1;
            let counts = match self.words.get_mut(word) {
                Some(counts) => counts,
                None => self.words.entry(word.into()).or_default(),
            };
            counts[at] = counts[at].saturating_add(1);
        });
    }

    fn weighted(self) -> Vec<(Box<str>, f32)> {
        let weighted = |counts: [u8; 4]| {
            let fields = counts.into_iter().zip(FIELD_WEIGHTS);
            fields
                .map(|(count, weight)| f32::from(count) * weight)
                .sum()
        };
        let words = self.words.into_iter();
        words
            .map(|(word, counts)| (word, weighted(counts)))
            .collect()
    }
}

/// A text cut at a character border.
pub(crate) fn clipped(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_TEXT)]
}

fn distinct(text: &str) -> Vec<u16> {
    let mut seen = Vec::new();
    for id in model::pieces(text) {
        if !seen.contains(&id) {
            seen.push(id);
        }
        if seen.len() == MOST_PIECES {
            break;
        }
    }
    seen
}

/// An identifier in words: `getUser_name` becomes `get User name`.
pub(crate) fn spaced(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let mut before = ' ';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        if matches!(c, '.' | '_' | '-' | '/' | ':') {
            out.push(' ');
        } else {
            let next_is_lower = chars.peek().is_some_and(|next| next.is_lowercase());
            let starts = c.is_uppercase()
                && (before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && next_is_lower));
            if starts {
                out.push(' ');
            }
            out.push(c);
        }
        before = c;
    }
    out
}

fn first_sentence(text: &str) -> &str {
    let end = text.find(['\n']).unwrap_or(text.len());
    let end = text.find(". ").map_or(end, |dot| dot.min(end));
    &text[..end]
}

/// Names are compared in this form: lower case, without spaces at the ends, dots for the API
/// form's double underscores and for colons.
pub(crate) fn exact_form(name: &str) -> String {
    name.trim()
        .to_lowercase()
        .replace("__", ".")
        .replace([':', '/'], ".")
}

fn exact_names(doc: &ToolDoc) -> Vec<Box<str>> {
    let mut names: Vec<Box<str>> = [&doc.id, &doc.name]
        .into_iter()
        .chain(&doc.aliases)
        .map(|name| exact_form(clipped(name)))
        .filter(|name| !name.is_empty())
        .map(String::into_boxed_str)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
