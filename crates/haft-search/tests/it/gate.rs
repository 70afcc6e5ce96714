//! A small gate: the quality on parts of the development sets must not fall. The whole
//! evaluation is `cargo xtask eval search`.

use haft_search::Index;

use crate::catalogue::{lines, tools};

/// Which languages to ask in, every how many-th query, and the least share in percent.
type Case = (fn(&str) -> bool, usize, f64);

/// Ask some queries of a set's languages; at least so many percent must have a right tool among
/// their first five.
fn check(set: &str, cases: &[Case]) {
    let mut index = Index::new();
    for tool in &tools(set) {
        index.add(tool);
    }
    let searcher = index.searcher();
    let queries = lines(set, "queries.jsonl.gz");
    for (at, (language, step, least)) in cases.iter().enumerate() {
        let asked: Vec<_> = queries
            .iter()
            .filter(|line| language(line["lang"].as_str().unwrap_or("en")))
            .step_by(*step)
            .collect();
        let found = asked.iter().filter(|line| {
            let hits = searcher.search(line["query"].as_str().unwrap(), 5).hits;
            let right = line["relevant"].as_array().unwrap();
            hits.iter().any(|hit| right.iter().any(|id| *id == *hit.id))
        });
        assert!(asked.len() >= 20, "{set}: {}", asked.len());
        let have = 100.0 * found.count() as f64 / asked.len() as f64;
        assert!(
            have >= *least,
            "{set}, case {at}: recall@5 {have:.1}, should be {least} or above"
        );
    }
}

#[test]
fn english_requests() {
    check("metatool", &[(|_| true, 67, 70.0)]);
}

#[test]
fn intents_in_english_and_in_fifty_languages() {
    check(
        "ha_intents",
        &[
            (|language| language == "en", 3, 95.0),
            (|language| language != "en", 19, 75.0),
        ],
    );
}
