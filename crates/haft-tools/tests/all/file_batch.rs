//! `file.batch`: rename, move and transform.

use haft_core::{ErrorCode, Mode};
use serde_json::{Value, json};

use crate::file_move::tree;
use crate::fixture::Fixture;

fn world() -> Fixture {
    let f = Fixture::new();
    f.put("img1.png", "1");
    f.put("img2.png", "2");
    f.put("a.txt", "one two one\n");
    f.put("sub/b.txt", "one\r\n");
    f.put("sub/a.txt", "two\n");
    f.put(".hidden.txt", "one\n");
    f.put("ignored.txt", "one\n");
    f.put(".gitignore", "ignored.txt\n");
    f
}

/// The changes a call makes, or how it fails; a preview must say the same and change nothing.
fn check(args: Value, expected: &str) -> Fixture {
    let f = world();
    let before = tree(&f);
    let preview = f.preview("file.batch", args.clone());
    assert_eq!(tree(&f), before, "{args}: a preview changed something");
    let answer = f.call("file.batch", args.clone());
    if let (Ok(preview), Ok(answer)) = (&preview.result, &answer.result) {
        assert_eq!(preview.structured, answer.structured, "{args}");
    }
    let shown = match answer.result {
        Ok(output) => {
            let changes = output.structured.as_ref().unwrap()["changes"].clone();
            let changes = changes.as_array().unwrap().iter().map(|change| {
                match (change["from"].as_str(), change["to"].as_str()) {
                    (Some(from), Some(to)) => format!("{from}>{to}"),
                    _ => format!(
                        "{}:{}",
                        change["path"].as_str().unwrap(),
                        change["replacements"]
                    ),
                }
            });
            changes.collect::<Vec<_>>().join(" ")
        }
        Err(error) => {
            assert_eq!(tree(&f), before, "{args}: a failure changed something");
            format!("{}: {}", error.code, error.message)
        }
    };
    assert_eq!(shown, expected, "{args}");
    f
}

#[test]
fn renaming() {
    let rename = |pattern: &str, replacement: &str| json!({"operation": "rename", "pattern": pattern, "replacement": replacement});
    let f = check(
        rename(r"^img(\d)\.png$", "$1_photo.png"),
        "img1.png>1_photo.png img2.png>2_photo.png",
    );
    assert_eq!(f.content("2_photo.png"), "2");
    check(rename("zzz", "y"), "");
    check(rename("txt", "md"), "a.txt>a.md");
    check(
        rename(r"img\d", "img"),
        "execution_failed: two files would get one name: `img1.png` and `img2.png` become `img.png`",
    );
    check(
        rename("img1.png", "a.txt"),
        "execution_failed: something is already there: `a.txt`, for `img1.png`",
    );
    check(
        rename("img1.png", "x/y"),
        "input_invalid: not a file name: `x/y`, for `img1.png`",
    );
    check(
        rename("a(", "x"),
        "input_invalid: `pattern` is not a regular expression: regex parse error:\n    a(\n     ^\nerror: unclosed group",
    );
    check(
        rename("img1", "$1"),
        "input_invalid: `pattern` has no group `1`",
    );
    assert_eq!(failing(rename("img1.png", "haft.yaml")), ErrorCode::Denied);
    check(
        json!({"operation": "rename", "pattern": "a"}),
        "input_invalid: `replacement` is missing",
    );
    let recursive =
        json!({"operation": "rename", "pattern": "^a", "replacement": "z", "recursive": true});
    check(recursive, "a.txt>z.txt sub/a.txt>sub/z.txt");
}

#[test]
fn names_that_are_handed_on() {
    let f = Fixture::new();
    for (name, content) in [("a", "1"), ("aa", "2"), ("aaa", "3")] {
        f.put(name, content);
    }
    let args = json!({"operation": "rename", "pattern": "^(a+)$", "replacement": "a$1"});
    let changes = f.call("file.batch", args).structured()["count"].clone();
    assert_eq!(changes, 3);
    assert_eq!(
        tree(&f),
        ["aa 644 \"1\"", "aaa 644 \"2\"", "aaaa 644 \"3\""]
    );
}

#[test]
fn moving_into_a_folder() {
    let moved = |pattern: &str, destination: &str| json!({"operation": "move", "pattern": pattern, "destination": destination});
    check(
        moved("*.png", "new/img"),
        "img1.png>new/img/img1.png img2.png>new/img/img2.png",
    );
    check(
        moved("sub/*.txt", "."),
        "execution_failed: something is already there: `a.txt`, for `sub/a.txt`",
    );
    check(
        moved("**/*.txt", "all"),
        "execution_failed: two files would get one name: `a.txt` and `sub/a.txt` become `all/a.txt`",
    );
    check(moved("*.txt", "."), "");
    check(
        moved("*.{png,jpg}", "sub"),
        "img1.png>sub/img1.png img2.png>sub/img2.png",
    );
    check(
        moved("../out/*", "x"),
        "input_invalid: `pattern` leaves the folder it starts in: `../out/*`",
    );
    check(
        moved("[", "x"),
        "input_invalid: `pattern` is not a glob: unclosed character class; missing ']'",
    );
    check(
        json!({"operation": "move", "pattern": "*", "destination": "x", "directory": "sub"}),
        "sub/a.txt>x/a.txt sub/b.txt>x/b.txt",
    );
    let outside = failing(moved("*.txt", "../out"));
    assert_eq!(outside, ErrorCode::Denied);
}

fn failing(args: Value) -> ErrorCode {
    let f = world();
    let before = tree(&f);
    let code = f.call("file.batch", args).error().code;
    assert_eq!(tree(&f), before);
    code
}

#[test]
fn transforming() {
    let transform = |pattern: &str, find: &str, replace: &str| json!({"operation": "transform", "pattern": pattern, "find": find, "replace": replace});
    let f = check(transform("**/*.txt", "one", "1"), "a.txt:2 sub/b.txt:1");
    assert_eq!(
        (f.content("a.txt"), f.content("sub/b.txt")),
        ("1 two 1\n".into(), "1\r\n".into())
    );
    assert_eq!(
        (f.content("ignored.txt"), f.content(".hidden.txt")),
        ("one\n".into(), "one\n".into())
    );
    let f = check(transform("sub/b.txt", "one", "1\n2"), "sub/b.txt:1");
    assert_eq!(f.content("sub/b.txt"), "1\r\n2\r\n");
    check(transform("*.txt", "two", ""), "a.txt:1");
    check(transform("*.txt", "nowhere", "x"), "");
    check(
        transform("*.txt", "", "x"),
        "input_invalid: `find` is empty",
    );
    check(
        transform("*.txt", "x", "x"),
        "input_invalid: `find` and `replace` are the same",
    );
    let mut args = transform("*", "one", "1");
    args["ignore"] = false.into();
    args["hidden"] = true.into();
    check(args, ".hidden.txt:1 a.txt:2 ignored.txt:1");
}

#[test]
fn what_cannot_be_transformed_is_named() {
    let f = Fixture::new();
    f.put("a.txt", "one");
    f.put("b.bin", b"one\0\xff");
    std::os::unix::fs::symlink("a.txt", f.at("ws/link.txt")).unwrap();
    let large = std::fs::File::create(f.at("ws/large.txt")).unwrap();
    large.set_len((10 << 20) + 1).unwrap();
    let args = json!({"operation": "transform", "pattern": "*", "find": "one", "replace": "1"});
    let answer = f.call("file.batch", args).structured();
    assert_eq!(
        answer["changes"],
        json!([{"path": "a.txt", "replacements": 1}])
    );
    let skipped: Vec<&str> = answer["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skipped| skipped["path"].as_str().unwrap())
        .collect();
    assert_eq!(skipped, ["b.bin", "large.txt", "link.txt"]);
    assert!(f.at("ws/link.txt").is_symlink());
}

#[test]
fn many_files_at_once() {
    let f = Fixture::new();
    for n in 0..300 {
        f.put(&format!("d{}/f{n}.txt", n % 7), format!("value {n}\n"));
    }
    let args = json!({"operation": "transform", "pattern": "**/*.txt", "find": "value", "replace": "number"});
    let answer = f.call("file.batch", args).structured();
    assert_eq!(answer["count"], 300);
    assert_eq!(f.content("d1/f1.txt"), "number 1\n");
    assert_eq!(tree(&f).len(), 307);
}

#[test]
fn every_path_of_a_batch_is_declared_and_secrets_stay_unread() {
    let f = Fixture::new();
    f.put("a.txt", "one");
    f.put(".env", "one=1");
    let args = json!({"operation": "transform", "pattern": "*", "find": "one", "replace": "1", "hidden": true});
    let answer = f.preview("file.batch", args);
    let writes: Vec<String> = answer
        .effects
        .as_ref()
        .unwrap()
        .accesses
        .iter()
        .filter(|access| access.mode == Mode::Write)
        .map(|access| {
            access
                .resource
                .to_string()
                .replace(f.at("ws").to_str().unwrap(), "")
        })
        .collect();
    assert_eq!(writes, ["file:///.env", "protected:/.env", "file:///a.txt"]);
    let text = answer.text();
    assert!(text.contains("-one") && !text.contains("=1"), "{text}");
    let args = json!({"operation": "rename", "pattern": "a.txt", "replacement": "b.txt"});
    let effects = f.preview("file.batch", args).effects.unwrap();
    let writes = effects
        .accesses
        .iter()
        .filter(|access| access.mode == Mode::Write)
        .count();
    assert_eq!(writes, 2);
}

#[test]
fn files_that_come_in_between_are_not_touched_unjudged() {
    let f = world();
    let tool = f.tool("file.batch");
    let args = json!({"operation": "rename", "pattern": "img", "replacement": "pic"});
    let cx = f.context("file.batch", 1_000, false);
    let prepared = tool.prepare(&args).unwrap();
    prepared.effects(&cx).unwrap();
    f.put("img3.png", "3");
    let before = tree(&f);
    let error = f.block_on(prepared.run(&cx)).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert_eq!(tree(&f), before);
}
