//! Results over budget: cut, with the whole behind a handle that only its session can open.

use std::io::{ErrorKind, Read};
use std::sync::Arc;

use haft_core::{Block, Call, Output, ReduceContext, Reducer, ResultStore};
use haft_host::FileResults;
use haft_testkit::House;
use serde_json::json;

#[tokio::test]
async fn a_large_result_is_cut_and_stays_readable() {
    let house = House::builder().build();
    let session = house.session("s");
    let args = json!({"chars": 5_000_000, "needle": "error: the needle"});
    let outcome = house
        .runtime
        .call(&session, Call::new("test.big", args))
        .await;
    let text = outcome.text();
    assert!(outcome.ok && outcome.meta.truncated);
    assert!(text.chars().count() <= 80_000);
    assert!(text.contains("error: the needle"), "error lines are kept");
    assert!(text.ends_with(&format!(
        "[truncated — {} chars total]",
        outcome.meta.total_chars
    )));
    let handle = outcome.meta.handle.clone().unwrap();
    let results = FileResults::new(house.home.path());
    let mut whole = String::new();
    results
        .open("s", &handle)
        .unwrap()
        .read_to_string(&mut whole)
        .unwrap();
    assert_eq!(whole.chars().count(), outcome.meta.total_chars);
    for stranger in ["t", "", "s/../s", "S"] {
        let refused = results
            .open(stranger, &handle)
            .err()
            .map(|error| error.kind());
        assert_eq!(refused, Some(ErrorKind::NotFound), "{stranger}");
    }
}

struct FirstLine;

impl Reducer for FirstLine {
    fn tool(&self) -> &str {
        "test.big"
    }

    fn reduce(&self, output: &Output, _cx: ReduceContext<'_>) -> Option<Output> {
        let [Block::Text { text, .. }] = output.content.as_slice() else {
            return None;
        };
        Some(Output::text(text.lines().next()?))
    }
}

struct Broken;

impl Reducer for Broken {
    fn tool(&self) -> &str {
        "test.echo"
    }

    fn reduce(&self, _output: &Output, _cx: ReduceContext<'_>) -> Option<Output> {
        panic!("on purpose")
    }
}

#[tokio::test]
async fn a_reducer_shortens_and_the_whole_stays_behind_the_handle() {
    let house = House::builder().build();
    let session = house.session("s");
    let registered = house
        .runtime
        .reducers()
        .register(Arc::new(FirstLine))
        .unwrap();
    assert!(
        house
            .runtime
            .reducers()
            .register(Arc::new(FirstLine))
            .is_err()
    );
    let big = || Call::new("test.big", json!({"chars": 10_000, "needle": "n"}));
    let outcome = house.runtime.call(&session, big()).await;
    assert!(
        outcome.meta.reduced && outcome.meta.handle.is_some(),
        "{:?}",
        outcome.meta
    );
    assert!(outcome.text().starts_with("hay hay") && outcome.text().lines().count() == 3);
    assert!(outcome.meta.truncated && outcome.text().ends_with("chars total]"));
    assert!(
        outcome
            .text()
            .contains(outcome.meta.handle.as_deref().unwrap())
    );
    assert!(outcome.meta.total_chars > 9_000);
    registered.undo();
    let outcome = house.runtime.call(&session, big()).await;
    assert!(!outcome.meta.reduced);
    assert!(house.runtime.reducers().get("test.big").is_none());
}

#[tokio::test]
async fn a_reducer_that_breaks_leaves_the_result_as_it_was() {
    let house = House::builder().build();
    let _kept = house.runtime.reducers().register(Arc::new(Broken)).unwrap();
    let outcome = house
        .runtime
        .call(&house.session("s"), Call::new("say", json!({"text": "hi"})))
        .await;
    assert!(outcome.ok && !outcome.meta.reduced && outcome.text() == "hi");
}
