//! The second look: each piece of the query against each piece of a tool. A piece counts by the
//! length of its row, which is how the table learned what matters, and by how rare it is among
//! the tools at hand.

use std::cell::Cell;

use crate::dot::{self, RAISED_BY, Raised, Row};
use crate::model::{self, DIMENSIONS};
use crate::searcher::Searcher;

/// Products of one search at most; beyond it the query's lighter pieces are left out.
const MOST_PRODUCTS: usize = 16_000;
/// Pieces of a query that are always looked at, however many the candidates have.
const FEWEST_PIECES: usize = 24;

/// Rows that are fetched at once: they lie all over the table, so the waits overlap.
const BATCH: usize = 32;

/// The length of each row; a row of zeros counts as 1, so that it can be divided by.
fn lengths(rows: &[Raised], out: &mut [f32]) {
    let mut squares = [0; BATCH];
    for (rows, out) in rows.chunks(BATCH).zip(out.chunks_mut(BATCH)) {
        dot::squares(rows, &mut squares);
        for (length, square) in out.iter_mut().zip(squares) {
            *length = (square as f32).sqrt().max(1.0);
        }
    }
}

/// The pieces of a query, ready for comparing; one list a property, all in the same order.
struct Asked {
    rows: Vec<Row>,
    /// What the raise of the other side adds to a product with each row
    raises: Vec<i32>,
    /// One through the length of each row
    shorten: Vec<f32>,
    weights: Vec<f32>,
}

impl Asked {
    fn of(pieces: &[(u16, f32)], searcher: &Searcher) -> Asked {
        let raised: Vec<Raised> = pieces
            .iter()
            .map(|(id, _)| model::raised_row(*id))
            .collect();
        let mut length = vec![0.0; raised.len()];
        lengths(&raised, &mut length);
        let lowered = |row: &Raised| row.map(|x| x as i8 - RAISED_BY as i8);
        let rows: Vec<Row> = raised.iter().map(lowered).collect();
        let raise = |row: &Row| RAISED_BY * row.iter().map(|x| i32::from(*x)).sum::<i32>();
        let weight = |((id, count), length): (&(u16, f32), &f32)| {
            length * model::scale(*id) * searcher.rarity(*id) * count
        };
        Asked {
            raises: rows.iter().map(raise).collect(),
            weights: pieces.iter().zip(&length).map(weight).collect(),
            shorten: length.iter().map(|length| 1.0 / length).collect(),
            rows,
        }
    }
}

thread_local! {
    /// The largest list of a search, kept for the next: the system would hand it out page by page
    static KEPT: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// The query's pieces against those of all candidates, each pair worked out once.
pub(crate) struct Pairs {
    places: Places,
    /// Weight of each distinct piece of the candidates
    weights: Vec<f32>,
    /// Its best likeness to any piece of the query
    best: Vec<f32>,
    /// Its likeness to every piece of the query, one after the other
    likeness: Vec<f32>,
    query_weights: Vec<f32>,
    query_total: f32,
    most: Vec<f32>,
}

impl Drop for Pairs {
    fn drop(&mut self) {
        KEPT.set(std::mem::take(&mut self.likeness));
    }
}

impl Pairs {
    pub(crate) fn new<'a>(
        query: &[u16],
        tools: impl Iterator<Item = &'a [u16]>,
        searcher: &Searcher,
    ) -> Pairs {
        let mut places = Places::new();
        let mut ids = Vec::new();
        for &id in tools.flatten() {
            if places.insert(id, ids.len() as u16) {
                model::soon(id);
                searcher.soon(id);
                ids.push(id);
            }
        }
        let asked = asked_pieces(query, ids.len(), searcher);
        let mut pairs = Pairs {
            places,
            weights: Vec::with_capacity(ids.len()),
            best: Vec::with_capacity(ids.len()),
            likeness: KEPT.take(),
            query_total: asked.weights.iter().sum(),
            most: vec![0.0; asked.rows.len()],
            query_weights: Vec::new(),
        };
        pairs.likeness.clear();
        pairs.likeness.reserve(ids.len() * asked.rows.len());
        for ids in ids.chunks(BATCH) {
            pairs.compare(ids, &asked, searcher);
        }
        pairs.query_weights = asked.weights;
        pairs
    }

    /// Work out a batch of the candidates' pieces.
    fn compare(&mut self, ids: &[u16], asked: &Asked, searcher: &Searcher) {
        let width = asked.rows.len();
        let mut rows = [[0; DIMENSIONS]; BATCH];
        for (row, id) in rows.iter_mut().zip(ids) {
            *row = model::raised_row(*id);
        }
        let rows = &rows[..ids.len()];
        let mut length = [1.0; BATCH];
        lengths(rows, &mut length);
        let mut dots = vec![0; ids.len() * width];
        dot::all_raised(rows, &asked.rows, &mut dots);
        for (at, (id, length)) in ids.iter().zip(length).enumerate() {
            let shorten = 1.0 / length;
            let columns = dots[at * width..(at + 1) * width].iter().zip(&asked.raises);
            let alike = columns
                .zip(&asked.shorten)
                .map(|((dot, raise), asked_shorten)| {
                    (dot - raise) as f32 * (shorten * asked_shorten)
                });
            let start = self.likeness.len();
            self.likeness.extend(alike);
            let best = self.likeness[start..].iter().copied().fold(0.0, larger);
            self.best.push(best);
            let weight = length * model::scale(*id) * searcher.rarity(*id);
            self.weights.push(weight);
        }
    }

    /// How well a candidate's pieces answer the query's.
    pub(crate) fn query_side(&mut self, pieces: &[u16]) -> f32 {
        let width = self.most.len();
        self.most.fill(0.0);
        for &id in pieces {
            let Some(at) = self.places.get(id) else {
                continue;
            };
            if let Some(likeness) = self.likeness.get(at * width..(at + 1) * width) {
                for (most, alike) in self.most.iter_mut().zip(likeness) {
                    *most = larger(*most, *alike);
                }
            }
        }
        let sum: f32 = self
            .query_weights
            .iter()
            .zip(&self.most)
            .map(|(w, m)| w * m)
            .sum();
        share(sum, self.query_total)
    }

    /// How well the query's pieces answer a candidate's.
    pub(crate) fn tool_side(&self, pieces: &[u16]) -> f32 {
        let mut sum = 0.0;
        let mut total = 0.0;
        for &id in pieces {
            let Some(at) = self.places.get(id) else {
                continue;
            };
            if let (Some(weight), Some(best)) = (self.weights.get(at), self.best.get(at)) {
                sum += weight * best;
                total += weight;
            }
        }
        share(sum, total)
    }
}

/// The larger of two numbers, neither of which is missing: one instruction, where `f32::max`
/// also asks for NaN.
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

fn share(sum: f32, total: f32) -> f32 {
    if total > 0.0 { sum / total } else { 0.0 }
}

/// The query's distinct pieces with how often each occurs, the heaviest where there are too many
/// for the pieces they must meet.
fn asked_pieces(query: &[u16], against: usize, searcher: &Searcher) -> Asked {
    let mut distinct: Vec<(u16, f32)> = Vec::new();
    for &id in query {
        match distinct.iter_mut().find(|(have, _)| *have == id) {
            Some((_, count)) => *count += 1.0,
            None => distinct.push((id, 1.0)),
        }
    }
    let most = (MOST_PRODUCTS / against.max(1)).max(FEWEST_PIECES);
    if distinct.len() > most {
        let weights = Asked::of(&distinct, searcher).weights;
        let mut weighed: Vec<_> = distinct.into_iter().zip(weights).collect();
        // Stable, so that equal weights keep the query's order.
        weighed.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        distinct = weighed
            .into_iter()
            .take(most)
            .map(|(piece, _)| piece)
            .collect();
    }
    Asked::of(&distinct, searcher)
}

/// Where a piece lies among the distinct ones: a small hash table, since most of the 64,000 do
/// not occur.
struct Places {
    /// Piece in the upper half, place + 1 in the lower; 0 is free
    slots: Vec<u32>,
}

const PLACES: usize = 1 << 14;

impl Places {
    fn new() -> Places {
        Places {
            slots: vec![0; PLACES],
        }
    }

    fn find(&self, id: u16) -> usize {
        let mut at = (usize::from(id).wrapping_mul(0x9e37_79b1) >> 7) % PLACES;
        while let Some(&slot) = self.slots.get(at)
            && slot != 0
            && slot >> 16 != u32::from(id)
        {
            at = (at + 1) % PLACES;
        }
        at
    }

    /// True if the piece is new.
    fn insert(&mut self, id: u16, place: u16) -> bool {
        let at = self.find(id);
        let new = self.slots[at] == 0;
        if new {
            self.slots[at] = u32::from(id) << 16 | (u32::from(place) + 1);
        }
        new
    }

    fn get(&self, id: u16) -> Option<usize> {
        let slot = *self.slots.get(self.find(id))?;
        (slot as usize & 0xffff).checked_sub(1)
    }
}
