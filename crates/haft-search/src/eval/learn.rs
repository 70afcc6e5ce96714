//! Fitting the weights: listwise, so that each query's right tools get the share of a softmax
//! over its candidates. Every group (a set's English queries, its other queries) counts the same,
//! whatever its size. To judge a set, the weights are fitted on the other sets alone.

use super::measure::ndcg;
use super::sets::Set;
use crate::fit::{FEATURES, score};
use crate::query::Lexicon;

const STEPS: i32 = 400;
const BATCH: usize = 150;
const RATE: f64 = 0.3;
const DECAY: f64 = 0.0001;

/// One query's candidates, worked out once.
pub(super) struct Sample {
    pub(super) english: bool,
    /// Features and whether the tool is right
    candidates: Vec<([f32; FEATURES], bool)>,
    /// How many tools are right, found or not
    right: usize,
}

/// The candidates of every query of a set.
pub(super) fn samples(set: &Set, lexicon: Lexicon) -> Vec<Sample> {
    set.queries
        .iter()
        .map(|query| {
            let candidates = set.searcher.candidates(&query.text, lexicon);
            Sample {
                english: query.is_english(),
                right: query.relevant.len(),
                candidates: candidates
                    .iter()
                    .map(|candidate| {
                        let id = set.searcher.id(candidate.slot);
                        (
                            candidate.parts.features(),
                            query.relevant.iter().any(|right| right == id),
                        )
                    })
                    .collect(),
            }
        })
        .collect()
}

impl Sample {
    /// nDCG at 10 with these weights.
    pub(super) fn ndcg(&self, weights: &[f32; FEATURES]) -> f64 {
        let mut order: Vec<(f32, bool)> = self
            .candidates
            .iter()
            .map(|(features, right)| (score(features, weights), *right))
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        // Each right tool is one name to find; wrong ones are all alike.
        let ranked: Vec<usize> = order
            .iter()
            .scan(0, |next, (_, right)| {
                *next += usize::from(*right);
                Some(if *right { *next } else { 0 })
            })
            .collect();
        let relevant: Vec<usize> = (1..=self.right).collect();
        ndcg(&ranked, &relevant)
    }

    fn gradient(&self, weights: &[f64; FEATURES], out: &mut [f64; FEATURES]) {
        let scores: Vec<f64> = self
            .candidates
            .iter()
            .map(|(features, _)| {
                features
                    .iter()
                    .zip(weights)
                    .map(|(f, w)| f64::from(*f) * w)
                    .sum()
            })
            .collect();
        let most = scores.iter().copied().fold(f64::MIN, f64::max);
        let shares: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let total: f64 = shares.iter().sum();
        let right = self.candidates.iter().filter(|(_, right)| *right).count() as f64;
        for ((features, is_right), share) in self.candidates.iter().zip(shares) {
            let wanted = if *is_right { 1.0 / right } else { 0.0 };
            for (sum, feature) in out.iter_mut().zip(features) {
                *sum += (share / total - wanted) * f64::from(*feature);
            }
        }
    }
}

/// Fit the weights on these groups of samples.
pub(super) fn fit(groups: &[Vec<&Sample>]) -> [f32; FEATURES] {
    let mut weights = [0.0; FEATURES];
    let mut mean = [0.0; FEATURES];
    let mut spread = [0.0; FEATURES];
    let groups: Vec<Vec<&Sample>> = groups
        .iter()
        .map(|group| {
            let useful = |sample: &&&Sample| sample.candidates.iter().any(|(_, right)| *right);
            group.iter().filter(useful).copied().collect()
        })
        .filter(|group: &Vec<_>| !group.is_empty())
        .collect();
    for step in 1..=STEPS {
        let mut gradient = weights.map(|weight| weight * DECAY);
        for group in &groups {
            let mut sum = [0.0; FEATURES];
            let batch = BATCH.min(group.len());
            for pick in 0..batch {
                // A stride that is prime to the sizes at hand visits everything in turn.
                let at = (step as usize * BATCH + pick * 7_919) % group.len();
                group[at].gradient(&weights, &mut sum);
            }
            for (gradient, sum) in gradient.iter_mut().zip(sum) {
                *gradient += sum / batch as f64;
            }
        }
        let rate = RATE * (1.0 - f64::from(step) / f64::from(STEPS + 1));
        for at in 0..FEATURES {
            mean[at] = 0.9 * mean[at] + 0.1 * gradient[at];
            spread[at] = 0.99 * spread[at] + 0.01 * gradient[at] * gradient[at];
            let mean = mean[at] / (1.0 - 0.9f64.powi(step));
            let spread = spread[at] / (1.0 - 0.99f64.powi(step));
            weights[at] -= rate * mean / (spread.sqrt() + 1e-8);
        }
    }
    weights.map(|weight| weight as f32)
}

/// The samples of all sets but one, in groups.
pub(super) fn groups(samples: &[Vec<Sample>], without: Option<usize>) -> Vec<Vec<&Sample>> {
    let mut groups = Vec::new();
    for (set, samples) in samples.iter().enumerate() {
        if Some(set) != without {
            let (english, others) = samples.iter().partition(|sample| sample.english);
            groups.extend([english, others]);
        }
    }
    groups
}
