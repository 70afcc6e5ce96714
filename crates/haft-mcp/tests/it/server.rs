//! What any client may rely on, whatever revision it speaks.

use haft_testkit::House;
use serde_json::{Value, json};

use crate::client::{Client, NEW, alone, text};

#[tokio::test]
async fn every_revision_is_agreed_on_and_unknown_ones_get_an_offer() {
    for (asked, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("1999-01-01", "2025-11-25"),
        (NEW, "2025-11-25"),
    ] {
        let mut client = Client::of(House::builder());
        let answer = client.initialize(asked, json!({})).await;
        assert_eq!(answer["protocolVersion"], agreed, "{asked}");
        assert_eq!(answer["serverInfo"]["name"], "test");
        let again = client
            .request("initialize", json!({"protocolVersion": asked}))
            .await;
        assert_eq!(again["error"]["code"], -32600);
        client.leave().await.unwrap();
    }
}

#[tokio::test]
async fn a_request_that_speaks_for_itself_needs_no_handshake() {
    let mut client = Client::of(House::builder());
    let found = client
        .request("server/discover", alone(json!({}), json!({})))
        .await;
    assert_eq!(found["result"]["supportedVersions"][0], NEW);
    assert_eq!(found["result"]["resultType"], "complete");
    let call = json!({"name": "test__echo", "arguments": {"text": "hi"}});
    let answer = client
        .request("tools/call", alone(call.clone(), json!({})))
        .await;
    assert_eq!(text(&answer), "hi");
    // Without `_meta` and without a handshake nobody knows what is spoken.
    let answer = client.request("tools/call", call).await;
    assert_eq!(answer["error"]["code"], -32602);
    let answer = client.request("ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
    let mut wrong = alone(json!({}), json!({}));
    wrong["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2031-01-01".into();
    let answer = client.request("tools/list", wrong).await;
    assert_eq!(answer["error"]["code"], -32022);
    assert_eq!(answer["error"]["data"]["requested"], "2031-01-01");
    let mut bare = alone(json!({}), json!({}));
    bare["_meta"]
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    let answer = client.request("tools/list", bare).await;
    assert_eq!(answer["error"]["code"], -32602);
}

#[tokio::test]
async fn tools_are_listed_with_titles_annotations_and_api_names() {
    let mut client = Client::of(House::builder());
    client.initialize("2025-11-25", json!({})).await;
    let answer = client.request("tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    let echo = tools.iter().find(|tool| tool["name"] == "test__echo");
    let echo = echo.expect("the echo tool");
    assert_eq!(echo["annotations"]["readOnlyHint"], true);
    assert_eq!(echo["inputSchema"]["type"], "object");
    // What this caller cannot use is not shown.
    assert!(tools.iter().all(|tool| tool["name"] != "test__online"));
    let page = client.request("tools/list", json!({"cursor": "x"})).await;
    assert_eq!(page["error"]["code"], -32602);
}

#[tokio::test]
async fn failure_is_an_answer_and_an_unknown_tool_a_mistake() {
    let mut client = Client::of(House::builder());
    client.initialize("2025-11-25", json!({})).await;
    let mut check = async |call: Value, expected: &str| {
        let answer = client.request("tools/call", call).await;
        let told = match answer.get("error") {
            Some(error) => format!("{} {}", error["code"], error["message"].as_str().unwrap()),
            None => format!("{} {}", answer["result"]["isError"], text(&answer)),
        };
        assert!(told.starts_with(expected), "{told}");
    };
    check(
        json!({"name": "test__echo", "arguments": {}}),
        "true input_invalid: ",
    )
    .await;
    check(
        json!({"name": "test__break"}),
        "true execution_failed: the tool panicked",
    )
    .await;
    check(
        json!({"name": "test__ech"}),
        "-32602 Unknown tool: `test__ech`",
    )
    .await;
    check(json!({"name": "test__online"}), "true not_available: ").await;
    check(json!({"name": "Online"}), "true not_available: ").await;
    check(json!({"name": "test__echo", "arguments": [1]}), "-32602").await;
    check(json!({"arguments": {}}), "-32602").await;
    check(
        json!({"name": "Echo", "arguments": {"text": "a"}}),
        "null a",
    )
    .await;
}

/// Texts carry their marks; that programs can tell, the answer carries one too.
#[tokio::test]
async fn what_strangers_wrote_is_marked_for_programs_too() {
    let mut client = Client::of(House::builder());
    client.initialize("2025-11-25", json!({})).await;
    for (name, mark) in [("test__stranger", json!(true)), ("test__echo", Value::Null)] {
        let call = json!({"name": name, "arguments": {"text": "hi"}});
        let answer = client.request("tools/call", call).await;
        assert_eq!(
            answer["result"]["_meta"]["haft/untrusted"], mark,
            "{answer}"
        );
    }
}

#[tokio::test]
async fn bad_messages_are_told_and_the_stream_goes_on() {
    let mut client = Client::of(House::builder());
    client.initialize("2025-11-25", json!({})).await;
    for (line, code) in [
        ("{", -32700),
        ("[]", -32600),
        ("17", -32600),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#, -32601),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#,
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}"#,
            -32601,
        ),
    ] {
        client.send(line).await;
        assert_eq!(client.next().await["error"]["code"], code, "{line}");
    }
    client.send("").await;
    client
        .send(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#)
        .await;
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#)
        .await;
    let answer = client.request("ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
}

/// JSON-RPC wants `null`; the schemas have no such id, and since 2025-11-25 they can do without.
#[tokio::test]
async fn an_error_about_what_has_no_id_is_as_its_revision_wants_it() {
    let mut client = Client::of(House::builder());
    client.send("{").await;
    assert_eq!(client.next().await.get("id"), Some(&Value::Null));
    for (revision, expected) in [
        ("2024-11-05", Some(&Value::Null)),
        ("2025-06-18", Some(&Value::Null)),
        ("2025-11-25", None),
    ] {
        let mut client = Client::of(House::builder());
        client.initialize(revision, json!({})).await;
        client.send("{").await;
        let answer = client.next().await;
        assert_eq!(answer["error"]["code"], -32700);
        assert_eq!(answer.get("id"), expected, "{revision}");
    }
}

#[tokio::test]
async fn a_batch_is_answered_together() {
    let mut client = Client::of(House::builder());
    client.initialize("2025-03-26", json!({})).await;
    let echo = |id: Value, text: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "test__echo", "arguments": {"text": text}}})
    };
    let batch = json!([
        echo(json!("a"), "one"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 70, "method": "nope"},
        7,
        [echo(json!("inner"), "x")],
        {"jsonrpc": "2.0", "id": 71, "method": "initialize", "params": {"protocolVersion": "x"}},
        echo(json!(72), "two"),
    ]);
    client.send(batch.to_string()).await;
    let answers = client.next().await;
    let told = answers.as_array().unwrap().iter().map(|answer| {
        let said = answer["result"]["content"][0]["text"].as_str();
        let said = said.map_or_else(|| answer["error"]["code"].to_string(), str::to_owned);
        format!("{} {said}", answer["id"])
    });
    let told: Vec<String> = told.collect();
    let expected = [
        "\"a\" one",
        "70 -32601",
        "null -32600",
        "null -32600",
        "71 -32600",
        "72 two",
    ];
    assert_eq!(told, expected);
    // Nothing is left to answer where nothing was asked, or all of it was given up.
    client
        .send(r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#)
        .await;
    let never = json!([{"jsonrpc": "2.0", "id": "n", "method": "tools/call",
        "params": {"name": "test__never", "arguments": {}}}]);
    client.send(never.to_string()).await;
    let cancel = json!([{"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": "n"}}]);
    client.send(cancel.to_string()).await;
    for (line, code) in [
        ("[]".to_owned(), -32600),
        ("[1".to_owned(), -32700),
        (json!(vec![7; 1001]).to_string(), -32600),
    ] {
        client.send(line).await;
        assert_eq!(client.next().await["error"]["code"], code);
    }
}

#[tokio::test]
async fn a_batch_is_refused_where_its_revision_has_none() {
    let ping = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    for revision in ["", "2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut client = Client::of(House::builder());
        if !revision.is_empty() {
            client.initialize(revision, json!({})).await;
        }
        client.send(ping).await;
        let error = &client.next().await["error"];
        assert_eq!(error["code"], -32600, "{revision}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("2025-03-26 alone"), "{message}");
        assert!(message.contains(revision), "{message}");
    }
}

#[tokio::test]
async fn a_cancelled_call_stops_and_is_not_answered() {
    let mut client = Client::of(House::builder());
    client.initialize("2025-11-25", json!({})).await;
    let never = client
        .start(
            "tools/call",
            json!({"name": "test__never", "arguments": {}}),
        )
        .await;
    let twice = json!({"jsonrpc": "2.0", "id": never, "method": "tools/call",
        "params": {"name": "test__echo", "arguments": {"text": "x"}}});
    client.send(twice.to_string()).await;
    let answer = client.next().await;
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": never}});
    client.send(cancel.to_string()).await;
    // Its id is free again once it has stopped: until then it is refused.
    loop {
        client.send(twice.to_string()).await;
        let answer = client.next().await;
        assert_eq!(answer["id"], never);
        if answer.get("error").is_none() {
            assert_eq!(text(&answer), "x");
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_call_gives_signs_of_life() {
    let mut client = Client::of(House::builder());
    client
        .initialize("2025-11-25", json!({"elicitation": {}}))
        .await;
    // It works for ten seconds and says nothing.
    let call = json!({"name": "test__late_form", "arguments": {}, "_meta": {"progressToken": 7}});
    client.start("tools/call", call).await;
    let message = client.next().await;
    assert_eq!(message["method"], "notifications/progress", "{message}");
    assert_eq!(message["params"]["progressToken"], 7);
    assert_eq!(message["params"]["message"], "still at work after 5 s");
}

#[tokio::test]
async fn progress_is_told_where_a_token_was_given() {
    let mut client = Client::of(House::builder());
    client.initialize("2025-11-25", json!({})).await;
    let call = json!({"name": "test__chatter", "arguments": {}, "_meta": {"progressToken": "p"}});
    let id = client.start("tools/call", call).await;
    let mut last = 0.0;
    for _ in 0..5 {
        let message = client.next().await;
        assert_eq!(message["method"], "notifications/progress");
        assert_eq!(message["params"]["progressToken"], "p");
        assert_eq!(message["params"]["message"], "and another thing");
        let progress = message["params"]["progress"].as_f64().unwrap();
        assert!(progress > last);
        last = progress;
    }
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": id}});
    client.send(cancel.to_string()).await;
    client.leave().await.unwrap();
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_calls_along() {
    let mut client = Client::of(House::builder());
    client.initialize("2025-11-25", json!({})).await;
    for tool in ["test__never", "test__chatter"] {
        client
            .start("tools/call", json!({"name": tool, "arguments": {}}))
            .await;
    }
    client.leave().await.unwrap();
}

#[tokio::test]
async fn changed_lists_are_told() {
    let mut client = Client::of(House::builder());
    client.initialize("2025-11-25", json!({})).await;
    let listen = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}});
    let id = client
        .start("subscriptions/listen", alone(listen, json!({})))
        .await;
    let first = client.next().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    // There are no prompts, so nothing is promised about them.
    assert_eq!(
        first["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    client
        .server
        .runtime()
        .registry()
        .unregister("test.echo")
        .unwrap();
    let mut told: Vec<Value> = vec![client.next().await, client.next().await];
    told.sort_by_key(|message| message["params"]["_meta"].is_object());
    for message in &told {
        assert_eq!(message["method"], "notifications/tools/list_changed");
    }
    let key = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(told[1]["params"]["_meta"][key], id);
    assert!(told[0]["params"]["_meta"].is_null());
}
