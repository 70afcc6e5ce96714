//! The reducers as the pipeline finds them, with real outputs of real tools.

use std::sync::Arc;

use haft_core::{Output, ReduceContext, Reducer};
use serde_json::{Value, json};

use crate::fixture::{Fixture, texts};
use crate::git::Repo;

fn reducer(tool: &str) -> Arc<dyn Reducer> {
    haft_tools::packs()
        .into_iter()
        .flat_map(|pack| pack.reducers)
        .find(|reducer| reducer.tool() == tool)
        .unwrap()
}

fn reduce(tool: &str, args: &Value, output: &Output) -> Option<Output> {
    reducer(tool).reduce(output, ReduceContext { args, turn: 1 })
}

/// Call a tool and reduce what it says.
fn called(f: &Fixture, tool: &str, args: Value) -> (Output, Option<Output>) {
    let output = f.call(tool, args.clone()).result.unwrap();
    let reduced = reduce(tool, &args, &output);
    (output, reduced)
}

#[test]
fn long_reads_show_their_beginning() {
    let f = Fixture::new();
    let text: String = (1..=900)
        .map(|n| {
            if n == 700 {
                "error: here\n".to_owned()
            } else {
                format!("line {n} of it\n")
            }
        })
        .collect();
    f.put("long.txt", &text);
    f.put("short.txt", "a\n".repeat(200));
    let (whole, reduced) = called(&f, "file.read", json!({"path": "long.txt"}));
    let reduced = reduced.unwrap();
    let shown = texts(&reduced);
    assert!(shown.starts_with("[900 lines, "), "{shown}");
    assert!(
        shown.contains("`offset: 200`") && shown.contains("700\terror: here"),
        "{shown}"
    );
    assert!(
        shown.contains("\n200\tline 200") && !shown.contains("\n201\t"),
        "{shown}"
    );
    assert!(shown.len() < texts(&whole).len());
    let structured = reduced.structured.as_ref().unwrap();
    assert_eq!(
        (&structured["lines"], &structured["shown"]),
        (&json!(900), &json!(200))
    );
    assert!(structured["content"].as_str().unwrap().len() < 8_000);
    for args in [
        json!({"path": "short.txt"}),
        json!({"path": "long.txt", "offset": 0}),
        json!({"path": "long.txt", "limit": 800}),
        json!({"path": "long.txt", "encoding": "base64"}),
    ] {
        assert!(called(&f, "file.read", args.clone()).1.is_none(), "{args}");
    }
}

#[test]
fn long_lists_show_counts_and_their_top() {
    let f = Fixture::new();
    for n in 0..250 {
        f.put(&format!("d{}/f{n:03}.txt", n % 5), "needle");
    }
    let (_, reduced) = called(&f, "file.list", json!({"recursive": true}));
    let reduced = reduced.unwrap();
    let shown = texts(&reduced);
    assert!(
        shown.starts_with("[255 entries: 250 files with 1500 bytes, 5 folders"),
        "{shown}"
    );
    let structured = reduced.structured.as_ref().unwrap();
    assert_eq!(structured["entries"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&structured["count"], &structured["shown"]),
        (&json!(255), &json!(100))
    );
    assert!(called(&f, "file.list", json!({"path": "d1"})).1.is_none());
    let (_, reduced) = called(&f, "file.glob", json!({"pattern": "**/*.txt"}));
    let structured = reduced.unwrap().into_body().structured.unwrap();
    assert_eq!(structured["matches"].as_array().unwrap().len(), 100);
    let asked = json!({"pattern": "**/*.txt", "limit": 1000});
    assert!(called(&f, "file.glob", asked).1.is_none());
}

/// What `shell.exec` would say with this output.
fn shell(text: &str) -> Output {
    Output::text(text).and_structured(json!({"output": text, "tail": text, "exitCode": 0}))
}

#[test]
fn a_real_git_status_is_counted_in_both_formats() {
    let f = Fixture::new();
    let repo = Repo::new(&f, "");
    repo.commit(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    repo.put("a.txt", "changed\n");
    for n in 0..40 {
        repo.put(&format!("staged{n}.txt"), "");
    }
    repo.git(&["add", "staged*"]);
    for n in 0..30 {
        repo.put(&format!("new{n:02}.txt"), "");
    }
    for command in [
        "git status",
        "git status --short",
        "git status --porcelain -b",
        "git status -uall",
    ] {
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let text = repo.git(&words);
        let args = json!({"command": command});
        let reduced = reduce("shell.exec", &args, &shell(&text)).unwrap();
        let shown = texts(&reduced);
        let counts = "[git status, shortened; not staged: 1, staged: 40, untracked: 30]";
        assert!(shown.starts_with(counts), "{command}: {shown}");
        assert!(
            shown.contains("a.txt") && shown.contains("new00.txt"),
            "{command}: {shown}"
        );
        assert!(
            !shown.contains("new20.txt") && !shown.contains("clean"),
            "{command}: {shown}"
        );
        let structured = reduced.structured.as_ref().unwrap();
        assert_eq!(structured["output"].as_str().unwrap(), shown);
        // Another command's output is not what it seems.
        for other in [
            "git status && make",
            "git status; ls",
            "git status -- x",
            "cat status",
        ] {
            let args = json!({"command": other});
            assert!(
                reduce("shell.exec", &args, &shell(&text)).is_none(),
                "{other}"
            );
        }
    }
    let clean = "On branch main\nnothing to commit, working tree clean\n";
    assert!(
        reduce(
            "shell.exec",
            &json!({"command": "git status"}),
            &shell(clean)
        )
        .is_none()
    );
}
