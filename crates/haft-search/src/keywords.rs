//! The keyword side of the index: which word stands in which tool, how often, in which field.
//! Statistics are not kept here: they depend on who asks, so a search works them out over the
//! tools its caller may see.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// One word in one tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Posting {
    pub(crate) slot: u32,
    /// How often it occurs, each field's share weighted
    pub(crate) count: f32,
}

/// Every word of every tool.
#[derive(Clone, Default)]
pub(crate) struct Keywords {
    words: HashMap<Arc<str>, u32>,
    /// The same in alphabetical order, for words that are begun
    sorted: BTreeMap<Arc<str>, u32>,
    postings: Vec<Vec<Posting>>,
}

impl Keywords {
    /// Note that a tool has this word; the number of the word.
    pub(crate) fn add(&mut self, word: &str, posting: Posting) -> u32 {
        let number = match self.words.get(word) {
            Some(number) => *number,
            None => {
                let number = self.postings.len() as u32;
                let word: Arc<str> = word.into();
                self.sorted.insert(Arc::clone(&word), number);
                self.words.insert(word, number);
                self.postings.push(Vec::new());
                number
            }
        };
        if let Some(list) = self.postings.get_mut(number as usize) {
            list.push(posting);
        }
        number
    }

    /// The number of a word.
    pub(crate) fn number(&self, word: &str) -> Option<u32> {
        self.words.get(word).copied()
    }

    /// Where a word stands.
    pub(crate) fn postings(&self, number: u32) -> &[Posting] {
        self.postings
            .get(number as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// The words that begin like this one and are longer, in alphabetical order.
    pub(crate) fn longer(&self, start: &str) -> impl Iterator<Item = u32> {
        self.sorted
            .range::<str, _>((std::ops::Bound::Excluded(start), std::ops::Bound::Unbounded))
            .take_while(move |(word, _)| word.starts_with(start))
            .map(|(_, number)| *number)
    }

    /// Every word with its places, in alphabetical order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &[Posting])> {
        self.sorted
            .iter()
            .map(|(word, number)| (&**word, self.postings(*number)))
    }

    /// Renumber the tools: `slots[old]` is the new number, or none for a tool that is gone.
    /// Words keep their numbers.
    pub(crate) fn renumber(&mut self, slots: &[Option<u32>]) {
        for list in &mut self.postings {
            list.retain_mut(|posting| match slots.get(posting.slot as usize) {
                Some(Some(slot)) => {
                    posting.slot = *slot;
                    true
                }
                _ => false,
            });
        }
    }
}
