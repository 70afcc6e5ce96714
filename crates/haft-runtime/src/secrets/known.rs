//! Values that the owner has named as secret: hidden wherever they appear, whatever their shape.

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use arc_swap::ArcSwapOption;

/// A shorter value would hide ordinary words.
const SHORTEST: usize = 6;

static KNOWN: ArcSwapOption<Known> = ArcSwapOption::const_empty();

struct Known {
    values: Vec<String>,
    finder: AhoCorasick,
}

/// Hide these values from now on, in this process.
pub fn hide(values: impl IntoIterator<Item = String>) {
    let mut all = KNOWN
        .load()
        .as_ref()
        .map(|known| known.values.clone())
        .unwrap_or_default();
    all.extend(values.into_iter().filter(|value| value.len() >= SHORTEST));
    all.sort();
    all.dedup();
    // The longest first: a value may begin with another one.
    let finder = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(&all);
    if let Ok(finder) = finder.map(|finder| Known {
        values: all,
        finder,
    }) {
        KNOWN.store(Some(Arc::new(finder)));
    }
}

/// Where known values stand in a text.
pub(super) fn find(text: &[u8], mut found: impl FnMut(Range<usize>)) {
    if text.len() < SHORTEST {
        return;
    }
    if let Some(known) = KNOWN.load().as_ref() {
        for value in known.finder.find_iter(text) {
            found(value.range());
        }
    }
}
