//! Tools that tell something, by a word in their names: what a question is more likely to want
//! than a tool that does something.

use std::sync::LazyLock;

use crate::model;

/// Words in the names of tools that tell.
const WORDS: &str = "get list show find search read check status state info view query fetch \
    lookup count ask is has describe detail display retrieve where what who when how";

/// The pieces of those words that are one piece, sorted.
static PIECES: LazyLock<Vec<u16>> = LazyLock::new(|| {
    let words = WORDS.split_whitespace().map(model::pieces);
    let mut pieces: Vec<u16> = words.filter(|word| word.len() == 1).flatten().collect();
    pieces.sort_unstable();
    pieces
});

/// Whether a tool with these pieces in its name tells something.
pub(crate) fn tells(name: &[u16]) -> bool {
    name.iter().any(|piece| PIECES.binary_search(piece).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_whether_a_tool_tells() {
        for (name, want) in [
            ("lock get state", true),
            ("show alarm", true),
            ("lock door", false),
            ("budget plan", false),
            ("", false),
        ] {
            assert_eq!(tells(&model::pieces(name)), want, "{name}");
        }
    }
}
