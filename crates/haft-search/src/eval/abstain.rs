//! Saying "nothing fits": how often that is said of queries that can be answered, and how often
//! of queries that cannot, because their tools were taken away or the catalogue is another set's.

use serde::Serialize;

use super::sets::{Asked, Set};
use crate::fit::{FIT_FEATURES, FIT_THRESHOLD, FIT_WEIGHTS, Standing, is_below, score};

/// The share of any set's answerable queries that may be refused: less than the 2 % that are
/// promised, since the next set may lie a little lower than those at hand.
const REFUSED: f64 = 0.014;
/// Queries of a set that are asked without their tools, and of the next set's catalogue.
const ASKED: usize = 400;
/// Tools of a small catalogue.
const SMALL: usize = 40;
const STEPS: usize = 3_000;

/// Best candidates of one set's queries, by whether there was anything to find.
pub(super) struct Cases {
    /// The whole catalogue; a few tools with the right ones among them
    present: [Vec<Standing>; 2],
    /// The right tools removed from the catalogue; another set's; a few tools without the right
    absent: [Vec<Standing>; 3],
}

/// How one set fares; shares in percent.
#[derive(Debug, Clone, Serialize)]
pub struct Abstention {
    pub set: String,
    /// Answerable queries that were refused
    pub refused: f64,
    /// Queries whose tools were removed, caught
    pub caught_removed: f64,
    /// Queries asked of another set's catalogue, caught
    pub caught_foreign: f64,
    /// Answerable queries refused where the catalogue is 40 tools
    pub refused_small: f64,
    /// Queries whose tools are not among 40, caught
    pub caught_small: f64,
    /// The same five with weights and threshold fitted on the other sets
    pub left_out: Option<[f64; 5]>,
}

impl Abstention {
    /// The five figures in order.
    pub fn figures(&self) -> [f64; 5] {
        [
            self.refused,
            self.caught_removed,
            self.caught_foreign,
            self.refused_small,
            self.caught_small,
        ]
    }
}

/// Ask a set's queries with and without their tools, and of another set.
pub(super) fn cases(set: &Set, other: Option<&Set>) -> Cases {
    let step = (set.queries.len() / ASKED).max(1);
    let some = || set.queries.iter().step_by(step).take(ASKED).enumerate();
    let best = |searcher: &crate::Searcher, text: &str| searcher.standing(text);
    let right = |query: &Asked, id: &str| query.relevant.iter().any(|right| right == id);
    let few = |number: usize, query: &Asked, with: bool| {
        let count = set.docs.len();
        let picked: Vec<&str> = (0..SMALL)
            .map(|pick| set.docs[(number * 31 + pick * 1_009) % count].id.as_str())
            .collect();
        let view = set.index.view(|id| {
            if right(query, id) {
                with
            } else {
                picked.contains(&id)
            }
        });
        best(&view, &query.text)
    };
    Cases {
        present: [
            set.queries
                .iter()
                .map(|query| set.searcher.standing(&query.text))
                .collect(),
            some()
                .map(|(number, query)| few(number, query, true))
                .collect(),
        ],
        absent: [
            some()
                .map(|(_, query)| best(&set.index.view(|id| !right(query, id)), &query.text))
                .collect(),
            other.map_or_else(Vec::new, |other| {
                some()
                    .map(|(_, query)| best(&other.searcher, &query.text))
                    .collect()
            }),
            some()
                .map(|(number, query)| few(number, query, false))
                .collect(),
        ],
    }
}

/// Figures of every set, with the shipped rule and with one fitted on the other sets.
pub(super) fn judge(sets: &[Set], cases: &[Cases]) -> Vec<Abstention> {
    sets.iter()
        .zip(cases)
        .enumerate()
        .map(|(at, (set, own))| {
            let others: Vec<&Cases> = cases
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != at)
                .map(|(_, c)| c)
                .collect();
            let [
                refused,
                caught_removed,
                caught_foreign,
                refused_small,
                caught_small,
            ] = figures(own, &(FIT_WEIGHTS, FIT_THRESHOLD));
            Abstention {
                set: set.name.clone(),
                refused,
                caught_removed,
                caught_foreign,
                refused_small,
                caught_small,
                left_out: (!others.is_empty()).then(|| figures(own, &fit(&others))),
            }
        })
        .collect()
}

fn figures(cases: &Cases, (weights, threshold): &([f32; FIT_FEATURES], f32)) -> [f64; 5] {
    let [whole, few] = &cases.present;
    let [removed, foreign, few_removed] = &cases.absent;
    [whole, removed, foreign, few, few_removed].map(|parts| {
        let below = parts
            .iter()
            .filter(|parts| is_below(parts, weights, *threshold))
            .count();
        100.0 * below as f64 / parts.len().max(1) as f64
    })
}

fn value(parts: &Standing, weights: &[f32; FIT_FEATURES]) -> f32 {
    score(&parts.features(), weights)
}

/// Weights that tell present from absent (logistic, every set and kind counting the same), and
/// the threshold that keeps to [`REFUSED`].
pub(super) fn fit(cases: &[&Cases]) -> ([f32; FIT_FEATURES], f32) {
    let mut weights = [0.0f64; FIT_FEATURES];
    let mut velocity = [0.0f64; FIT_FEATURES];
    for _ in 0..STEPS {
        let mut gradient = weights.map(|weight| weight * 1e-3);
        for case in cases {
            let present = case.present.iter().map(|parts| (parts, 1.0, 0.5));
            let absent = case.absent.iter().map(|parts| (parts, 0.0, 1.0 / 3.0));
            for (parts, wanted, share) in present.chain(absent) {
                let step = (parts.len() / ASKED).max(1);
                let picked = parts.iter().step_by(step);
                let count = picked.len().max(1) as f64;
                for parts in picked {
                    let features = parts.features().map(f64::from);
                    let sum: f64 = features.iter().zip(&weights).map(|(f, w)| f * w).sum();
                    let off = 1.0 / (1.0 + (-sum).exp()) - wanted;
                    for (gradient, feature) in gradient.iter_mut().zip(features) {
                        *gradient += off * feature * share / count;
                    }
                }
            }
        }
        for at in 0..FIT_FEATURES {
            velocity[at] = 0.9 * velocity[at] + gradient[at];
            weights[at] -= 0.2 * velocity[at] / cases.len().max(1) as f64;
        }
    }
    let weights = weights.map(|weight| weight as f32);
    (weights, threshold(cases, &weights))
}

/// The value below which no set and no kind of catalogue has more than [`REFUSED`] of its
/// answerable queries.
fn threshold(cases: &[&Cases], weights: &[f32; FIT_FEATURES]) -> f32 {
    let kinds = cases.iter().flat_map(|case| &case.present);
    let least = kinds.filter_map(|parts| {
        let mut values: Vec<f32> = parts.iter().map(|parts| value(parts, weights)).collect();
        values.sort_unstable_by(f32::total_cmp);
        let refused = (values.len() as f64 * REFUSED) as usize;
        values.get(refused).copied()
    });
    least.min_by(f32::total_cmp).unwrap_or(f32::NEG_INFINITY)
}
