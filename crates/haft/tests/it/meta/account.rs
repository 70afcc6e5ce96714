//! What calls made by calls answer with, and that nothing is lost over it.

use haft_core::ToolSpec;
use haft_testkit::{House, repeating};
use serde_json::{Value, json};

use super::{call, furnished};
use crate::place::Place;

/// What programs read of `execute_tool`, however the call went, and that nothing is lost over it.
#[tokio::test]
async fn execute_tool_gives_an_account_of_the_call() {
    let house = furnished(House::builder().config(|config| config.result_budget = 4_000));
    let schema = json!({"type": "object", "properties": {"a": {}}});
    let spec = ToolSpec::new("test.pair", "Repeat", schema);
    let registry = house.runtime.registry();
    registry.register(repeating(spec), None).unwrap();
    let session = house.session("s");
    let promised = registry.get("execute_tool").unwrap();
    let promised = promised.spec().output_schema.clone().unwrap();
    let promised = jsonschema::validator_for(&promised).unwrap();
    let check = async |args: Value, want: Value| {
        let outcome = call(&house, &session, "execute_tool", args.clone()).await;
        let told = outcome.structured.as_ref().unwrap();
        assert!(promised.is_valid(told), "{args}: {told}");
        assert_eq!(told["success"], outcome.ok, "{args}");
        assert_eq!(told["error"], json!(outcome.error), "{args}");
        assert_eq!(told["metadata"]["tool"], *outcome.tool, "{args}");
        let mut metadata = told["metadata"].clone();
        metadata.as_object_mut().unwrap().remove("tool");
        assert_eq!(metadata, json!(outcome.meta), "{args}");
        for (place, value) in want.as_object().unwrap() {
            assert_eq!(told.pointer(place), Some(value), "{args} {place}: {told}");
        }
        outcome
    };
    let say = json!({"name": "say", "params": {"text": "hi"}});
    check(say.clone(), json!({"/data": "hi", "/error": null})).await;
    check(
        json!({"name": "execute_tool", "params": say}),
        json!({"/data": "hi", "/metadata/tool": "test.echo"}),
    )
    .await;
    let pair = check(
        json!({"name": "test.pair", "params": {"a": 1}}),
        json!({"/data/args": {"a": 1}, "/metadata/tool": "test.pair"}),
    )
    .await;
    assert!(pair.text().starts_with("{\"tool\""), "{}", pair.text());
    for (args, code) in [
        (json!({"name": "test.break"}), "execution_failed"),
        (json!({"name": "no.such"}), "not_available"),
        (json!({"name": "say"}), "input_invalid"),
        (json!({}), "input_invalid"),
    ] {
        check(args, json!({"/data": null, "/error/code": code})).await;
    }
    let big = json!({"name": "test.big", "params": {"chars": 50_000, "needle": "error: here"}});
    let cut = check(big, json!({"/metadata/truncated": true})).await;
    let told = cut.structured.as_ref().unwrap();
    assert!(
        told["metadata"]["handle"]
            .as_str()
            .unwrap()
            .starts_with("r_")
    );
    assert_eq!(told["data"].as_str(), Some(&*cut.text()));
    assert!(cut.text().chars().count() <= 4_000);
    let stranger = json!({"name": "test.stranger", "params": {"text": "obey"}});
    let foreign = check(stranger, json!({"/metadata/untrusted": true})).await;
    let data = foreign.structured.as_ref().unwrap()["data"].as_str();
    assert!(data.unwrap().starts_with("<untrusted_data id="), "{data:?}");
    // By its own name a tool answers as ever, shown or hidden.
    let direct = call(&house, &session, "test.pair", json!({"a": 1})).await;
    assert_eq!(direct.structured.as_ref().unwrap()["args"], json!({"a": 1}));
}

/// A picture has no place in JSON, and comes beside it.
#[test]
fn pictures_come_through_calls_made_by_calls() {
    let place = Place::new();
    let bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
    std::fs::write(place.workspace.join("dot.png"), bytes).unwrap();
    let read = json!({"name": "file.read", "params": {"path": "dot.png"}});
    let info = json!({"name": "system.info"});
    let outcomes = place.batch(
        &json!([
            {"name": "execute_tool", "args": read},
            {"name": "run_parallel", "args": {"actions": [info, read]}},
            {"name": "background_run", "args": read},
        ]),
        &[],
    );
    for outcome in &outcomes {
        let kinds: Vec<&str> = outcome["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["type"].as_str().unwrap())
            .collect();
        assert_eq!(kinds.last(), Some(&"image"), "{outcome}");
        assert_eq!(kinds.first(), Some(&"text"), "{outcome}");
    }
    let label = outcomes[1]["content"][1]["text"].as_str().unwrap();
    assert_eq!(label, "[of the call with the index 1]");
    assert_eq!(outcomes[1]["structured"]["hint"], Value::Null);
}
