//! Calls as tasks, in the form of each revision that has them.

use haft_testkit::House;
use serde_json::{Value, json};

use crate::client::{Client, alone, text};

const OLD: &str = "2025-11-25";
const RELATED: &str = "io.modelcontextprotocol/related-task";

fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments, "task": {"ttl": 60_000}})
}

/// Start a task and give its id.
async fn started(client: &mut Client, call: Value) -> String {
    let answer = client.request("tools/call", call).await;
    let task = &answer["result"]["task"];
    assert_eq!(task["ttl"], 60_000, "{answer}");
    task["taskId"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_client_that_wants_a_task_fetches_the_result_later() {
    let mut client = Client::of(House::builder());
    let agreed = client.initialize(OLD, json!({})).await;
    assert!(agreed["capabilities"]["tasks"]["requests"]["tools"]["call"].is_object());
    let id = started(&mut client, call("test__echo", json!({"text": "hi"}))).await;
    let result = client.request("tasks/result", json!({"taskId": id})).await;
    assert_eq!(text(&result), "hi");
    assert_eq!(result["result"]["_meta"][RELATED]["taskId"], *id);
    let got = client.request("tasks/get", json!({"taskId": id})).await;
    assert_eq!(got["result"]["status"], "completed", "{got}");
    let status = client.heard.pop().expect("news of the end");
    assert_eq!(status["method"], "notifications/tasks/status", "{status}");
    assert_eq!(status["params"]["taskId"], *id, "{status}");
    assert_eq!(status["params"]["status"], "completed", "{status}");
    let late = client.request("tasks/cancel", json!({"taskId": id})).await;
    assert_eq!(late["error"]["code"], -32602, "{late}");
    let list = client.request("tasks/list", json!({})).await;
    assert_eq!(list["result"]["tasks"].as_array().unwrap().len(), 1);
    let none = client.request("tasks/get", json!({"taskId": "x"})).await;
    assert_eq!(none["error"]["code"], -32602, "{none}");
    // A failed call is a result like any other.
    let id = started(&mut client, call("test__break", json!({}))).await;
    let result = client.request("tasks/result", json!({"taskId": id})).await;
    assert_eq!(result["result"]["isError"], true, "{result}");
}

#[tokio::test]
async fn a_task_is_cancelled() {
    let mut client = Client::of(House::builder());
    client.initialize(OLD, json!({})).await;
    let id = started(&mut client, call("test__never", json!({}))).await;
    let got = client.request("tasks/get", json!({"taskId": id})).await;
    assert_eq!(got["result"]["status"], "working", "{got}");
    let waiting = client.start("tasks/result", json!({"taskId": id})).await;
    let gone = client.request("tasks/cancel", json!({"taskId": id})).await;
    assert_eq!(gone["result"]["status"], "cancelled", "{gone}");
    let early = client.heard.iter().position(|one| one["id"] == waiting);
    let result = match early {
        Some(place) => client.heard.swap_remove(place),
        None => client.answer_to(waiting).await,
    };
    assert!(result.get("error").is_some(), "{result}");
}

#[tokio::test]
async fn a_task_asks_whoever_waits_for_it() {
    let mut client = Client::of(House::builder());
    client.initialize(OLD, json!({"elicitation": {}})).await;
    let id = started(&mut client, call("test__form", json!({}))).await;
    let waiting = client.start("tasks/result", json!({"taskId": id})).await;
    let form = client.next().await;
    assert_eq!(form["method"], "elicitation/create", "{form}");
    assert_eq!(form["params"]["_meta"][RELATED]["taskId"], *id, "{form}");
    let got = client.request("tasks/get", json!({"taskId": id})).await;
    assert_eq!(got["result"]["status"], "input_required", "{got}");
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    let answer = json!({"jsonrpc": "2.0", "id": form["id"], "result": answer});
    client.send(answer.to_string()).await;
    let result = client.answer_to(waiting).await;
    assert!(text(&result).contains("Ada"), "{result}");
}

/// What a client says that knows the extension.
fn knowing() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

#[tokio::test(start_paused = true)]
async fn a_long_call_becomes_a_task_by_itself() {
    let mut client = Client::of(House::builder());
    let found = client
        .request("server/discover", alone(json!({}), knowing()))
        .await;
    let extensions = &found["result"]["capabilities"]["extensions"];
    assert!(extensions["io.modelcontextprotocol/tasks"].is_object());
    // What does not take long is answered as ever.
    let echo = json!({"name": "test__echo", "arguments": {"text": "hi"}});
    let answer = client.request("tools/call", alone(echo, knowing())).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    let late = json!({"name": "test__late_form", "arguments": {}});
    let id = client
        .start("tools/call", alone(late.clone(), knowing()))
        .await;
    let answer = client.unchecked_answer_to(id).await;
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
    assert_eq!(answer["result"]["status"], "working", "{answer}");
    let task = answer["result"]["taskId"].as_str().unwrap().to_owned();
    let get = async |client: &mut Client| {
        let id = client
            .start("tasks/get", alone(json!({"taskId": task}), knowing()))
            .await;
        client.unchecked_answer_to(id).await["result"].clone()
    };
    let mut state = get(&mut client).await;
    while state["status"] == "working" {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        state = get(&mut client).await;
    }
    assert_eq!(state["status"], "input_required", "{state}");
    let wanted = state["inputRequests"].as_object().unwrap();
    assert_eq!(wanted["name"]["method"], "elicitation/create");
    let answers = json!({"name": {"action": "accept", "content": {"name": "Ada"}}});
    let update = json!({"taskId": task, "inputResponses": answers});
    let id = client.start("tasks/update", alone(update, knowing())).await;
    let acknowledged = client.unchecked_answer_to(id).await;
    assert_eq!(acknowledged["result"]["resultType"], "complete");
    let mut state = get(&mut client).await;
    while state["status"] != "completed" {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        state = get(&mut client).await;
    }
    assert!(state["result"].to_string().contains("Ada"), "{state}");
}

#[tokio::test(start_paused = true)]
async fn who_does_not_know_tasks_waits() {
    let mut client = Client::of(House::builder());
    let late = json!({"name": "test__late_form", "arguments": {}});
    let elicitation = json!({"elicitation": {}});
    let answer = client.request("tools/call", alone(late, elicitation)).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    let none = alone(json!({"taskId": "x"}), json!({}));
    let answer = client.request("tasks/get", none).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}
