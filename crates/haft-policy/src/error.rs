//! Why a policy does not compile. Nobody branches on it: a broken policy refuses to start.

/// What is wrong, where it stands, and the nearest thing that would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{from}: {message}")]
pub struct PolicyError {
    /// The layer it stands in
    pub from: String,
    pub message: String,
    pub hint: Option<String>,
    /// What stands in the config and cannot be understood, as it stands there
    pub word: Option<String>,
}

impl PolicyError {
    pub(crate) fn new(from: &str, message: impl Into<String>) -> Self {
        PolicyError {
            from: from.to_owned(),
            message: message.into(),
            hint: None,
            word: None,
        }
    }

    pub(crate) fn about(mut self, word: &str) -> Self {
        self.word = Some(word.to_owned());
        self
    }

    pub(crate) fn hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

/// "did you mean" for a word that is not among the known ones.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 3)
        .min()
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}
