//! A small gate: the quality on parts of the development sets must not fall. The whole
//! evaluation is `cargo xtask eval search`.

use std::collections::{BTreeMap, HashMap, HashSet};

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

#[test]
fn nearly_every_language_finds_its_tools() {
    let mut index = Index::new();
    index.update(&tools("ha_intents"));
    let searcher = index.searcher();
    let mut languages: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for line in lines("ha_intents", "queries.jsonl.gz") {
        let hits = searcher.search(line["query"].as_str().unwrap(), 5).hits;
        let right = line["relevant"].as_array().unwrap();
        let found = hits.iter().any(|hit| right.iter().any(|id| *id == *hit.id));
        let language = line["lang"].as_str().unwrap_or("en").to_owned();
        let (have, all) = languages.entry(language).or_default();
        *have += usize::from(found);
        *all += 1;
    }
    let weak: Vec<&String> = languages
        .iter()
        .filter(|(_, (have, all))| have * 100 < all * 65)
        .map(|(language, _)| language)
        .collect();
    assert!(languages.len() - weak.len() >= 45, "{weak:?}");
}

#[test]
fn what_can_be_answered_is_seldom_refused() {
    for set in ["bfcl", "tldr", "ha_intents"] {
        let mut index = Index::new();
        index.update(&tools(set));
        let searcher = index.searcher();
        let queries = lines(set, "queries.jsonl.gz");
        let refused = queries.iter().filter(|line| {
            let query = line["query"].as_str().unwrap();
            searcher.search(query, 1).nothing_fits
        });
        let (refused, all) = (refused.count(), queries.len());
        assert!(refused * 100 <= all * 2, "{set}: {refused} of {all}");
    }
}

/// The words that the dictionary translates, without the marks of stems.
fn dictionary() -> HashSet<String> {
    let lines = include_str!("../../data/gloss.txt").lines();
    let words = lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(':'))
        .flat_map(|(words, _)| words.split_whitespace());
    words
        .map(|word| word.trim_end_matches('-').to_lowercase())
        .collect()
}

#[test]
fn the_dictionary_holds_no_query() {
    let words = dictionary();
    for set in ["metatool", "bfcl", "sealtools", "tldr", "ha_intents"] {
        for line in lines(set, "queries.jsonl.gz") {
            let query = line["query"].as_str().unwrap().to_lowercase();
            let query = query.trim_matches(|c: char| !c.is_alphanumeric());
            assert!(!words.contains(query), "{query}");
        }
    }
}

#[test]
fn the_dictionary_leaves_english_alone() {
    let words = dictionary();
    let mut counted: HashMap<String, usize> = HashMap::new();
    for set in ["metatool", "bfcl", "sealtools"] {
        for tool in tools(set) {
            let text = tool.description.to_lowercase();
            let own: HashSet<&str> = text.split(|c: char| !c.is_alphabetic()).collect();
            for word in own.into_iter().filter(|word| words.contains(*word)) {
                *counted.entry(word.to_owned()).or_default() += 1;
            }
        }
    }
    // A name or a foreign word may stand in a description or two.
    counted.retain(|_, tools| *tools > 2);
    assert!(counted.is_empty(), "{counted:?}");
}
