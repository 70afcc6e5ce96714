//! Calls that go on while others are made.

use std::sync::Arc;
use std::time::Duration;

use haft_testkit::{House, Says};
use serde_json::{Value, json};

use super::{answer, call, furnished, said};
use crate::place::{Place, text};

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[tokio::test]
async fn five_modes() {
    let house = furnished(House::builder());
    let session = house.session("s");
    let run = async |args: Value| {
        let outcome = call(&house, &session, "background_run", args).await;
        answer(&outcome).clone()
    };
    let started = run(json!({"name": "test.never"})).await;
    assert_eq!(started["status"], "running");
    let id = text_of(&started["task_id"]).to_owned();
    assert_eq!(id.len(), 12);
    let stands = run(json!({"task_id": id})).await;
    assert_eq!(
        (&stands["status"], &stands["name"]),
        (&json!("running"), &json!("test.never"))
    );
    let waited = run(json!({"task_id": id, "wait": true, "timeout": 1})).await;
    assert_eq!(
        waited["status"], "running",
        "a wait that is over tells how it stands"
    );
    run(json!({"task_id": id, "cancel": true})).await;
    let over = run(json!({"mode": "wait", "task_id": id})).await;
    assert_eq!(
        (&over["status"], &over["error"]["code"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    let done = run(json!({"mode": "start", "tool": "say", "args": {"text": "hi"}})).await;
    assert_eq!(
        (&done["status"], &done["data"]),
        (&json!("completed"), &json!("hi"))
    );
    let failed = run(json!({"name": "no.such"})).await;
    assert_eq!(
        (&failed["status"], &failed["error"]["code"]),
        (&json!("failed"), &json!("not_available"))
    );
    let all = run(json!({"list_tasks": true})).await;
    assert_eq!(all["count"], 3);
    let other = house.session("t");
    for args in [json!({"task_id": id}), json!({"task_id": "zzz"})] {
        let outcome = call(&house, &other, "background_run", args).await;
        assert!(
            said(&outcome).starts_with("not_available no such task"),
            "{}",
            said(&outcome)
        );
    }
    for args in [
        json!({}),
        json!({"mode": "cancel"}),
        json!({"mode": "start"}),
        json!({"task_id": id, "timeout": 0}),
    ] {
        let outcome = call(&house, &session, "background_run", args).await;
        assert!(
            said(&outcome).starts_with("input_invalid"),
            "{}",
            said(&outcome)
        );
    }
}

#[tokio::test]
async fn what_runs_is_asked_about_and_ends_with_the_session() {
    let person = Arc::new(Says::no());
    let house = furnished(House::builder().person(person.clone()));
    let session = house.session("s");
    let risky = json!({"name": "test.risky", "params": {"target": "a"}});
    let outcome = call(&house, &session, "background_run", risky).await;
    assert_eq!(answer(&outcome)["error"]["code"], "denied");
    assert_eq!(person.asked().len(), 1);
    for _ in 0..32 {
        let outcome = call(
            &house,
            &session,
            "background_run",
            json!({"name": "test.never"}),
        )
        .await;
        assert_eq!(answer(&outcome)["status"], "running");
    }
    let outcome = call(
        &house,
        &session,
        "background_run",
        json!({"name": "test.never"}),
    )
    .await;
    assert!(
        said(&outcome).contains("32 calls are running"),
        "{}",
        said(&outcome)
    );
    session.end_runs(Duration::from_secs(60)).await;
    let outcome = call(
        &house,
        &session,
        "background_run",
        json!({"list_tasks": true}),
    )
    .await;
    let tasks = answer(&outcome)["tasks"].as_array().unwrap();
    assert!(
        tasks.iter().all(|task| task["status"] != "running"),
        "{tasks:?}"
    );
}

#[test]
fn a_batch_can_follow_what_it_started() {
    let place = Place::new();
    place.file("notes.txt", "one\n");
    let outcomes = place.batch(
        &json!([
            {"name": "background_run", "args": {"name": "file.read", "params": {"path": "notes.txt"}}},
            {"name": "execute_tool", "args": {"name": "Read", "params": {"path": "notes.txt"}}},
            {"name": "run_parallel", "args": {"actions": [{"name": "file__read", "params": {"path": "notes.txt"}}]}},
            {"name": "search_tools", "args": {"query": "lire un fichier"}},
        ]),
        &[],
    );
    for outcome in &outcomes {
        assert_eq!(outcome["ok"], true, "{outcome}");
    }
    assert_eq!(outcomes[0]["structured"]["status"], "completed");
    assert!(text(&outcomes[1]).contains("one"), "{}", outcomes[1]);
    assert_eq!(outcomes[1]["tool"], "file.read");
    assert_eq!(outcomes[3]["structured"]["tools"][0]["name"], "file.read");
    let single = place.call("background_run", &json!({"list_tasks": true}), &[]);
    assert_eq!(single["error"]["code"], "not_available", "{single}");
}
