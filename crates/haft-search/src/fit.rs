//! The weights that were learned: how the parts of a score are added up, and below which score
//! nothing fits. `cargo xtask eval search` works them out again and reports how they do on sets
//! they were not fitted on.

/// Numbers that the final score is a weighted sum of.
pub(crate) const FEATURES: usize = 13;
/// Numbers that say whether the best tool fits at all.
pub(crate) const FIT_FEATURES: usize = 5;

/// The parts of one candidate's score.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Parts {
    pub(crate) exact: bool,
    /// How short the query is: 1 for a few words, less for whole paragraphs
    pub(crate) brevity: f32,
    /// Up to 1 where the query is a short question, and the tool by its name tells something
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
            self.tells,
        ]
    }

    /// Every likeness of the second look together.
    pub(crate) fn likeness(&self) -> f32 {
        self.head + self.clause + self.query_side + self.tool_side + self.name
    }
}

/// How the best tool stands among the others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Standing {
    pub(crate) best: Parts,
    /// Its likeness above the mean of those that follow
    pub(crate) rise: f32,
}

impl Standing {
    /// What tells a tool that fits from the nearest of those that do not: likeness, words in
    /// common, and how far it is ahead in likeness; scores would not do, being against the best of
    /// all. Sizes of catalogue and query tell more on the sets at hand, and mislead on the next.
    pub(crate) fn features(&self) -> [f32; FIT_FEATURES] {
        let best = &self.best;
        let [share, keywords] = [best.share, best.keywords].map(|part| best.coverage * part);
        [1.0, share, keywords, best.clause, self.rise]
    }
}

/// Fitted on all development sets, each group counting the same.
pub(crate) const WEIGHTS: [f32; FEATURES] = [
    2.94, 4.14, 1.48, -5.18, 3.15, 4.07, 4.58, 3.04, 2.23, -2.53, 4.30, 1.16, 2.01,
];

/// Fitted to tell queries whose tool is there from the same queries without it.
pub(crate) const FIT_WEIGHTS: [f32; FIT_FEATURES] = [-2.314, 2.626, -1.665, 3.370, 1.463];
/// Below this, nothing fits: of no development set more than 2 % of the answerable queries do.
pub(crate) const FIT_THRESHOLD: f32 = -1.725;
/// Nor does a tool that is less like the query, however far it is ahead: letters thrown together
/// are that like something.
const LEAST_LIKENESS: f32 = 0.09;

pub(crate) fn score(features: &[f32], weights: &[f32]) -> f32 {
    features
        .iter()
        .zip(weights)
        .map(|(feature, weight)| feature * weight)
        .sum()
}

/// True where the best tool of all is not good enough to be offered.
pub(crate) fn is_too_far(standing: &Standing) -> bool {
    is_below(standing, &FIT_WEIGHTS, FIT_THRESHOLD)
}

/// The same by other weights.
pub(crate) fn is_below(standing: &Standing, weights: &[f32], threshold: f32) -> bool {
    standing.best.clause < LEAST_LIKENESS || score(&standing.features(), weights) < threshold
}
