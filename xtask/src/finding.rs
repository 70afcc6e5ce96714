//! One thing that is not as the project wants it, and what to do about it.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Relative to the root of the project
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) cure: String,
}

impl Finding {
    pub(crate) fn new(
        file: impl Into<String>,
        line: usize,
        what: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Finding {
            file: file.into(),
            line,
            what: what.into(),
            cure: cure.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding {
            file,
            line,
            what,
            cure,
        } = self;
        write!(f, "{file}:{line}: {what}; {cure}")
    }
}
