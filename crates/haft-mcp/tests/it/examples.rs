//! The official example messages: as the schema has them, and through our own types unchanged.

use haft_core::Block;
use haft_mcp::Resource;
use haft_testkit::mcp::{Checker, examples};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::client::NEW;

fn through<T: Serialize + DeserializeOwned>(value: &Value) -> Value {
    let read: T = serde_json::from_value(value.clone()).unwrap();
    serde_json::to_value(read).unwrap()
}

#[test]
fn examples_fit_the_schema_and_our_types() {
    let checker = Checker::of(NEW);
    let mut seen = 0;
    for example in examples() {
        let name = format!("{} {}", example.kind, example.name);
        checker.check(&example.kind, &example.value);
        let read = match example.kind.as_str() {
            "TextContent" | "ImageContent" | "AudioContent" | "EmbeddedResource"
            | "ResourceLink" => through::<Block>(&example.value),
            "Resource" => through::<Resource>(&example.value),
            _ => continue,
        };
        assert_eq!(read, example.value, "{name}");
        seen += 1;
    }
    assert_eq!(seen, 6);
}

#[test]
fn a_message_that_is_wrong_is_noticed() {
    let checker = Checker::of(NEW);
    let wrong = serde_json::json!({"tools": [{"name": 7}], "resultType": "complete"});
    assert!(checker.problem("ListToolsResult", &wrong).is_some());
}
