//! Hides secrets in whatever a tool gives back, before a model, a log or a journal sees it.
//!
//! A text is read once by the prefilter; only around the needles it finds is a rule tried, and a
//! rule's pattern is compiled when it is first needed. All reading around a needle is bounded, so
//! the time grows with the length of the text, whatever the text. What is found is replaced by
//! `***` and, if it is long enough to spare them, its last four characters; the words around it
//! stay as they are. Hiding is a precaution, not a boundary: an unknown format passes.

mod assignment;
mod blocks;
mod generic;
mod judge;
mod known;
mod marks;
mod prefilter;
mod rules;
mod shape;
#[cfg(test)]
mod tests;
mod web;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use assignment::{ends_token, ends_value, slot_after, starts_token};
use judge::{entropy, is_pronounceable, is_stand_in};
pub use known::hide;
use prefilter::{Hit, Prefilter};
use rules::{Find, RULES};

/// Longer secrets show their last four characters, so that a person can tell two keys apart.
const SHOWS_TAIL: usize = 12;
/// No shorter name of a field is a secret of any kind we know.
const SHORTEST_NAME: usize = 12;
/// How far a name and its operator may lie before their value.
const NAME_REACH: usize = 64;
/// The longest token any pattern describes.
const WINDOW: usize = 2048;

static PREFILTER: LazyLock<Prefilter> = LazyLock::new(|| Prefilter::new(RULES));

/// Make what looking for secrets needs, for who has nothing else to do until there is a text.
pub fn prepare_to_mask() {
    LazyLock::force(&PREFILTER);
}

/// A text without its secrets.
#[derive(Debug)]
pub struct Masked<'a> {
    /// The text; borrowed when nothing was found.
    pub text: Cow<'a, str>,
    /// How many secrets were replaced.
    pub count: usize,
}

/// Replaces every secret in `text`.
pub fn mask(text: &str) -> Masked<'_> {
    let scan = scan(text);
    if scan.spans.is_empty() {
        return Masked {
            text: Cow::Borrowed(text),
            count: 0,
        };
    }
    let spans = scan.into_spans(text);
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    for span in &spans {
        masked.push_str(&text[done..span.range.start]);
        push_mask(&mut masked, &text[span.range.clone()], span.shows_tail);
        done = span.range.end;
    }
    masked.push_str(&text[done..]);
    Masked {
        text: Cow::Owned(masked),
        count: spans.len(),
    }
}

/// The part of a text without its secrets, those included that reach into it or out of it.
pub(crate) fn mask_part(text: &str, part: Range<usize>) -> String {
    let mut masked = String::with_capacity(part.len());
    let mut done = part.start;
    for span in scan(text).into_spans(text) {
        let Range { start, end } = span.range;
        if end <= done || start >= part.end {
            continue;
        }
        masked.push_str(&text[done..start.max(done)]);
        if start >= done && end <= part.end {
            push_mask(&mut masked, &text[start..end], span.shows_tail);
        } else {
            masked.push_str("***");
        }
        done = end.min(part.end);
    }
    masked.push_str(&text[done..part.end]);
    masked
}

/// Replaces every secret in the strings of `value`, and whole strings that stand under a telling
/// name such as `password`. Gives the number of secrets replaced.
pub fn mask_value(value: &mut Value) -> usize {
    let mut count = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => count += mask_string(text),
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                count += mask_names(fields);
                for (name, field) in fields {
                    match field {
                        Value::String(text) => count += mask_field(name, text),
                        field => open.push(field),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    count
}

/// The name of a field can be a secret as well. Of two that look the same then, one gets a mark more.
fn mask_names(fields: &mut Map<String, Value>) -> usize {
    let secret = |name: &String| name.len() >= SHORTEST_NAME && mask(name).count > 0;
    if !fields.keys().any(secret) {
        return 0;
    }
    let mut count = 0;
    for (mut name, field) in std::mem::take(fields) {
        count += mask_string(&mut name);
        while fields.contains_key(&name) {
            name.push('*');
        }
        fields.insert(name, field);
    }
    count
}

fn mask_string(text: &mut String) -> usize {
    let Masked {
        text: masked,
        count,
    } = mask(text);
    if let Cow::Owned(masked) = masked {
        *text = masked;
    }
    count
}

fn mask_field(name: &str, text: &mut String) -> usize {
    let count = mask_string(text);
    if count > 0 || !generic::is_telling_name(name) || !generic::is_telling_value(name, text) {
        return count;
    }
    let mut masked = String::new();
    push_mask(&mut masked, text, true);
    *text = masked;
    1
}

fn push_mask(masked: &mut String, secret: &str, shows_tail: bool) {
    masked.push_str("***");
    let length = secret.chars().count();
    if shows_tail && length > SHOWS_TAIL {
        masked.extend(secret.chars().skip(length - 4));
    }
}

fn scan(text: &str) -> Scan<'_> {
    let mut scan = Scan {
        text: text.as_bytes(),
        spans: Vec::new(),
        kinds_read: 0,
        windows: 0,
        work: 0,
    };
    PREFILTER.scan(text.as_bytes(), |hit| scan.try_rule(hit));
    known::find(text.as_bytes(), |range| scan.push_whole(range));
    scan
}

struct Span {
    range: Range<usize>,
    shows_tail: bool,
}

/// One reading of a text, and what it has found so far.
struct Scan<'t> {
    text: &'t [u8],
    spans: Vec<Span>,
    /// Up to where Kubernetes documents have been read.
    kinds_read: usize,
    /// How often a pattern was run.
    windows: usize,
    /// How many bytes were read beyond the prefilter's pass, by the rules without fixed reach.
    work: usize,
}

impl Scan<'_> {
    fn push(&mut self, range: Range<usize>) {
        self.spans.push(Span {
            range,
            shows_tail: true,
        });
    }

    /// For what has no telling tail, such as the last line of a private key.
    fn push_whole(&mut self, range: Range<usize>) {
        self.spans.push(Span {
            range,
            shows_tail: false,
        });
    }

    fn try_rule(&mut self, hit: Hit) {
        // Within a secret nothing is left to find, except where its end may name what follows.
        let inside =
            |span: &Span| span.range.start <= hit.start && hit.end + NAME_REACH < span.range.end;
        if self.spans.last().is_some_and(inside) {
            return;
        }
        let found = match RULES[hit.rule].find {
            Find::Token { back, bits } => self.token(hit, back, bits),
            Find::Assigned { bits } => self.assigned(hit, bits),
            Find::One(find) => find(self.text, hit.start, hit.end),
            Find::Many(find) => {
                find(self, hit.start, hit.end);
                None
            }
        };
        if let Some(range) = found {
            self.push(range);
        }
    }

    /// A token known by its own shape, starting `back` bytes before the needle.
    fn token(&mut self, hit: Hit, back: usize, bits: f32) -> Option<Range<usize>> {
        let start = hit.start.checked_sub(back)?;
        if !starts_token(self.text, start) {
            return None;
        }
        let found = self.run(hit.rule, start)?;
        let value = &self.text[found.clone()];
        let whole = ends_token(self.text, found.end) && entropy(value) >= bits;
        (whole && !is_stand_in(value)).then_some(found)
    }

    /// A value known by the name it is assigned to.
    fn assigned(&mut self, hit: Hit, bits: f32) -> Option<Range<usize>> {
        if !is_cased_as_word(&self.text[hit.start..hit.end]) {
            return None;
        }
        let slot = slot_after(self.text, hit.end, 40)?;
        let mut start = slot.last;
        loop {
            if let Some(found) = self.run(hit.rule, start) {
                let value = &self.text[found.clone()];
                let letters = value.iter().all(u8::is_ascii_alphabetic);
                let random = entropy(value) >= bits && !(letters && is_pronounceable(value));
                let whole = ends_value(self.text, found.end);
                return (random && whole && !is_stand_in(value)).then_some(found);
            }
            // The value itself may begin with `=`.
            if start == slot.first || self.text[start - 1] != b'=' {
                return None;
            }
            start -= 1;
        }
    }

    /// Runs the rule's pattern at `start`; gives its first group, or the whole match.
    fn run(&mut self, rule: usize, start: usize) -> Option<Range<usize>> {
        self.windows += 1;
        let window = &self.text[start..self.text.len().min(start + WINDOW)];
        let pattern = rules::pattern(rule)?;
        let found = if pattern.captures_len() > 1 {
            let captures = pattern.captures(window)?;
            captures.get(1).or_else(|| captures.get(0))?.range()
        } else {
            pattern.find(window)?.range()
        };
        Some(start + found.start..start + found.end)
    }

    /// The spans in order, without overlaps, on character boundaries.
    fn into_spans(self, text: &str) -> Vec<Span> {
        let mut spans = self.spans;
        spans.sort_by_key(|span| span.range.start);
        let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
        for mut span in spans {
            span.range =
                text.floor_char_boundary(span.range.start)..text.ceil_char_boundary(span.range.end);
            match merged.last_mut() {
                Some(last) if span.range.start < last.range.end => {
                    last.range.end = last.range.end.max(span.range.end);
                    last.shows_tail &= span.shows_tail;
                }
                _ => merged.push(span),
            }
        }
        merged
    }
}

/// Whether a short needle is written as one word (`sumo`, `Sumo`, `SUMO`) and not across two
/// (`sumOf`). Long ones are believed in any case.
fn is_cased_as_word(needle: &[u8]) -> bool {
    let rest = needle.get(1..).unwrap_or_default();
    needle.len() > 6
        || rest.iter().all(|byte| !byte.is_ascii_uppercase())
        || needle.iter().all(|byte| !byte.is_ascii_lowercase())
}

/// Compiles a pattern over bytes; `None` for one that does not compile, which a test rules out.
fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}
