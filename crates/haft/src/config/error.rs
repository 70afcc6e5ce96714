//! What is wrong with a config, said so that a person can go to the place and mend it.

use std::fmt;
use std::path::PathBuf;

use haft_core::ErrorCode;
use haft_runtime::visible;

use crate::home::HomeError;

/// Why haft refuses to start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The file could not be taken as it lies there
    #[error("cannot use config `{}`: {reason}", path.display())]
    Unusable { path: PathBuf, reason: String },
    #[error("cannot use workspace `{}`: {reason}", path.display())]
    Workspace { path: PathBuf, reason: String },
    /// The file says something that haft does not understand
    #[error("{}", listing(problems))]
    Wrong { problems: Vec<Problem> },
}

impl ConfigError {
    /// What it means to a program.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            ConfigError::Wrong { problems } if problems.iter().all(|one| one.early) => {
                ErrorCode::NotAvailable
            }
            _ => ErrorCode::ExecutionFailed,
        }
    }
}

/// One mistake in a config file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    /// As a person would name it: `haft.yaml`
    file: String,
    place: Option<Place>,
    message: String,
    hint: Option<String>,
    /// It is right, only not for this version
    early: bool,
}

/// Line and column, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl Problem {
    pub(super) fn new(place: Place, message: impl Into<String>) -> Problem {
        Problem {
            file: String::new(),
            place: Some(place),
            message: message.into(),
            hint: None,
            early: false,
        }
    }

    /// For something that a later version will have.
    pub(super) fn early(place: Place, what: &str) -> Problem {
        Problem {
            early: true,
            ..Problem::new(
                place,
                format!("{what} is not available yet in this version"),
            )
        }
    }

    /// For a mistake that no line can be named for.
    pub(super) fn somewhere(message: impl Into<String>) -> Problem {
        Problem {
            file: String::new(),
            place: None,
            message: message.into(),
            hint: None,
            early: false,
        }
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// Hint at the valid word that was probably meant.
    #[must_use]
    pub(super) fn meant<'a>(mut self, word: &str, valid: impl Iterator<Item = &'a str>) -> Problem {
        let valid: Vec<&str> = valid.collect();
        self.hint = suggestion(word, &valid);
        self
    }

    pub(super) fn place(&self) -> Option<Place> {
        self.place
    }

    #[must_use]
    pub(super) fn in_file(mut self, file: &str) -> Problem {
        self.file = file.to_owned();
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The words of the file are in here: none may repaint or break the line it stands in.
        let message = visible(&self.message).replace('\n', "\\n");
        write!(f, "{message} at {}", self.file)?;
        if let Some(place) = self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        match &self.hint {
            Some(hint) => write!(f, ", {hint}"),
            None => Ok(()),
        }
    }
}

/// What to say about a word that is none of `valid`: the nearest one, or all of them.
fn suggestion(word: &str, valid: &[&str]) -> Option<String> {
    let lower = word.to_lowercase();
    let nearest = valid
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&lower, known), known))
        .min_by_key(|(distance, _)| *distance);
    let (distance, known) = nearest?;
    if distance <= 1 + word.chars().count() / 4 {
        return Some(format!("did you mean `{known}`?"));
    }
    let quoted: Vec<String> = valid.iter().map(|known| format!("`{known}`")).collect();
    Some(format!("expected one of {}", quoted.join(", ")))
}

fn listing(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    lines.join("\n")
}
