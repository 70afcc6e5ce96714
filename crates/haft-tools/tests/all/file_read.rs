use haft_core::{Block, ErrorCode};
use serde_json::{Value, json};

use crate::fixture::Fixture;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02";

#[test]
fn text_comes_with_line_numbers() {
    let f = Fixture::new();
    let path = f.at("ws/t.txt");
    let check = |content: &str, more: Value, expected: &str, lines: u64| {
        f.put("t.txt", content);
        let mut args = json!({"path": "t.txt"});
        args.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let structured = f.call("file.read", args).structured();
        let whole = json!({"path": path, "content": expected, "lines": lines});
        assert_eq!(structured, whole, "{content:?}");
    };
    check("a\nb\n", json!({}), "1\ta\n2\tb", 2);
    check("a\nb", json!({}), "1\ta\n2\tb", 2);
    check("a\r\nb\r\n", json!({}), "1\ta\n2\tb", 2);
    check("\u{feff}a\n", json!({}), "1\ta", 1);
    check("", json!({}), "", 0);
    check("\n\n", json!({}), "1\t\n2\t", 2);
    check("a\nb\nc\n", json!({"offset": 1}), "2\tb\n3\tc", 2);
    check("a\nb\nc\n", json!({"offset": 1, "limit": 1}), "2\tb", 1);
    check("a\nb\nc\n", json!({"limit": 99}), "1\ta\n2\tb\n3\tc", 3);
    check("a\n", json!({"offset": 5}), "", 0);
    check("BM is no bitmap\n", json!({}), "1\tBM is no bitmap", 1);
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let f = Fixture::new();
    let check = |name: &str, content: &[u8], expected: &str| {
        f.put(name, content);
        let error = f.call("file.read", json!({"path": name})).error();
        assert_eq!(error.code, ErrorCode::ExecutionFailed, "{name}");
        assert!(
            error.message.contains(expected),
            "{name}: {}",
            error.message
        );
        assert!(error.hint.is_some(), "{name}");
    };
    check(
        "archive.tar.gz",
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03",
        "Binary file: archive.tar.gz (application/gzip, 10 bytes) — not a text or image file",
    );
    check(
        "data.bin",
        b"plain start\0and then not",
        "Binary file: data.bin (application/octet-stream, 24 bytes)",
    );
    let mut late = vec![b'a'; 20_000];
    late.extend(b"\n\xe9\x01\x02\n");
    check("late.txt", &late, "another encoding: `");
    check("late.txt", &late, "line 2");
    std::fs::create_dir(f.at("ws/folder")).unwrap();
    let error = f.call("file.read", json!({"path": "folder"})).error();
    assert!(
        error.message.contains("is a directory"),
        "{}",
        error.message
    );
    assert!(error.into_body().hint.unwrap().contains("file.list"));
    let error = f.call("file.read", json!({"path": "gone"})).error();
    assert!(error.message.contains("no such file"), "{}", error.message);
}

#[test]
fn images_come_whole_up_to_the_limit() {
    let f = Fixture::new();
    f.put("photo.png", PNG);
    let output = f
        .call("file.read", json!({"path": "photo.png", "offset": 3}))
        .result
        .unwrap();
    let size = PNG.len();
    let blocks = serde_json::to_value(&output.content).unwrap();
    let Block::Image { data, .. } = &output.content[1] else {
        panic!("{blocks}");
    };
    assert_eq!(
        blocks,
        json!([
            {"type": "text", "text": format!("Image file: photo.png (image/png, {size} bytes)")},
            {"type": "image", "data": data, "mimeType": "image/png"},
        ])
    );
    let bytes = f
        .call(
            "file.read",
            json!({"path": "photo.png", "encoding": "base64"}),
        )
        .structured();
    assert_eq!(bytes["content"], json!(data));
    assert_eq!(bytes["bytes"], json!(size));

    let mut large = PNG.to_vec();
    large.resize((10 << 20) + 1, 0);
    f.put("large.png", large);
    let error = f.call("file.read", json!({"path": "large.png"})).error();
    assert!(
        error.message.contains("larger than the 10 MB limit"),
        "{}",
        error.message
    );
    let error = f
        .call(
            "file.read",
            json!({"path": "large.png", "encoding": "base64"}),
        )
        .error();
    assert!(
        error.message.contains("larger than 10 MB"),
        "{}",
        error.message
    );
}

#[test]
fn a_part_of_a_large_file_is_read_and_never_the_whole() {
    let f = Fixture::new();
    let mut start = String::new();
    for n in 1..=1000 {
        start.push_str(&format!("line {n}\n"));
    }
    f.put("large.txt", &start);
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(f.at("ws/large.txt"))
        .unwrap();
    file.set_len(1 << 40).unwrap();
    let part = json!({"path": "large.txt", "offset": 499, "limit": 2});
    let structured = f.call("file.read", part).structured();
    assert_eq!(structured["content"], json!("500\tline 500\n501\tline 501"));
    let answer = f.call("file.read", json!({"path": "large.txt"}));
    let text = answer.text();
    let told = "[1099511627776 bytes; shown are the first 200: read on with `offset: 200`";
    assert!(text.starts_with(told), "{}", &text[..200]);
    assert!(text.ends_with("\n200\tline 200"));
    let structured = answer.structured();
    assert_eq!(
        (&structured["shown"], structured.get("lines")),
        (&json!(200), None)
    );
    // The rest is one line without an end, longer than may be held.
    let endless = json!({"path": "large.txt", "offset": 1000, "limit": 1});
    let error = f.call("file.read", endless).error();
    assert!(error.message.contains("too large"), "{}", error.message);
}

/// What is shown is read, and the rest goes by.
#[test]
fn of_a_large_text_the_first_lines_are_read_and_all_counted() {
    let f = Fixture::new();
    let check = |end: &str, lines: u64| {
        let text = format!("{}{end}", "many words in a line\n".repeat(900_000));
        f.put("large.txt", &text);
        let answer = f.call("file.read", json!({"path": "large.txt"}));
        let told = format!(
            "[{lines} lines, {} bytes; shown are the first 200",
            text.len()
        );
        assert!(
            answer.text().starts_with(&told),
            "{}",
            &answer.text()[..200]
        );
        let structured = answer.structured();
        assert_eq!(structured["lines"], json!(lines));
        assert_eq!(structured["bytes"], json!(text.len()));
        let content = structured["content"].as_str().unwrap();
        assert_eq!(content.lines().count(), 200);
    };
    check("", 900_000);
    check("the last", 900_001);
}

/// Whoever reads it meets whole lines, in order, and comes to an end.
#[test]
fn a_file_that_grows_while_it_is_read_is_read_to_an_end() {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    let f = Fixture::new();
    f.put("log.txt", "");
    let path = f.at("ws/log.txt");
    let (done, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut log = std::fs::OpenOptions::new()
                .append(true)
                .open(&path)
                .unwrap();
            // Enough to go from one read to many, and not so much that it is too large.
            for n in 1..=200_000 {
                if done.load(Ordering::SeqCst) {
                    break;
                }
                log.write_all(format!("line {n}\n").as_bytes()).unwrap();
                written.store(n, Ordering::SeqCst);
            }
        });
        let mut seen = 0;
        while seen < 2_000 {
            let sure = written.load(Ordering::SeqCst);
            let read = f.call("file.read", json!({"path": "log.txt"})).structured();
            let content = read["content"].as_str().unwrap();
            for (line, n) in content.lines().zip(1..) {
                assert_eq!(line, format!("{n}\tline {n}"));
            }
            seen = content.lines().count() as u64;
            assert!(seen >= sure, "{seen} of {sure}");
            let args = json!({"pattern": "^line [0-9]+$", "mode": "count"});
            let found = f.call("file.grep", args).structured();
            assert!(found["count"].as_u64().unwrap() >= seen, "{found}");
        }
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_listing_is_sorted_and_follows_no_link() {
    let f = Fixture::new();
    f.put("b.txt", "12345");
    f.put("a/z.txt", "");
    f.put("a/b/c.txt", "1");
    std::os::unix::fs::symlink(f.at("out"), f.at("ws/link")).unwrap();
    let list = |args: Value| {
        let structured = f.call("file.list", args).structured();
        let entries = structured["entries"].as_array().unwrap().clone();
        assert_eq!(structured["count"], json!(entries.len()));
        assert_eq!(structured["truncated"], json!(false));
        let shown: Vec<String> = entries
            .iter()
            .map(|e| {
                format!(
                    "{} {} {}",
                    e["path"].as_str().unwrap(),
                    e["kind"].as_str().unwrap(),
                    e["size"]
                )
            })
            .collect();
        shown.join(", ")
    };
    assert_eq!(
        list(json!({})),
        "a dir null, b.txt file 5, link symlink null"
    );
    assert_eq!(list(json!({"path": "a"})), "b dir null, z.txt file 0");
    assert_eq!(
        list(json!({"recursive": true})),
        "a dir null, a/b dir null, a/b/c.txt file 1, a/z.txt file 0, b.txt file 5, link symlink null"
    );
    let error = f.call("file.list", json!({"path": "b.txt"})).error();
    assert!(
        error.message.contains("not a directory"),
        "{}",
        error.message
    );
}

#[test]
fn a_long_listing_says_that_it_is_cut() {
    let f = Fixture::new();
    for n in 0..10_001 {
        std::fs::File::create(f.at("ws").join(format!("{n:05}"))).unwrap();
    }
    let answer = f.call("file.list", json!({}));
    assert!(answer.text().contains("only the first 10000 entries"));
    let structured = answer.structured();
    assert_eq!(structured["count"], json!(10_000));
    assert_eq!(structured["truncated"], json!(true));
}

#[test]
fn other_encodings_are_read_and_survive_an_edit() {
    let check = |content: &[u8], encoding: &str, search: &str, replace: &str, after: &[u8]| {
        let f = Fixture::new();
        f.put("a.txt", content);
        let read = f.call("file.read", json!({"path": "a.txt"}));
        let text = read.text();
        assert!(
            text.ends_with(&format!("[decoded from {encoding}]")),
            "{text}"
        );
        let read = read.structured();
        assert_eq!(read["encoding"], encoding);
        assert!(read["content"].as_str().unwrap().contains(search), "{read}");
        let args = json!({"path": "a.txt", "search": search, "replace": replace});
        f.call("file.edit", args).structured();
        assert_eq!(
            std::fs::read(f.at("ws/a.txt")).unwrap(),
            after,
            "{encoding}"
        );
    };
    check(
        b"caf\xe9\r\nna\xefve\r\n",
        "windows-1252",
        "caf\u{e9}",
        "th\u{e9}\nvert",
        b"th\xe9\r\nvert\r\nna\xefve\r\n",
    );
    check(
        b"\xff\xfeh\0i\0",
        "UTF-16LE",
        "h",
        "\u{20ac}",
        b"\xff\xfe\xac\x20i\0",
    );
    check(b"\xfe\xff\0h\0i", "UTF-16BE", "hi", "no", b"\xfe\xff\0n\0o");
    let f = Fixture::new();
    f.put("a.txt", b"caf\xe9\nna\xefve\n");
    let part = f
        .call(
            "file.read",
            json!({"path": "a.txt", "offset": 1, "limit": 1}),
        )
        .structured();
    assert_eq!(part["content"], "2\tna\u{ef}ve");
    let args = json!({"path": "a.txt", "search": "caf\u{e9}", "replace": "\u{2713}"});
    let error = f.call("file.edit", args).error();
    assert!(
        error.message.contains("cannot be written in windows-1252"),
        "{}",
        error.message
    );
    assert_eq!(
        std::fs::read(f.at("ws/a.txt")).unwrap(),
        b"caf\xe9\nna\xefve\n"
    );
}

#[test]
fn ignored_files_can_be_left_out_of_a_list() {
    let f = Fixture::new();
    f.put(".gitignore", "*.log\n/build/\n!keep.log\n");
    f.put("sub/.gitignore", "local\n");
    for path in [
        "a.log",
        "keep.log",
        "build/x",
        "src/build/y",
        "sub/local",
        "sub/b.log",
        "local",
    ] {
        f.put(path, "");
    }
    f.put(".git/HEAD", "");
    let check = |args: Value, expected: &str, ignored: Value| {
        let list = f.call("file.list", args.clone()).structured();
        let paths: Vec<&str> = list["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["path"].as_str().unwrap())
            .collect();
        assert_eq!(paths.join(" "), expected, "{args}");
        assert_eq!(list["ignored"], ignored, "{args}");
    };
    check(
        json!({"recursive": true}),
        ".gitignore keep.log local src src/build src/build/y sub sub/.gitignore",
        json!(5),
    );
    check(
        json!({"path": "sub", "ignore": true}),
        ".gitignore",
        json!(2),
    );
    check(json!({"path": "build", "ignore": true}), "x", json!(0));
    check(
        json!({"path": "sub"}),
        ".gitignore b.log local",
        Value::Null,
    );
    check(
        json!({"path": "sub", "recursive": true, "ignore": false}),
        ".gitignore b.log local",
        Value::Null,
    );
}

#[test]
fn a_long_line_is_cut_and_says_how_long_it_is() {
    let f = Fixture::new();
    f.put("one.txt", format!("{}\nnext\n", "é".repeat(3_000_000)));
    let text = f.call("file.read", json!({"path": "one.txt"})).text();
    assert!(text.chars().count() < 101_000);
    let cut = "… [cut: this line has 3000000 characters, shown are 100000]\n2\tnext";
    assert!(text.ends_with(cut), "{}", &text[text.len() - 200..]);
    let edit = json!({"path": "one.txt", "search": "next", "replace": "last"});
    assert_eq!(
        f.call("file.edit", edit).structured()["replacements"],
        json!(1)
    );
}

#[test]
fn a_reading_stops_and_says_where_to_go_on() {
    let f = Fixture::new();
    let row = "x".repeat(1_000);
    f.put("rows.txt", format!("{row}\n").repeat(20_000));
    let answer = f.call("file.read", json!({"path": "rows.txt", "offset": 1}));
    let text = answer.text();
    let structured = answer.structured();
    assert_eq!(structured["more"], json!(true));
    let lines = structured["lines"].as_u64().unwrap();
    assert!(lines < 17_000, "{lines}");
    let next = format!(
        "\n[stopped after {lines} lines: read on with `offset: {}`]",
        lines + 1
    );
    assert!(text.ends_with(&next));
    let rest = f.call(
        "file.read",
        json!({"path": "rows.txt", "offset": lines + 1}),
    );
    let structured = rest.structured();
    assert_eq!(structured["lines"], json!(20_000 - lines - 1));
    assert_eq!(structured.get("more"), None);
}
