use haft_core::{ErrorCode, Nature};
use serde_json::{Value, json};

use crate::fixture::Fixture;

fn kept(f: &Fixture, session: &str, text: &str) -> String {
    f.caller()
        .results
        .as_ref()
        .unwrap()
        .keep(session, text, Nature::default())
        .unwrap()
}

#[test]
fn a_kept_result_is_read_by_lines_and_by_regex() {
    let f = Fixture::new();
    let handle = kept(&f, "session", "one\ntwo\nthree\nfour\n");
    let check = |args: Value, expected: &str| {
        let mut with_handle = json!({"handle": handle});
        with_handle
            .as_object_mut()
            .unwrap()
            .extend(args.as_object().unwrap().clone());
        assert_eq!(
            f.call("result.read", with_handle).text(),
            expected,
            "{args}"
        );
    };
    check(json!({}), "1\tone\n2\ttwo\n3\tthree\n4\tfour");
    check(json!({"lines": "2-3"}), "2\ttwo\n3\tthree");
    check(json!({"lines": "9"}), "[no such lines]");
    check(json!({"regex": "^t", "context": 0}), "2:two\n3:three");
    check(json!({"regex": "three"}), "1-one\n2-two\n3:three\n4-four");
    check(json!({"regex": "zzz"}), "[no line matches]");
    check(json!({"regex": "o", "lines": "3-"}), "3-three\n4:four");
    let read = f.call("result.read", json!({"handle": handle, "lines": "2"}));
    assert_eq!(read.structured()["content"], "2\ttwo");
}

#[test]
fn what_cannot_be_read() {
    let f = Fixture::new();
    let mine = kept(&f, "session", "text");
    let theirs = kept(&f, "another", "text");
    let check = |args: Value, code: ErrorCode, message: &str| {
        let error = f.call("result.read", args.clone()).error();
        assert_eq!(error.code, code, "{args}");
        assert!(error.message.contains(message), "{args}: {}", error.message);
    };
    let gone = "no such result in this session";
    check(json!({"handle": theirs}), ErrorCode::NotAvailable, gone);
    check(json!({"handle": "r_0"}), ErrorCode::NotAvailable, gone);
    check(
        json!({"handle": "../../../etc/passwd"}),
        ErrorCode::NotAvailable,
        gone,
    );
    check(
        json!({"handle": mine, "regex": "("}),
        ErrorCode::InputInvalid,
        "unclosed group",
    );
    check(
        json!({"handle": mine, "regex": r"(\w{500}){500}"}),
        ErrorCode::InputInvalid,
        "size",
    );
    check(
        json!({"handle": mine, "lines": "3-2"}),
        ErrorCode::InputInvalid,
        "not a range",
    );
}

#[test]
fn five_megabytes_stay_within_the_budget() {
    let f = Fixture::new();
    let mut text = String::new();
    for n in 1..=100_000 {
        let word = if n == 50_000 { "needle" } else { "straw" };
        text.push_str(&format!("{n}: {word} {}\n", "-".repeat(40)));
    }
    let handle = kept(&f, "session", &text);
    let cx = f.context("result.read", 2_000, false);
    let whole = f.call_with("result.read", json!({"handle": handle}), &cx);
    assert!(whole.text().chars().count() <= 2_000);
    let next = whole.structured()["next"].as_str().unwrap().to_owned();
    let rest = f.call_with("result.read", json!({"handle": handle, "lines": next}), &cx);
    let start = format!("{}\t", next.trim_end_matches('-'));
    assert!(rest.text().starts_with(&start), "{next}");
    let found = f.call_with(
        "result.read",
        json!({"handle": handle, "regex": "needle"}),
        &cx,
    );
    assert!(found.text().contains("50000:50000: needle"));
    let common = f.call_with(
        "result.read",
        json!({"handle": handle, "regex": "straw"}),
        &cx,
    );
    assert!(common.text().chars().count() <= 2_000);
    assert!(common.text().contains("more matching lines not shown"));
}
