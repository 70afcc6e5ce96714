//! Ranking: keyword and vector scores of every visible tool, joined by how much of the query the
//! catalogue's words cover, then a second look at the best of them.

use std::cell::Cell;

use crate::dot::{self, COARSE_STEP};
use crate::fit::{Parts, Standing, WEIGHTS, score};
use crate::keywords::Posting;
use crate::pairs::Pairs;
use crate::query::{Query, WIDE};
use crate::searcher::{K1, Searcher};
use crate::telling;

/// Tools that get the second look: more for a short query, for which a look costs less.
const FEWEST_CANDIDATES: usize = 40;
const MOST_CANDIDATES: usize = 80;
const CANDIDATE_PIECES: usize = 1_600;
/// Share of keywords in the first ranking where the catalogue knows every word.
const KEYWORD_SHARE: f32 = 0.6;
/// A likeness by coarse rows is seldom off by more: four times the usual error.
const COARSE_ERROR: f32 = 0.03;
/// A query of so many pieces is as short as any.
const BRIEF: f32 = 12.0;
/// Candidates after the first that it is held against.
const NEXT: usize = 9;
/// Scores that are looked at together when the best are chosen.
const BLOCK: usize = 64;
/// A typed word must have so many characters to be completed.
const SHORTEST_PREFIX: usize = 3;
/// Completions of one word that are tried, and what each counts.
const MOST_COMPLETIONS: usize = 8;
const COMPLETION_WEIGHT: f32 = 0.4;

/// One number a tool and kind, by slot.
#[derive(Default)]
pub(crate) struct Lists {
    pub(crate) keywords: Vec<f32>,
    /// Likeness, by coarse rows but for the tools that came near
    pub(crate) cosine: Vec<f32>,
    /// Both joined
    pub(crate) base: Vec<f32>,
    /// Summed weight of the query's words that a tool has
    matched: Vec<f32>,
    dots: Vec<i32>,
}

impl Lists {
    fn clear(&mut self, slots: usize) {
        for list in [&mut self.keywords, &mut self.matched, &mut self.cosine] {
            list.clear();
            list.resize(slots, 0.0);
        }
        self.base.clear();
        self.base.resize(slots, f32::NEG_INFINITY);
        self.dots.resize(slots, 0);
    }
}

thread_local! {
    /// The lists of a search, kept for the next: the system would hand them out page by page
    static KEPT: Cell<Lists> = Cell::default();
}

/// The first ranking: every visible tool's scores.
pub(crate) struct Scores {
    pub(crate) lists: Lists,
    known: f32,
    pub(crate) coverage: f32,
    most_keywords: f32,
    most_cosine: f32,
    /// Tools that could be among the best, every one of which is here
    near: Vec<u32>,
}

impl Drop for Scores {
    fn drop(&mut self) {
        KEPT.set(std::mem::take(&mut self.lists));
    }
}

impl Scores {
    pub(crate) fn of(searcher: &Searcher, query: &Query) -> Scores {
        let mut scores = Scores {
            lists: KEPT.take(),
            known: 0.0,
            coverage: 0.0,
            most_keywords: f32::MIN_POSITIVE,
            most_cosine: f32::MIN_POSITIVE,
            near: Vec::new(),
        };
        scores.lists.clear(searcher.norms.len());
        scores.add_words(searcher, query);
        scores.add_vectors(searcher, query);
        scores.join(searcher);
        scores.sharpen(searcher, query);
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
            let count = posting.count;
            self.lists.keywords[slot] +=
                weight * count * (K1 + 1.0) / (count + searcher.norms[slot]);
            if typed {
                self.lists.matched[slot] += weight;
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
        let data = &searcher.data;
        let (small, shrink) = &query.small;
        let sum: i32 = small.iter().map(|x| i32::from(*x)).sum();
        // What the rows add too much, since their numbers begin at 0 and not at −127.
        let raise = 127.0 * sum as f32;
        for run in searcher.runs() {
            let dots = &mut self.lists.dots[run.clone()];
            dot::all_coarse(&data.coarse[run.clone()], small, dots);
            let scales = &data.whole.scales[run.clone()];
            let cosines = self.lists.cosine[run.clone()].iter_mut();
            for ((cosine, dot), scale) in cosines.zip(dots).zip(scales) {
                *cosine = (*dot as f32 * COARSE_STEP - raise) * (scale * shrink);
            }
            self.most_cosine = most(&self.lists.cosine[run.clone()], self.most_cosine);
            self.most_keywords = most(&self.lists.keywords[run.clone()], self.most_keywords);
        }
    }

    /// Work out again, by whole rows, the likenesses that matter: of all tools that could be
    /// among the candidates or the likest of all.
    fn sharpen(&mut self, searcher: &Searcher, query: &Query) {
        let Some(bar) = bar(searcher, &self.lists.base, candidates(query)) else {
            return;
        };
        let bar = bar - COARSE_ERROR * self.by_vectors();
        let likest = self.most_cosine - COARSE_ERROR;
        let near = &mut self.near;
        reaching(searcher, &self.lists.base, bar, |slot| near.push(slot));
        // Of few words the likest tool may have none, and be far down in the ranking.
        let base = &self.lists.base;
        reaching(searcher, &self.lists.cosine, likest, |slot| {
            if base[slot as usize] < bar {
                near.push(slot);
            }
        });
        let cosine = &mut self.lists.cosine;
        let whole = &searcher.data.whole;
        for slot in &self.near {
            dot::soon(&whole.rows[*slot as usize]);
        }
        self.most_cosine = f32::MIN_POSITIVE;
        for slot in &self.near {
            let at = *slot as usize;
            cosine[at] = whole.alike(at, &query.vector);
            self.most_cosine = self.most_cosine.max(cosine[at]);
        }
        self.join(searcher);
    }

    fn by_vectors(&self) -> f32 {
        (1.0 - KEYWORD_SHARE * self.coverage) / self.most_cosine
    }

    fn join(&mut self, searcher: &Searcher) {
        let by_words = KEYWORD_SHARE * self.coverage / self.most_keywords;
        let by_vectors = self.by_vectors();
        for run in searcher.runs() {
            let parts = self.lists.keywords[run.clone()]
                .iter()
                .zip(&self.lists.cosine[run.clone()]);
            for (base, (keywords, cosine)) in self.lists.base[run.clone()].iter_mut().zip(parts) {
                *base = keywords * by_words + cosine * by_vectors;
            }
        }
    }
}

/// How the first of these candidates stands before the next.
pub(crate) fn standing(order: &[Candidate]) -> Standing {
    let Some((first, others)) = order.split_first() else {
        return Standing::default();
    };
    let next = &others[..others.len().min(NEXT)];
    let others = next.iter().map(|other| other.parts.likeness());
    let mean = others.sum::<f32>() / next.len().max(1) as f32;
    Standing {
        best: first.parts,
        rise: first.parts.likeness() - mean,
    }
}

/// The largest of some numbers and `least`, none of which is missing. Four at a time, which the
/// compiler does not find by itself.
fn most(numbers: &[f32], least: f32) -> f32 {
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let (fours, rest) = numbers.as_chunks::<4>();
    let mut most = [least; 4];
    for four in fours {
        for (most, number) in most.iter_mut().zip(four) {
            *most = larger(*most, *number);
        }
    }
    most.iter().chain(rest).copied().fold(least, larger)
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
    let mut slots = scores.near.clone();
    cut(searcher, &scores.lists.base, &mut slots, candidates(query));
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

/// How many tools get the second look.
fn candidates(query: &Query) -> usize {
    let count = CANDIDATE_PIECES / query.pieces.len().max(1);
    count.clamp(FEWEST_CANDIDATES, MOST_CANDIDATES)
}

/// Keep the slots with the highest scores, best first, equal ones by id.
fn cut(searcher: &Searcher, scores: &[f32], slots: &mut Vec<u32>, count: usize) {
    let id = |slot: u32| searcher.data.tool(slot).map(|tool| &*tool.id);
    slots.sort_unstable_by(|a, b| {
        scores[*b as usize]
            .total_cmp(&scores[*a as usize])
            .then_with(|| id(*a).cmp(&id(*b)))
    });
    slots.truncate(count);
}

/// The slots with the highest scores, best first, equal ones by id; none that was ruled out by
/// negative infinity.
pub(crate) fn best(searcher: &Searcher, scores: &[f32], count: usize) -> Vec<u32> {
    let Some(bar) = bar(searcher, scores, count) else {
        return Vec::new();
    };
    let mut slots = Vec::with_capacity(count + 16);
    reaching(searcher, scores, bar, |slot| slots.push(slot));
    cut(searcher, scores, &mut slots, count);
    slots
}

/// Tell the visible slots whose score reaches a bar, which few do.
fn reaching(searcher: &Searcher, scores: &[f32], bar: f32, mut tell: impl FnMut(u32)) {
    for run in searcher.runs() {
        let mut slot = run.start as u32;
        for block in scores[run.clone()].chunks(BLOCK) {
            if most(block, f32::NEG_INFINITY) >= bar {
                for (at, _) in (slot..).zip(block).filter(|(_, score)| **score >= bar) {
                    tell(at);
                }
            }
            slot += block.len() as u32;
        }
    }
}

/// The score that exactly `count` tools reach, more where several have the same; the lowest of
/// all where there are fewer, none where no tool can be found.
fn bar(searcher: &Searcher, scores: &[f32], count: usize) -> Option<f32> {
    // The scores that reach what the best so far have set as the bar; cut back now and then,
    // which raises the bar, so that few are ever compared.
    let room = (count * 4).max(256);
    let mut reached: Vec<f32> = Vec::with_capacity(room + BLOCK);
    let mut bar = f32::MIN;
    let descending = |a: &f32, b: &f32| b.total_cmp(a);
    for run in searcher.runs() {
        for block in scores[run.clone()].chunks(BLOCK) {
            if most(block, f32::NEG_INFINITY) < bar {
                continue;
            }
            reached.extend(block.iter().filter(|score| **score >= bar));
            if reached.len() >= room && count > 0 {
                let (_, last, _) = reached.select_nth_unstable_by(count - 1, descending);
                bar = *last;
                reached.truncate(count);
            }
        }
    }
    if reached.len() > count && count > 0 {
        let (_, last, _) = reached.select_nth_unstable_by(count - 1, descending);
        return Some(*last);
    }
    reached
        .into_iter()
        .filter(|_| count > 0)
        .min_by(f32::total_cmp)
}

fn second_look(
    searcher: &Searcher,
    query: &Query,
    scores: &Scores,
    slots: &[u32],
) -> Vec<Candidate> {
    let data = &searcher.data;
    let places = || slots.iter().map(|slot| *slot as usize);
    for at in places() {
        dot::soon(&data.whole.rows[at]);
        dot::soon(&data.head.rows[at]);
    }
    let mut pairs = Pairs::new(
        &query.pieces,
        places().map(|at| data.pieces.of(at).0),
        searcher,
    );
    let brevity = (BRIEF / query.pieces.len().max(1) as f32).min(1.0);
    // A long request ends in a question mark whatever it wants.
    let asks = query.asks && brevity > 0.5;
    let mut dots = vec![0; query.clauses.len()];
    let mut candidates = Vec::with_capacity(slots.len());
    for at in places() {
        dot::all(&data.whole.rows[at..=at], &query.clauses, &mut dots);
        let clause = dots.iter().copied().max().unwrap_or(0) as f32 * data.whole.scales[at] / WIDE;
        let cosine = data.whole.alike(at, &query.vector);
        let (pieces, name) = data.pieces.of(at);
        let parts = Parts {
            exact: false,
            brevity,
            tells: if asks && telling::tells(name) {
                2.0 * brevity - 1.0
            } else {
                0.0
            },
            coverage: scores.coverage,
            keywords: scores.lists.keywords[at] / scores.most_keywords,
            share: if scores.known > 0.0 {
                scores.lists.matched[at] / scores.known
            } else {
                0.0
            },
            cosine,
            vector: cosine / scores.most_cosine,
            head: data.head.alike(at, &query.vector),
            clause,
            query_side: pairs.query_side(pieces),
            tool_side: pairs.tool_side(pieces),
            name: pairs.tool_side(name),
        };
        candidates.push(Candidate {
            slot: at as u32,
            score: score(&parts.features(), &WEIGHTS),
            parts,
        });
    }
    candidates
}
