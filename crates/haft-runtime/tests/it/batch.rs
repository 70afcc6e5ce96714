//! Many calls at once: in order, never an error out of the batch, budget shared.

use std::time::Duration;

use haft_core::{Call, ErrorCode, Outcome};
use haft_testkit::House;
use serde_json::json;

fn summary(outcome: &Outcome) -> String {
    match &outcome.error {
        None => format!("{} {} ok", outcome.call_id, outcome.tool),
        Some(error) => format!("{} {} {}", outcome.call_id, outcome.tool, error.code),
    }
}

#[tokio::test]
async fn five_calls_of_every_kind_give_five_outcomes_in_order() {
    let house = House::builder()
        .policy(|policy| policy.tools.deny = vec!["test.stranger".into()])
        .build();
    let session = house.session("s");
    let mut never = Call::new("test.never", json!({})).id("5");
    never.timeout = Some(Duration::from_millis(50));
    let calls = vec![
        Call::new("test.echo", json!({"text": "hi"})).id("1"),
        Call::new("test.ecko", json!({})).id("2"),
        Call::new("test.stranger", json!({"text": "x"})).id("3"),
        Call::new("test.break", json!({})).id("4"),
        never,
    ];
    let outcomes = house.runtime.execute_parallel(&session, calls).await;
    let summaries: Vec<String> = outcomes.iter().map(summary).collect();
    assert_eq!(
        summaries,
        [
            "1 test.echo ok",
            "2 test.ecko not_available",
            "3 test.stranger denied",
            "4 test.break execution_failed",
            "5 test.never timed_out",
        ]
    );
    assert_eq!(outcomes[0].text(), "hi");
    assert!(
        outcomes[3]
            .error
            .as_ref()
            .unwrap()
            .message
            .contains("on purpose")
    );
}

#[tokio::test]
async fn the_budget_is_shared_evenly() {
    let house = House::builder()
        .config(|config| config.result_budget = 4_000)
        .build();
    let session = house.session("s");
    let big = || Call::new("test.big", json!({"chars": 100_000, "needle": "x"}));
    for count in [1, 2, 4] {
        let calls = (0..count).map(|_| big()).collect();
        for outcome in house.runtime.execute_parallel(&session, calls).await {
            let chars = outcome.text().chars().count();
            assert!(
                outcome.meta.truncated && chars <= 4_000 / count,
                "{count}: {chars}"
            );
            assert!(
                outcome.text().ends_with("chars total]"),
                "{}",
                outcome.text()
            );
        }
    }
}

#[tokio::test]
async fn calls_without_conflict_overlap() {
    // Each waits for the other: this ends only if both run at once.
    let house = House::builder()
        .policy(|p| p.tools.autonomy = Some(haft_policy::Autonomy::Autonomous))
        .build();
    let session = house.session("s");
    let mix = |cell: u64| json!({"reads": [], "writes": [cell], "salt": cell, "pauses": 50});
    let calls = vec![Call::new("test.mix", mix(1)), Call::new("test.mix", mix(2))];
    let outcomes = house.runtime.execute_parallel(&session, calls).await;
    assert!(outcomes.iter().all(|outcome| outcome.ok), "{outcomes:?}");
}

#[tokio::test]
async fn an_empty_batch_is_an_empty_answer() {
    let house = House::builder().build();
    let session = house.session("s");
    assert!(
        house
            .runtime
            .execute_parallel(&session, Vec::new())
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn cancelling_ends_every_call_of_the_batch() {
    let house = House::builder().build();
    let session = house.session("s");
    let calls = vec![
        Call::new("test.never", json!({})),
        Call::new("test.chatter", json!({})),
        Call::new("test.never", json!({})),
    ];
    let cancel = session.caller().cancel.clone();
    let (outcomes, ()) = tokio::join!(house.runtime.execute_parallel(&session, calls), async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.code() == Some(ErrorCode::Cancelled))
    );
    assert!(
        outcomes[1].text().starts_with("said "),
        "what it said before is kept"
    );
}

/// Batches move calls about, so what only some calls need stands elsewhere.
#[tokio::test]
async fn a_call_on_its_way_is_small() {
    let house = House::builder().build();
    let session = house.session("s");
    let call = Call::new("test.echo", json!({"text": "hi"}));
    let size = size_of_val(&house.runtime.call(&session, call));
    assert!(size < 1_200, "{size} bytes");
}
