//! The weights that were learned: how the parts of a score are added up, and below which score
//! nothing fits. `cargo xtask eval search` works them out again and reports how they do on sets
//! they were not fitted on.

/// Numbers that the final score is a weighted sum of.
pub(crate) const FEATURES: usize = 9;
/// Numbers that say whether the best tool fits at all.
pub(crate) const FIT_FEATURES: usize = 8;

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

    /// What tells a tool that fits from the nearest of those that do not.
    pub(crate) fn fit_features(&self) -> [f32; FIT_FEATURES] {
        [
            1.0,
            self.cosine,
            self.head,
            self.clause,
            self.query_side,
            self.tool_side,
            self.name,
            self.coverage * self.share,
        ]
    }
}

/// Fitted on all development sets, each group counting the same.
pub(crate) const WEIGHTS: [f32; FEATURES] = [1.56, 3.07, 4.55, -4.98, 3.10, 4.82, 4.91, 3.16, 2.25];

/// Fitted to tell queries whose tool is there from the same queries without it.
pub(crate) const FIT_WEIGHTS: [f32; FIT_FEATURES] =
    [-2.48, 0.36, 1.14, 1.53, 2.07, 1.54, -0.22, 0.18];
/// Below this, nothing fits: 1 % of the answerable development queries lie there.
pub(crate) const FIT_THRESHOLD: f32 = -1.45;

pub(crate) fn score(features: &[f32], weights: &[f32]) -> f32 {
    features
        .iter()
        .zip(weights)
        .map(|(feature, weight)| feature * weight)
        .sum()
}

/// True where the best tool of all is not good enough to be offered.
pub(crate) fn is_too_far(best: &Parts) -> bool {
    score(&best.fit_features(), &FIT_WEIGHTS) < FIT_THRESHOLD
}
