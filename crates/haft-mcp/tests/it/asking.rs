//! Tools that ask their caller while they run.

use haft_testkit::House;
use serde_json::{Value, json};

use crate::client::{Client, alone, text};

fn accept(key: &str, value: &str) -> Value {
    json!({"action": "accept", "content": {key: value}})
}

#[tokio::test]
async fn on_a_connection_the_client_is_asked() {
    let mut client = Client::of(House::builder());
    client
        .initialize("2025-06-18", json!({"elicitation": {}}))
        .await;
    let id = client
        .start("tools/call", json!({"name": "test__form"}))
        .await;
    let form = client.next().await;
    assert_eq!(form["params"]["message"], "your name?");
    let answer = json!({"jsonrpc": "2.0", "id": form["id"], "result": accept("name", "Ada")});
    client.send(answer.to_string()).await;
    assert_eq!(text(&client.answer_to(id).await), "you are \"Ada\"");
}

/// Continue a call with answers; gives its next answer.
async fn go_on(client: &mut Client, tool: &str, last: &Value, answers: Value) -> Value {
    let mut call = alone(json!({"name": tool}), json!({"elicitation": {}}));
    call["requestState"] = last["result"]["requestState"].clone();
    call["inputResponses"] = answers;
    client.request("tools/call", call).await
}

fn wanted(answer: &Value) -> Vec<&str> {
    let requests = answer["result"]["inputRequests"]
        .as_object()
        .expect("requests");
    requests.keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_call_waits_while_its_client_comes_back_round_by_round() {
    let mut client = Client::of(House::builder());
    let call = alone(json!({"name": "test__forms"}), json!({"elicitation": {}}));
    let answer = client.request("tools/call", call).await;
    assert_eq!(wanted(&answer), ["name"]);
    // What is not a proper answer is asked for again, and extra answers mean nothing.
    let bad =
        json!({"name": {"action": "accept", "content": {"name": 7}}, "city": accept("city", "x")});
    let answer = go_on(&mut client, "test__forms", &answer, bad).await;
    assert_eq!(wanted(&answer), ["name"]);
    let answer = go_on(
        &mut client,
        "test__forms",
        &answer,
        json!({"name": accept("name", "Ada")}),
    )
    .await;
    assert_eq!(wanted(&answer), ["city", "colour"]);
    let answer = go_on(
        &mut client,
        "test__forms",
        &answer,
        json!({"city": accept("city", "Rom")}),
    )
    .await;
    assert_eq!(wanted(&answer), ["colour"]);
    let answer = go_on(
        &mut client,
        "test__forms",
        &answer,
        json!({"colour": accept("colour", "red")}),
    )
    .await;
    assert_eq!(text(&answer), "\"Ada\" \"Rom\" \"red\"");
}

#[tokio::test]
async fn answers_count_only_for_the_call_that_asked() {
    let mut client = Client::of(House::builder());
    let call = alone(json!({"name": "test__form"}), json!({"elicitation": {}}));
    let first = client.request("tools/call", call).await;
    let answer = go_on(
        &mut client,
        "test__forms",
        &first,
        json!({"name": accept("name", "Eve")}),
    )
    .await;
    // Another call than the one that asked begins anew and asks for itself.
    assert_eq!(wanted(&answer), ["name"]);
    let answer = go_on(
        &mut client,
        "test__form",
        &first,
        json!({"name": accept("name", "Eve")}),
    )
    .await;
    assert_eq!(answer["error"]["code"], -32602, "a state counts once");
}

#[tokio::test]
async fn what_the_client_has_not_declared_is_named() {
    let mut client = Client::of(House::builder());
    let call = alone(json!({"name": "test__form"}), json!({}));
    let answer = client.request("tools/call", call).await;
    assert_eq!(answer["error"]["code"], -32021);
    assert_eq!(
        answer["error"]["data"]["requiredCapabilities"],
        json!({"elicitation": {}})
    );
}
