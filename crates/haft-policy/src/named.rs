//! Words that name files, and what is done to these.

use crate::command::path_in;
use crate::shell::Word;
use crate::traps;

/// What happens to a file that a word names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Changed, with everything below it
    Writes,
    /// The same, of the name itself: where it is a link, that is not followed
    WritesName,
    /// Changed, or something below it may be
    WritesFile,
    Reads,
    /// It is told that it is there, and how large and how old
    Lists,
    /// Whatever is below it may be read
    WalksReading,
    /// Whatever is below it may be changed
    WalksWriting,
    /// A program that is not known here was given it
    Unknown,
    /// As above, and it is more often the name of a revision than of a file
    Mentions,
}

/// A path as a command line writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    pub(crate) text: &'a str,
    /// The shell looks for names that fit
    pub(crate) glob: bool,
    pub(crate) how: Use,
}

pub(crate) fn here(how: Use) -> Named<'static> {
    Named {
        text: ".",
        glob: false,
        how,
    }
}

pub(crate) fn as_named<'a>(word: &'a Word, text: &'a str, how: Use) -> Named<'a> {
    Named {
        text,
        glob: word.glob,
        how,
    }
}

/// Words that are no options.
pub(crate) fn plain<'k, 'a>(known: &'k [&'a Word]) -> impl Iterator<Item = &'a Word> + use<'k, 'a> {
    known
        .iter()
        .copied()
        .filter(|word| !word.text.starts_with('-'))
}

/// Every word that may be a path.
pub(crate) fn given<'a>(name: &str, known: &[&'a Word], how: Use) -> Vec<Named<'a>> {
    traps::paths(name, known)
        .into_iter()
        .filter_map(|word| path_in(&word.text).map(|text| as_named(word, text, how)))
        .collect()
}
