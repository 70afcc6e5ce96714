//! Approvals from an unmodified client: a form, and nothing but an accepted one runs, and only
//! what was shown.

use haft_testkit::House;
use serde_json::{Value, json};

use crate::client::{Client, alone, text};

fn risky(target: &str) -> Value {
    json!({"name": "test__risky", "arguments": {"target": target}})
}

/// Call, answer the form, and give what came of it.
async fn asked(form_answer: Value) -> (String, Value) {
    let mut client = Client::of(House::builder());
    client
        .initialize("2025-11-25", json!({"elicitation": {}}))
        .await;
    let id = client.start("tools/call", risky("x")).await;
    let form = client.next().await;
    assert_eq!(form["method"], "elicitation/create");
    let answer = json!({"jsonrpc": "2.0", "id": form["id"], "result": form_answer});
    client.send(answer.to_string()).await;
    let answer = client.answer_to(id).await;
    (text(&answer), form["params"].clone())
}

#[tokio::test]
async fn a_form_decides_on_a_connection() {
    let (told, form) = asked(json!({"action": "accept", "content": {"decision": "once"}})).await;
    assert_eq!(told, "did it to x (approved: false)");
    assert!(form["message"].as_str().unwrap().contains("test.risky"));
    for refused in [
        json!({"action": "accept", "content": {"decision": "no"}}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({}),
    ] {
        let (told, _) = asked(refused).await;
        assert!(told.starts_with("denied: "), "{told}");
    }
}

#[tokio::test]
async fn a_client_without_forms_is_told_the_command() {
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let mut client = Client::of(House::builder());
        client.initialize("2025-06-18", capabilities.clone()).await;
        let answer = client.request("tools/call", risky("x")).await;
        assert_eq!(answer["result"]["isError"], true);
        let told = text(&answer);
        assert!(
            told.contains("haft policy allow") || told.contains("haft call"),
            "{told}"
        );
        let answer = client
            .request("tools/call", alone(risky("x"), capabilities))
            .await;
        assert!(text(&answer).starts_with("denied: "), "{answer}");
    }
}

#[tokio::test]
async fn an_error_in_place_of_an_answer_is_a_no() {
    let mut client = Client::of(House::builder());
    client
        .initialize("2025-11-25", json!({"elicitation": {}}))
        .await;
    let id = client.start("tools/call", risky("x")).await;
    let form = client.next().await;
    let answer = json!({"jsonrpc": "2.0", "id": form["id"],
        "error": {"code": -32603, "message": "no screen"}});
    client.send(answer.to_string()).await;
    let answer = client.answer_to(id).await;
    assert!(text(&answer).starts_with("denied: "), "{answer}");
}

/// A call that speaks for itself, continued with an answer and the state it was given.
async fn continued(client: &mut Client, call: Value, state: &Value, answer: Value) -> Value {
    let mut call = alone(call, json!({"elicitation": {}}));
    call["requestState"] = state.clone();
    call["inputResponses"] = json!({"approval": answer});
    client.request("tools/call", call).await
}

async fn opened(client: &mut Client, call: Value) -> Value {
    let answer = client
        .request("tools/call", alone(call, json!({"elicitation": {}})))
        .await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    let form = &answer["result"]["inputRequests"]["approval"];
    assert_eq!(form["method"], "elicitation/create");
    answer["result"]["requestState"].clone()
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"decision": "once"}})
}

#[tokio::test]
async fn a_request_that_speaks_for_itself_comes_back_with_the_answer() {
    let mut client = Client::of(House::builder());
    let state = opened(&mut client, risky("x")).await;
    let answer = continued(&mut client, risky("x"), &state, yes()).await;
    assert_eq!(text(&answer), "did it to x (approved: false)");
    // Once, and not again.
    let answer = continued(&mut client, risky("x"), &state, yes()).await;
    assert_eq!(answer["error"]["code"], -32602);
    let state = opened(&mut client, risky("x")).await;
    let answer = continued(
        &mut client,
        risky("x"),
        &state,
        json!({"action": "decline"}),
    )
    .await;
    assert!(text(&answer).starts_with("denied: "), "{answer}");
}

#[tokio::test]
async fn arguments_changed_after_the_question_are_asked_about_again() {
    let mut client = Client::of(House::builder());
    let state = opened(&mut client, risky("x")).await;
    let answer = continued(&mut client, risky("y"), &state, yes()).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    let shown = &answer["result"]["inputRequests"]["approval"]["params"]["message"];
    assert!(shown.as_str().unwrap().contains('y'), "{shown}");
    // Nor does one that only adds something.
    let state = opened(&mut client, risky("x")).await;
    let mut more = risky("x");
    more["arguments"]["approved"] = true.into();
    let answer = continued(&mut client, more, &state, yes()).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
}

#[tokio::test]
async fn forged_state_is_refused() {
    let mut client = Client::of(House::builder());
    let state = opened(&mut client, risky("x")).await;
    let forged = format!("A{}", &state.as_str().unwrap()[1..]);
    for bad in [json!(forged), json!(""), json!("eyJhcHByb3ZlZCI6dHJ1ZX0")] {
        let answer = continued(&mut client, risky("x"), &bad, yes()).await;
        assert_eq!(answer["error"]["code"], -32602, "{bad} {answer}");
    }
}

#[tokio::test]
async fn a_rule_added_meanwhile_is_seen_by_the_next_call() {
    use haft_policy::{Layer, Places, Policy, PolicyConfig};
    let mut client = Client::with(House::builder(), |server| {
        server.refreshing(|runtime| {
            let mut config = PolicyConfig::default();
            config.tools.rules.allow = vec!["test.risky".into()];
            let layer = Layer {
                from: "test".into(),
                config,
            };
            let policy = Policy::compile(vec![layer], Places::default()).unwrap();
            runtime.set_policy(policy);
        })
    });
    client.initialize("2025-11-25", json!({})).await;
    let answer = client.request("tools/call", risky("x")).await;
    assert!(text(&answer).starts_with("denied: "), "{answer}");
    let answer = client.request("tools/call", risky("x")).await;
    assert_eq!(text(&answer), "did it to x (approved: false)");
}
