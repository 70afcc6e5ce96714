//! Ranking: keyword and vector scores of every visible tool, joined by how much of the query the
//! catalogue's words cover, then a second look at the best of them.

use crate::dot;
use crate::fit::{Parts, WEIGHTS, score};
use crate::keywords::Posting;
use crate::pairs::Pairs;
use crate::query::{Query, WIDE};
use crate::searcher::{FIELD_WEIGHTS, K1, Searcher};

/// Tools that get the second look: more for a short query, for which a look costs less.
const FEWEST_CANDIDATES: usize = 40;
const MOST_CANDIDATES: usize = 80;
const CANDIDATE_PIECES: usize = 1_600;
/// Share of keywords in the first ranking where the catalogue knows every word.
const KEYWORD_SHARE: f32 = 0.6;
/// A typed word must have so many characters to be completed.
const SHORTEST_PREFIX: usize = 3;
/// Completions of one word that are tried, and what each counts.
const MOST_COMPLETIONS: usize = 8;
const COMPLETION_WEIGHT: f32 = 0.4;

/// The first ranking: every visible tool's scores, by slot.
pub(crate) struct Scores {
    pub(crate) keywords: Vec<f32>,
    pub(crate) cosine: Vec<f32>,
    /// Both joined
    pub(crate) base: Vec<f32>,
    /// Summed weight of the query's words that a tool has
    matched: Vec<f32>,
    known: f32,
    pub(crate) coverage: f32,
    most_keywords: f32,
    most_cosine: f32,
}

impl Scores {
    pub(crate) fn of(searcher: &Searcher, query: &Query) -> Scores {
        let slots = searcher.norms.len();
        let mut scores = Scores {
            keywords: vec![0.0; slots],
            cosine: vec![0.0; slots],
            base: vec![f32::NEG_INFINITY; slots],
            matched: vec![0.0; slots],
            known: 0.0,
            coverage: 0.0,
            most_keywords: f32::MIN_POSITIVE,
            most_cosine: f32::MIN_POSITIVE,
        };
        scores.add_words(searcher, query);
        scores.add_vectors(searcher, query);
        scores.join(searcher);
        scores
    }

    fn add_words(&mut self, searcher: &Searcher, query: &Query) {
        let keywords = &searcher.data.keywords;
        let mut all = 0.0;
        for word in &query.words {
            let postings = keywords
                .number(&word.text)
                .map_or(&[][..], |n| keywords.postings(n));
            let tools = visible_count(searcher, postings);
            let idf = idf(searcher.len(), tools);
            if tools > 0 {
                self.add_word(searcher, postings, idf * word.weight, word.typed);
            } else if word.typed && word.text.chars().count() >= SHORTEST_PREFIX {
                self.add_completions(searcher, &word.text);
            }
            if word.typed {
                all += idf;
                if tools > 0 {
                    self.known += idf;
                }
            }
        }
        self.coverage = if all > 0.0 { self.known / all } else { 0.0 };
    }

    fn add_word(&mut self, searcher: &Searcher, postings: &[Posting], weight: f32, typed: bool) {
        for posting in postings {
            let slot = posting.slot as usize;
            if !searcher.sees(posting.slot) {
                continue;
            }
            let [name, body, parameter, other] = posting.counts.map(f32::from);
            let [a, b, c, d] = FIELD_WEIGHTS;
            let count = name * a + body * b + parameter * c + other * d;
            self.keywords[slot] += weight * count * (K1 + 1.0) / (count + searcher.norms[slot]);
            if typed {
                self.matched[slot] += weight;
            }
        }
    }

    /// A word that no tool has may be the start of some that tools have.
    fn add_completions(&mut self, searcher: &Searcher, start: &str) {
        let keywords = &searcher.data.keywords;
        let completions = keywords
            .longer(start)
            .map(|number| keywords.postings(number))
            .map(|postings| (visible_count(searcher, postings), postings))
            .filter(|(tools, _)| *tools > 0)
            .take(MOST_COMPLETIONS);
        for (tools, postings) in completions {
            let weight = idf(searcher.len(), tools) * COMPLETION_WEIGHT;
            self.add_word(searcher, postings, weight, false);
        }
    }

    fn add_vectors(&mut self, searcher: &Searcher, query: &Query) {
        let whole = &searcher.data.whole;
        let mut dots = Vec::new();
        for run in &searcher.runs {
            dots.clear();
            dots.resize(run.len(), 0);
            dot::all(
                &whole.rows[run.clone()],
                std::slice::from_ref(&query.vector),
                &mut dots,
            );
            let scales = &whole.scales[run.clone()];
            for ((cosine, dot), scale) in self.cosine[run.clone()].iter_mut().zip(&dots).zip(scales)
            {
                *cosine = *dot as f32 * scale / WIDE;
                if *cosine > self.most_cosine {
                    self.most_cosine = *cosine;
                }
            }
            for keywords in &self.keywords[run.clone()] {
                self.most_keywords = self.most_keywords.max(*keywords);
            }
        }
    }

    fn join(&mut self, searcher: &Searcher) {
        let by_words = KEYWORD_SHARE * self.coverage / self.most_keywords;
        let by_vectors = (1.0 - KEYWORD_SHARE * self.coverage) / self.most_cosine;
        for run in &searcher.runs {
            for slot in run.clone() {
                self.base[slot] = self.keywords[slot] * by_words + self.cosine[slot] * by_vectors;
            }
        }
    }
}

fn visible_count(searcher: &Searcher, postings: &[Posting]) -> usize {
    if searcher.sees_all() {
        return postings.len();
    }
    postings
        .iter()
        .filter(|posting| searcher.sees(posting.slot))
        .count()
}

/// How much a word tells that so many of all tools have.
fn idf(all: usize, with: usize) -> f32 {
    let (all, with) = (all as f32, with as f32);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

/// A tool that got the second look.
pub(crate) struct Candidate {
    pub(crate) slot: u32,
    pub(crate) score: f32,
    pub(crate) parts: Parts,
}

/// The best tools in final order; those that the query names come first.
pub(crate) fn ranked(
    searcher: &Searcher,
    query: &Query,
    scores: &Scores,
    named: &[u32],
) -> Vec<Candidate> {
    let count = CANDIDATE_PIECES / query.pieces.len().max(1);
    let count = count.clamp(FEWEST_CANDIDATES, MOST_CANDIDATES);
    let mut slots = best(searcher, &scores.base, count);
    slots.extend(
        named
            .iter()
            .filter(|slot| !slots.contains(slot))
            .copied()
            .collect::<Vec<_>>(),
    );
    let mut candidates = second_look(searcher, query, scores, &slots);
    for candidate in &mut candidates {
        candidate.parts.exact = named.contains(&candidate.slot);
    }
    let name_place = |slot: u32| {
        named
            .iter()
            .position(|other| *other == slot)
            .unwrap_or(usize::MAX)
    };
    let id = |slot: u32| searcher.data.tool(slot).map(|tool| &*tool.id);
    candidates.sort_by(|a, b| {
        name_place(a.slot)
            .cmp(&name_place(b.slot))
            .then_with(|| b.score.total_cmp(&a.score))
            .then_with(|| id(a.slot).cmp(&id(b.slot)))
    });
    candidates
}

/// The slots with the highest scores, best first, equal ones by id; none that was ruled out by
/// negative infinity.
pub(crate) fn best(searcher: &Searcher, scores: &[f32], count: usize) -> Vec<u32> {
    let id = |slot: u32| searcher.data.tool(slot).map(|tool| &*tool.id);
    let order = |a: &u32, b: &u32| {
        scores[*b as usize]
            .total_cmp(&scores[*a as usize])
            .then_with(|| id(*a).cmp(&id(*b)))
    };
    // Slots that reach what the best so far have set as the bar; cut back now and then, which
    // raises the bar, so that few are ever compared.
    let room = (count * 4).max(1_024);
    let mut slots: Vec<u32> = Vec::with_capacity(room);
    let mut bar = f32::MIN;
    for run in &searcher.runs {
        for (slot, score) in run.clone().zip(&scores[run.clone()]) {
            if *score >= bar {
                slots.push(slot as u32);
                if slots.len() == room && count > 0 {
                    let (_, last, _) = slots.select_nth_unstable_by(count - 1, order);
                    bar = scores[*last as usize];
                    slots.truncate(count);
                }
            }
        }
    }
    slots.sort_unstable_by(order);
    slots.truncate(count);
    slots
}

fn second_look(
    searcher: &Searcher,
    query: &Query,
    scores: &Scores,
    slots: &[u32],
) -> Vec<Candidate> {
    let data = &searcher.data;
    let tools: Vec<_> = slots
        .iter()
        .filter_map(|slot| Some((*slot, data.tool(*slot)?)))
        .collect();
    let mut pairs = Pairs::new(
        &query.pieces,
        tools.iter().map(|(_, tool)| &*tool.pieces),
        |piece| searcher.rarity(piece),
    );
    let mut dots = vec![0; query.clauses.len()];
    let mut candidates = Vec::with_capacity(tools.len());
    for (slot, tool) in tools {
        let at = slot as usize;
        dot::all(&data.whole.rows[at..=at], &query.clauses, &mut dots);
        let clause = dots.iter().copied().max().unwrap_or(0) as f32 * data.whole.scales[at] / WIDE;
        let mut head = [0];
        dot::all(
            &data.head.rows[at..=at],
            std::slice::from_ref(&query.vector),
            &mut head,
        );
        let name_pieces = usize::from(tool.name_pieces).min(tool.pieces.len());
        let parts = Parts {
            exact: false,
            coverage: scores.coverage,
            keywords: scores.keywords[at] / scores.most_keywords,
            share: if scores.known > 0.0 {
                scores.matched[at] / scores.known
            } else {
                0.0
            },
            cosine: scores.cosine[at],
            vector: scores.cosine[at] / scores.most_cosine,
            head: head[0] as f32 * data.head.scales[at] / WIDE,
            clause,
            query_side: pairs.query_side(&tool.pieces),
            tool_side: pairs.tool_side(&tool.pieces),
            name: pairs.tool_side(&tool.pieces[..name_pieces]),
        };
        candidates.push(Candidate {
            slot,
            score: score(&parts.features(), &WEIGHTS),
            parts,
        });
    }
    candidates
}
