//! What a model is shown, and that it stays what it was.

use haft_core::{Call, ErrorCode};
use haft_policy::Who;
use haft_runtime::{Filters, Injection, InjectionMode, Session, Shape};
use haft_testkit::{House, catalogue, repeating};
use serde_json::{Value, json};

fn house(tools: usize) -> House {
    let house = House::builder().build();
    let tools = catalogue("bfcl").into_iter().take(tools).map(repeating);
    house.runtime.registry().register_all(tools).unwrap();
    house
}

fn session(house: &House, injection: Injection) -> Session {
    let caller = house.caller("s");
    let session = house
        .runtime
        .session(caller, Who::default(), Filters::default());
    session.injecting(injection)
}

fn window(tokens: u64) -> Injection {
    Injection {
        context_window: Some(tokens),
        ..Injection::default()
    }
}

fn shown(house: &House, session: &Session) -> Vec<Value> {
    let json = session.definitions(&house.runtime, Shape::Anthropic).json();
    serde_json::from_str(&json).unwrap()
}

#[test]
fn the_mode_follows_the_room() {
    let house = house(300);
    let of = |tokens| session(&house, window(tokens)).decision(&house.runtime);
    let large = of(1_000_000);
    assert_eq!(large.mode, InjectionMode::Direct);
    let one_less = of((large.tool_tokens - 1) * 5);
    assert_eq!(of(large.tool_tokens * 5).mode, InjectionMode::Direct);
    assert_eq!(one_less.mode, InjectionMode::CompactDirect);
    assert_eq!(one_less.tools, large.tools);
    assert_eq!(
        of(large.compact_tokens * 5).mode,
        InjectionMode::CompactDirect
    );
    assert_eq!(
        of(large.compact_tokens * 5 - 1).mode,
        InjectionMode::Discovery
    );
}

#[test]
fn a_line_takes_the_place_of_a_schema() {
    let house = house(300);
    let compact = shown(&house, &session(&house, window(60_000)));
    let direct = shown(&house, &session(&house, window(1_000_000)));
    assert_eq!(compact.len(), direct.len());
    for (brief, whole) in compact.iter().zip(&direct) {
        assert_eq!(brief["name"], whole["name"]);
        assert_eq!(brief["input_schema"], json!({"type": "object"}));
        let line = brief["description"].as_str().unwrap();
        assert!(
            line.chars().count() <= 120 && !line.contains('\n'),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_wrong_call_is_answered_with_the_schema_where_it_was_not_shown() {
    let house = house(300);
    let wrong = || Call::new("test.echo", json!({"txt": "hi"}));
    let hint = async |injection: Injection| {
        let session = session(&house, injection);
        let outcome = house.runtime.call(&session, wrong()).await;
        assert_eq!(outcome.code(), Some(ErrorCode::InputInvalid));
        outcome.into_body().error.unwrap().hint.unwrap()
    };
    let direct = hint(window(1_000_000)).await;
    assert!(!direct.contains("schema of"), "{direct}");
    let compact = hint(window(60_000)).await;
    let (told, schema) = compact.split_once("schema of `test.echo`: ").unwrap();
    assert!(told.contains("did you mean `text`"), "{told}");
    let schema: Value = serde_json::from_str(schema).unwrap();
    assert_eq!(schema["properties"]["text"]["type"], "string");
    assert_eq!(schema["required"], json!(["text"]));
}

#[test]
fn definitions_stay_and_what_is_found_is_appended() {
    let house = house(300);
    let session = session(&house, window(8_000));
    let list = |shape| session.definitions(&house.runtime, shape).json();
    for shape in [Shape::Anthropic, Shape::OpenAi, Shape::Mcp] {
        assert_eq!(list(shape), list(shape));
    }
    let before = list(Shape::Anthropic);
    assert!(!before.contains("mcp__bfcl"), "{before}");
    let names: Vec<_> = catalogue("bfcl")[..300]
        .iter()
        .map(|spec| spec.name.clone())
        .collect();
    let mut last = before;
    for name in [&names[17], &names[2], &names[17], &names[40]] {
        session.note_found([name.clone()]);
        let next = list(Shape::Anthropic);
        assert!(next.starts_with(&last[..last.len() - 1]), "{next}");
        assert_eq!(list(Shape::Anthropic), next);
        last = next;
    }
    let order: Vec<usize> = [17, 2, 40]
        .iter()
        .map(|&at| last.find(&format!("\"mcp__bfcl__bfcl{at}\"")).unwrap())
        .collect();
    assert!(order.is_sorted(), "{order:?}");
    // What does not fit the budget has to be called without being shown.
    session.note_found(names);
    let all = list(Shape::Anthropic);
    assert!(all.starts_with(&last[..last.len() - 1]));
    assert!(
        all.chars().count() / 4 < 2_500,
        "{}",
        all.chars().count() / 4
    );
    let registry = house.runtime.registry();
    registry.unregister("mcp.bfcl.bfcl2").unwrap();
    assert!(!list(Shape::Anthropic).contains("\"mcp__bfcl__bfcl2\""));
}

#[test]
fn direct_modules_are_direct_in_every_mode() {
    let house = house(300);
    for forced in [
        InjectionMode::Direct,
        InjectionMode::CompactDirect,
        InjectionMode::Discovery,
    ] {
        let injection = Injection {
            context_window: Some(8_000),
            forced: Some(forced),
            direct_modules: vec!["test".into()],
            ..Injection::default()
        };
        let session = session(&house, injection);
        assert_eq!(session.decision(&house.runtime).mode, forced);
        let shown = shown(&house, &session);
        let echo = shown
            .iter()
            .find(|tool| tool["name"] == "test__echo")
            .unwrap();
        assert!(
            echo["input_schema"]["properties"]["text"].is_object(),
            "{echo}"
        );
        let others = shown.iter().filter(|tool| {
            let name = tool["name"].as_str().unwrap();
            name.starts_with("mcp__")
        });
        let expected = if forced == InjectionMode::Discovery {
            0
        } else {
            300
        };
        assert_eq!(others.count(), expected);
    }
}
