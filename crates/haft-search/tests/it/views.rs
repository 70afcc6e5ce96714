//! What a caller may not see leaves no trace: results equal those of an index that never held
//! it. The same for tools that were removed, and for any order of adding.

use haft_search::{Found, Index, Searcher, ToolDoc};
use proptest::prelude::*;

use crate::catalogue;

const QUERIES: &[&str] = &[
    "turn on the light in the bedroom and check the weather in Hanoi",
    "éteins la lumière du salon",
    "light_turn_on",
    "temp",
    "请打开卧室的灯",
    "order a ride to the airport",
];

fn tools() -> Vec<ToolDoc> {
    catalogue::tools("ha_intents")
        .into_iter()
        .take(90)
        .collect()
}

fn answers(searcher: &Searcher) -> Vec<Found> {
    QUERIES
        .iter()
        .map(|query| searcher.search(query, 100))
        .collect()
}

fn index_of<'a>(docs: impl IntoIterator<Item = &'a ToolDoc>) -> Index {
    let mut index = Index::new();
    for doc in docs {
        index.add(doc);
    }
    index
}

/// Equal to the last bit, scores and parts included.
fn assert_same(have: &[Found], want: &[Found]) {
    for ((have, want), query) in have.iter().zip(want).zip(QUERIES) {
        assert_eq!(have, want, "{query:?}");
        let bits = |found: &Found| {
            found
                .hits
                .iter()
                .map(|hit| hit.score.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(have), bits(want), "{query:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_view_equals_an_index_without_the_rest(seen in prop::collection::vec(any::<bool>(), 90)) {
        let tools = tools();
        let visible: Vec<&ToolDoc> =
            tools.iter().zip(&seen).filter(|(_, seen)| **seen).map(|(tool, _)| tool).collect();
        let whole = index_of(&tools);
        let view = whole.view(|id| visible.iter().any(|tool| tool.id == id));
        let fresh = index_of(visible.iter().rev().copied());
        assert_same(&answers(&view), &answers(&fresh.searcher()));
    }

    #[test]
    fn a_view_that_grew_equals_a_new_one(
        seen in prop::collection::vec(any::<bool>(), 90),
        first in 0usize..90,
        gone in prop::option::of(0usize..90),
    ) {
        let tools = tools();
        let sees = |id: &str| {
            let mut both = tools.iter().zip(&seen);
            both.any(|(tool, seen)| *seen && tool.id == id)
        };
        let mut index = index_of(&tools[..first]);
        let counted = index.view(sees).counted();
        for tool in &tools[first..] {
            index.add(tool);
        }
        if let Some(gone) = gone {
            index.remove(&tools[gone].id);
        }
        assert_same(&answers(&index.grown(counted, sees)), &answers(&index.view(sees)));
    }

    #[test]
    fn a_removed_tool_leaves_no_trace(gone in prop::collection::vec(0usize..90, 0..80)) {
        let tools = tools();
        let mut index = index_of(&tools);
        for &at in &gone {
            index.remove(&tools[at].id);
        }
        let fresh = index_of(tools.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, t)| t));
        prop_assert_eq!(index.len(), fresh.len());
        assert_same(&answers(&index.searcher()), &answers(&fresh.searcher()));
    }
}

#[test]
fn an_update_works_out_only_what_is_new() {
    let mut tools = tools();
    let mut index = index_of(&tools);
    let changes = index.update(&tools);
    assert_eq!((changes.added, changes.removed, changes.kept), (0, 0, 90));
    tools.truncate(80);
    tools[3].description = "Something else entirely".to_owned();
    let changes = index.update(&tools);
    assert_eq!((changes.added, changes.removed, changes.kept), (1, 10, 79));
    assert_same(
        &answers(&index.searcher()),
        &answers(&index_of(&tools).searcher()),
    );
}

#[test]
fn a_list_that_changes_does_not_disturb_a_search() {
    let tools = tools();
    let mut index = index_of(&tools);
    let searcher = index.searcher();
    let before = answers(&searcher);
    index.update(&tools[..5]);
    assert_eq!(index.len(), 5);
    assert_same(&answers(&searcher), &before);
}
