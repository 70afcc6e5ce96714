//! The weights that were learned: how the parts of a score are added up, and below which score
//! nothing fits. `cargo xtask eval search` works them out again and reports how they do on sets
//! they were not fitted on.

/// Numbers that the final score is a weighted sum of.
pub(crate) const FEATURES: usize = 9;
/// Numbers that say whether the best tool fits at all.
pub(crate) const FIT_FEATURES: usize = 5;

/// The parts of one candidate's score.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Parts {
    pub(crate) exact: bool,
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
    /// What the weights are multiplied with.
    pub(crate) fn features(&self) -> [f32; FEATURES] {
        [
            self.coverage * self.keywords,
            self.coverage * self.share,
            self.vector,
            self.coverage * self.vector,
            self.head,
            self.clause,
            self.query_side,
            self.tool_side,
            self.name,
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
    /// What tells a tool that fits from the nearest of those that do not. Scores are against the
    /// best of all, so being ahead counts only as much as the best itself is like the query. Sizes
    /// of catalogue and query tell more on the sets at hand, and mislead on the next.
    pub(crate) fn features(&self) -> [f32; FIT_FEATURES] {
        let best = &self.best;
        let ahead = self.rise * best.clause;
        [1.0, best.head, best.clause, best.query_side, ahead]
    }
}

/// Fitted on all development sets, each group counting the same.
pub(crate) const WEIGHTS: [f32; FEATURES] = [1.57, 3.07, 4.58, -4.98, 3.02, 4.83, 4.81, 3.08, 2.22];

/// Fitted to tell queries whose tool is there from the same queries without it.
pub(crate) const FIT_WEIGHTS: [f32; FIT_FEATURES] = [-1.79, 0.67, 0.62, 0.08, 0.70];
/// Below this, nothing fits: 2 % of the answerable development queries lie there.
pub(crate) const FIT_THRESHOLD: f32 = -1.27;

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
