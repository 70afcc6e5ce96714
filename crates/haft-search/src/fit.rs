//! The weights that were learned: how the parts of a score are added up, and below which score
//! nothing fits. `cargo xtask eval search` works them out again and reports how they do on sets
//! they were not fitted on.

/// Numbers that the final score is a weighted sum of.
pub(crate) const FEATURES: usize = 14;
/// Numbers that say whether the best tool fits at all.
pub(crate) const FIT_FEATURES: usize = 5;

/// The parts of one candidate's score.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Parts {
    pub(crate) exact: bool,
    /// How short the query is: 1 for a few words, less for whole paragraphs
    pub(crate) brevity: f32,
    /// The query has a question mark
    pub(crate) asks: bool,
    /// Up to 1 where the tool by its name tells something and the query is short; a long one ends
    /// in a question mark whatever it wants
    pub(crate) tells: f32,
    pub(crate) coverage: f32,
    pub(crate) keywords: f32,
    pub(crate) share: f32,
    pub(crate) cosine: f32,
    /// The cosine against the best tool's
    pub(crate) vector: f32,
    pub(crate) head: f32,
    pub(crate) clause: f32,
    pub(crate) query_side: f32,
    pub(crate) tool_side: f32,
    pub(crate) name: f32,
}

impl Parts {
    /// What the weights are multiplied with. Among a few words each keyword may be there by
    /// chance, so keywords and vectors weigh differently by how short a query is.
    pub(crate) fn features(&self) -> [f32; FEATURES] {
        let (keywords, vector) = (self.coverage * self.keywords, self.coverage * self.vector);
        let (asked, unasked) = match self.asks {
            true => (self.tells, 0.0),
            false => (0.0, self.tells),
        };
        [
            keywords,
            self.coverage * self.share,
            self.vector,
            vector,
            self.head,
            self.clause,
            self.query_side,
            self.tool_side,
            self.name,
            self.brevity * keywords,
            self.brevity * self.vector,
            self.brevity * vector,
            asked,
            unasked,
        ]
    }
}

/// How the best tool stands among the others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Standing {
    pub(crate) best: Parts,
    /// Its score above the mean of those that follow
    pub(crate) rise: f32,
}

impl Standing {
    /// What tells a tool that fits from the nearest of those that do not: likeness, how far it is
    /// ahead, and, since words that are known lead to more likeness, how many are. Sizes of
    /// catalogue and query tell more on the sets at hand, and mislead on the next.
    pub(crate) fn features(&self) -> [f32; FIT_FEATURES] {
        let best = &self.best;
        let shared = best.coverage * best.share;
        [1.0, best.coverage, shared, best.head, self.rise]
    }
}

/// Fitted on all development sets, each group counting the same.
pub(crate) const WEIGHTS: [f32; FEATURES] = [
    3.21, 3.86, 2.01, -5.92, 3.39, 3.81, 4.51, 2.84, 2.21, -2.62, 3.57, 2.36, 1.94, -0.72,
];

/// Fitted to tell queries whose tool is there from the same queries without it.
pub(crate) const FIT_WEIGHTS: [f32; FIT_FEATURES] = [-2.632, -0.465, 0.814, 3.514, 0.328];
/// Below this, nothing fits: of no development set more than 2 % of the answerable queries do.
pub(crate) const FIT_THRESHOLD: f32 = -1.601;

pub(crate) fn score(features: &[f32], weights: &[f32]) -> f32 {
    features
        .iter()
        .zip(weights)
        .map(|(feature, weight)| feature * weight)
        .sum()
}

/// True where the best tool of all is not good enough to be offered.
pub(crate) fn is_too_far(standing: &Standing) -> bool {
    score(&standing.features(), &FIT_WEIGHTS) < FIT_THRESHOLD
}
