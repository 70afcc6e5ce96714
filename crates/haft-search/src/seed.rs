//! Rankings to compare with: keywords alone, vectors alone, and the formula of the documents
//! behind haft, ten times the likeness and a boost for words that match.

use crate::query::Query;
use crate::rank::{Scores, best};
use crate::searcher::Searcher;

const BY_LIKENESS: f32 = 10.0;
/// Boost for a word of the query that the tool has.
const BY_WORD: f32 = 3.0;
/// Boost for a word of the query that begins one of the tool's.
const BY_START: f32 = 2.0;
const SHORTEST_START: usize = 3;

/// A way to rank tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scorer {
    /// The way [`Searcher::search`] ranks
    Haft,
    /// BM25 alone
    Keywords,
    /// Likeness of vectors alone
    Vectors,
    /// Ten times the likeness, and a boost for words
    Seed,
}

impl Searcher {
    /// The ids of the nearest tools by another scorer, best first.
    pub fn rank_by(&self, scorer: Scorer, text: &str, limit: usize) -> Vec<String> {
        if scorer == Scorer::Haft {
            return self
                .search(text, limit)
                .hits
                .into_iter()
                .map(|hit| hit.id)
                .collect();
        }
        let query = Query::of(text);
        let ranking = match scorer {
            Scorer::Keywords => self.keyword_scores(&query),
            Scorer::Vectors | Scorer::Haft => self.likenesses(&query),
            Scorer::Seed => self.seed_scores(&query, &self.likenesses(&query)),
        };
        best(self, &ranking, limit)
            .into_iter()
            .filter_map(|slot| Some(self.data.tool(slot)?.id.to_string()))
            .collect()
    }

    fn keyword_scores(&self, query: &Query) -> Vec<f32> {
        // A tool without any of the words was not found by keywords.
        let found = |score: &f32| {
            if *score > 0.0 {
                *score
            } else {
                f32::NEG_INFINITY
            }
        };
        let scores = Scores::of(self, query);
        scores.lists.keywords.iter().map(found).collect()
    }

    fn likenesses(&self, query: &Query) -> Vec<f32> {
        let whole = &self.data.whole;
        let slots = 0..whole.rows.len();
        slots.map(|at| whole.alike(at, &query.vector)).collect()
    }

    fn seed_scores(&self, query: &Query, cosine: &[f32]) -> Vec<f32> {
        let keywords = &self.data.keywords;
        let mut boost = vec![0.0f32; cosine.len()];
        for word in query.words.iter().filter(|word| word.typed) {
            if word.text.len() >= SHORTEST_START {
                for number in keywords.longer(&word.text) {
                    for posting in keywords.postings(number) {
                        let slot = posting.slot as usize;
                        boost[slot] = boost[slot].max(BY_START);
                    }
                }
            }
            if let Some(number) = keywords.number(&word.text) {
                for posting in keywords.postings(number) {
                    boost[posting.slot as usize] = BY_WORD;
                }
            }
        }
        cosine
            .iter()
            .zip(boost)
            .map(|(likeness, boost)| likeness * BY_LIKENESS + boost)
            .collect()
    }
}
