use std::os::unix::fs::PermissionsExt;

use haft_core::{Capability, ErrorCode, Mode, Resource};
use serde_json::{Value, json};

use crate::fixture::Fixture;

#[test]
fn writing_and_editing_answer_as_documented() {
    let f = Fixture::new();
    let path = f.at("ws/new/a.txt");
    let written = f.call(
        "file.write",
        json!({"path": "new/a.txt", "content": "häft\n"}),
    );
    assert_eq!(written.structured(), json!({"path": path, "bytes": 6}));
    let edited = f.call(
        "file.edit",
        json!({"path": "new/a.txt", "search": "f", "replace": "l"}),
    );
    assert_eq!(
        edited.structured(),
        json!({"path": path, "replacements": 1})
    );
    assert_eq!(f.content("new/a.txt"), "hält\n");
}

#[test]
fn an_edit_changes_what_it_says_and_nothing_else() {
    let f = Fixture::new();
    let script = "\u{feff}#!/bin/sh\r\necho one\r\n";
    f.put("run.sh", script);
    let mode = PermissionsExt::from_mode(0o751);
    std::fs::set_permissions(f.at("ws/run.sh"), mode).unwrap();
    let args = json!({"path": "run.sh", "search": "echo one", "replace": "echo one\necho two"});
    f.call("file.edit", args).structured();
    assert_eq!(
        f.content("run.sh"),
        "\u{feff}#!/bin/sh\r\necho one\r\necho two\r\n"
    );
    let mode = f.at("ws/run.sh").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o751);
}

#[test]
fn edits_that_do_not_fit() {
    let f = Fixture::new();
    f.put("a.txt", "one\ntwo\none\n");
    let check = |args: Value, code: ErrorCode, message: &str, hint: &str| {
        let mut with_path = json!({"path": "a.txt"});
        with_path
            .as_object_mut()
            .unwrap()
            .extend(args.as_object().unwrap().clone());
        let error = f.call("file.edit", with_path).error();
        assert_eq!(error.code, code, "{args}");
        assert!(error.message.contains(message), "{args}: {}", error.message);
        let told = error.into_body().hint.unwrap_or_default();
        assert!(told.contains(hint), "{args}: {told}");
        assert_eq!(f.content("a.txt"), "one\ntwo\none\n", "{args}");
    };
    let failed = ErrorCode::ExecutionFailed;
    let invalid = ErrorCode::InputInvalid;
    check(
        json!({"search": "one", "replace": "x"}),
        failed,
        "2 times",
        "replaceAll: true",
    );
    check(
        json!({"search": "one", "replace": "x"}),
        failed,
        "2 times",
        "lines 1, 3",
    );
    check(
        json!({"search": " two", "replace": "x"}),
        failed,
        "not found",
        "2\ttwo",
    );
    check(
        json!({"search": "two"}),
        invalid,
        "`replace` is missing",
        "edits",
    );
    check(
        json!({"replace": "x"}),
        invalid,
        "`search` is missing",
        "edits",
    );
    check(json!({}), invalid, "`search` is missing", "edits");
    check(json!({"edits": []}), invalid, "`edits` is empty", "");
    let both = json!({"search": "two", "replace": "x", "edits": [{"search": "a", "replace": "b"}]});
    check(both, invalid, "does not go with", "");
    let second_fails = json!({"edits": [
        {"search": "two", "replace": "2"},
        {"search": "three", "replace": "3"},
    ]});
    check(second_fails, failed, "edit 2 of 2: text not found", "");
    f.put("mixed.txt", b"caf\xe9\x01\x02");
    let args = json!({"path": "mixed.txt", "search": "caf", "replace": "x"});
    assert!(
        f.call("file.edit", args)
            .error()
            .message
            .contains("not UTF-8")
    );
}

#[test]
fn a_preview_is_a_diff_and_changes_nothing() {
    let f = Fixture::new();
    f.put("a.txt", "one\ntwo\n");
    f.put(".env", "TOKEN=hidden\n");
    let check = |tool: &str, args: Value, expected: &str| {
        assert_eq!(f.preview(tool, args).text(), expected);
    };
    check(
        "file.write",
        json!({"path": "a.txt", "content": "one\n2\n"}),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
    );
    check(
        "file.write",
        json!({"path": "new/b.txt", "content": "x\n"}),
        "--- /dev/null\n+++ b/new/b.txt\n@@ -0,0 +1 @@\n+x\n",
    );
    check(
        "file.edit",
        json!({"path": "a.txt", "search": "one", "replace": "1"}),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n",
    );
    check(
        "file.write",
        json!({"path": "a.txt", "content": "one\ntwo\n"}),
        "no change",
    );
    let secret = f
        .preview("file.write", json!({"path": ".env", "content": ""}))
        .text();
    assert!(
        secret.contains("not shown") && !secret.contains("hidden"),
        "{secret}"
    );
    let secret = f
        .preview(
            "file.edit",
            json!({"path": ".env", "search": "T", "replace": ""}),
        )
        .text();
    assert!(
        secret.contains("not shown") && !secret.contains("hidden"),
        "{secret}"
    );
    assert_eq!(f.content("a.txt"), "one\ntwo\n");
    assert!(!f.at("ws/new").exists());
}

#[test]
fn a_write_can_tell_whether_it_happened() {
    let f = Fixture::new();
    let verify = |content: &str| {
        let tool = f.tool("file.write");
        let args = json!({"path": "a.txt", "content": content});
        let prepared = tool.prepare(&args).unwrap();
        let cx = f.context("file.write", 1000, false);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(prepared.verify(&cx)).unwrap()
    };
    assert!(!verify("x"));
    f.put("a.txt", "x");
    assert!(verify("x"));
    assert!(!verify("y"));
}

#[test]
fn effects_name_the_real_file() {
    let f = Fixture::new();
    f.put("real.txt", "text");
    std::os::unix::fs::symlink("real.txt", f.at("ws/link")).unwrap();
    let file = Resource::File(f.at("ws/real.txt"));
    let check = |tool: &str, args: Value, modes: &[Mode]| {
        let effects = f.call(tool, args).effects.unwrap();
        let found: Vec<Mode> = effects.accesses.iter().map(|access| access.mode).collect();
        assert_eq!(found, modes, "{tool}");
        assert!(
            effects
                .accesses
                .iter()
                .all(|access| access.resource == file),
            "{tool}"
        );
    };
    check("file.read", json!({"path": "link"}), &[Mode::Read]);
    check(
        "file.edit",
        json!({"path": "link", "search": "t", "replace": "T", "replace_all": true}),
        &[Mode::Read, Mode::Write],
    );
    check(
        "file.write",
        json!({"path": "./link", "content": ""}),
        &[Mode::Write],
    );
    assert!(f.at("ws/link").is_symlink(), "the link itself stays");
    let capabilities = &f.tool("file.edit").spec().capabilities;
    assert!(capabilities.contains(&Capability::FilesystemEdit));
}

#[test]
fn what_was_judged_is_what_is_written() {
    let f = Fixture::new();
    f.put("harmless.txt", "");
    f.put("precious.txt", "keep");
    std::os::unix::fs::symlink("harmless.txt", f.at("ws/link")).unwrap();
    let prepared = f
        .tool("file.write")
        .prepare(&json!({"path": "link", "content": "new"}))
        .unwrap();
    let cx = f.context("file.write", 1000, false);
    prepared.effects(&cx).unwrap();
    std::fs::remove_file(f.at("ws/link")).unwrap();
    std::os::unix::fs::symlink("precious.txt", f.at("ws/link")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(prepared.run(&cx)).unwrap();
    assert_eq!(f.content("precious.txt"), "keep");
    assert_eq!(f.content("harmless.txt"), "new");
}
