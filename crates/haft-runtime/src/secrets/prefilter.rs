//! Finds the few places in a text where a rule is worth trying.
//!
//! Every needle (a token prefix such as `ghp_`, or a telling word such as `password`) is entered
//! by four of its bytes, the rarest four it has. One pass looks at each four bytes of the text and
//! asks a bit set of 32 KB, which stays in the first cache, whether any needle holds them. This
//! beats a multi-needle automaton here: hundreds of needles without regard to case make a large
//! table to build at start-up and to walk through memory, while most text answers no at once.
//! What a rule makes of the place is left to the rule.

use super::judge::is_word;
use super::rules::{Find, Rule};
use super::shape::Class;

const BITS: u32 = 18;
const HEAD_BITS: u32 = 13;
const HEADS: usize = 1 << HEAD_BITS;
const END: u16 = u16::MAX;
/// Sets bit 5 of each byte, so that the two cases of a letter become one.
const FOLD: u32 = 0x2020_2020;

/// A needle found in the text: bytes `start..end` hold it.
#[derive(Clone, Copy)]
pub(super) struct Hit {
    pub(super) rule: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

struct Entry {
    gram: u32,
    rule: u16,
    /// Which needle of the rule; `END` for a shape, whose four bytes are all there is to compare.
    needle: u16,
    /// Where in the needle the four bytes stand.
    offset: u8,
    next: u16,
}

pub(super) struct Prefilter {
    bits: Box<[u64; 1 << (BITS - 6)]>,
    heads: Box<[u16; HEADS]>,
    entries: Vec<Entry>,
    rules: &'static [Rule],
}

impl Prefilter {
    pub(super) fn new(rules: &'static [Rule]) -> Self {
        let mut filter = Self {
            bits: Box::new([0; 1 << (BITS - 6)]),
            heads: Box::new([END; HEADS]),
            entries: Vec::with_capacity(6000),
            rules,
        };
        for (rule, entry) in rules.iter().enumerate() {
            for (needle, word) in entry.needles.iter().enumerate() {
                filter.add_word(rule as u16, needle as u16, word.as_bytes());
            }
            for shape in entry.shapes {
                filter.add_shape(rule as u16, shape);
            }
        }
        filter
    }

    fn add_word(&mut self, rule: u16, needle: u16, word: &[u8]) {
        if let [first, second, third] = *word {
            // Three bytes: a token goes on with one of its own characters, a name with any.
            let token = matches!(self.rules[usize::from(rule)].find, Find::Token { .. });
            let goes_on = |byte: &u8| !token || is_word(*byte) || matches!(byte, b'-' | b'.');
            // One byte for both cases: only those with bit 5 set, and `_`, which folds to 127.
            let folded = |byte: &u8| byte & 0x20 != 0 || *byte == b'_';
            for last in (0..0x7f).filter(folded).filter(goes_on) {
                self.add(rule, needle, 0, [first, second, third, last]);
            }
            return;
        }
        let rarest = word
            .windows(4)
            .enumerate()
            .min_by_key(|(_, gram)| gram.iter().map(|byte| commonness(*byte)).product::<u64>());
        if let Some((offset, &[a, b, c, d])) = rarest {
            self.add(rule, needle, offset as u8, [a, b, c, d]);
        }
    }

    fn add_shape(&mut self, rule: u16, shape: &[Class; 4]) {
        let [first, second, third, fourth] = shape.map(Class::members);
        for a in first {
            for b in second {
                for c in third {
                    for d in fourth {
                        self.add(rule, END, 0, [*a, *b, *c, *d]);
                    }
                }
            }
        }
    }

    fn add(&mut self, rule: u16, needle: u16, offset: u8, gram: [u8; 4]) {
        let gram = u32::from_le_bytes(gram) | FOLD;
        let slot = slot(gram);
        self.bits[slot >> 6] |= 1 << (slot & 63);
        let head = &mut self.heads[head(gram)];
        let next = std::mem::replace(head, self.entries.len() as u16);
        self.entries.push(Entry {
            gram,
            rule,
            needle,
            offset,
            next,
        });
    }

    /// Calls `found` for every needle in `text`, in the order of the text.
    #[inline]
    pub(super) fn scan(&self, text: &[u8], mut found: impl FnMut(Hit)) {
        for (at, window) in text.windows(4).enumerate() {
            let gram = u32::from_le_bytes([window[0], window[1], window[2], window[3]]) | FOLD;
            let slot = slot(gram);
            if self.bits[slot >> 6] >> (slot & 63) & 1 != 0 {
                self.verify(text, at, gram, &mut found);
            }
        }
    }

    #[inline(never)]
    fn verify(&self, text: &[u8], at: usize, gram: u32, found: &mut impl FnMut(Hit)) {
        let mut index = self.heads[head(gram)];
        while let Some(entry) = self.entries.get(usize::from(index)) {
            index = entry.next;
            if entry.gram != gram {
                continue;
            }
            let rule = usize::from(entry.rule);
            let word = self.rules[rule].needles.get(usize::from(entry.needle));
            let Some(start) = at.checked_sub(usize::from(entry.offset)) else {
                continue;
            };
            let end = start + word.map_or(4, |word| word.len());
            let same = |word: &&str| {
                text.get(start..end)
                    .is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
            };
            if word.is_none_or(same) {
                found(Hit { rule, start, end });
            }
        }
    }
}

#[inline]
fn slot(gram: u32) -> usize {
    (gram.wrapping_mul(0x9E37_79B1) >> (32 - BITS)) as usize
}

/// Where the chain of a gram begins. Mixed anew, because shapes enter thousands of grams that
/// differ in one digit and would share a few chains.
#[inline]
fn head(gram: u32) -> usize {
    let mixed = (gram ^ gram >> 15).wrapping_mul(0x85EB_CA6B);
    ((mixed ^ mixed >> 13).wrapping_mul(0xC2B2_AE35) >> (32 - HEAD_BITS)) as usize
}

/// How often a byte stands in ordinary text, in parts of a thousand.
fn commonness(byte: u8) -> u64 {
    match byte.to_ascii_lowercase() {
        b'e' => 120,
        b't' | b'a' | b'o' | b'i' | b'n' | b's' => 75,
        b'r' | b'h' | b'l' | b'd' => 45,
        b'c' | b'u' | b'm' | b'p' | b'f' | b'g' | b'w' | b'y' => 25,
        b'b' | b'v' | b'k' | b'-' | b'.' => 12,
        b'0'..=b'9' | b'_' | b'/' => 8,
        b' ' => 180,
        _ => 3,
    }
}
