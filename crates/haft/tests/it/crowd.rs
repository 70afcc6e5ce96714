//! Many haft processes on one home at once: nothing lost, nothing torn.

use std::thread;

use serde_json::{Value, json};

use crate::place::{Place, text, verdict};
use crate::pty::Terminal;

const CROWD: usize = 8;

#[test]
fn always_answers_of_many_processes_are_all_kept() {
    let place = Place::new();
    thread::scope(|scope| {
        for n in 0..CROWD {
            let place = &place;
            scope.spawn(move || {
                let args = json!({"command": format!("touch made-{n}")}).to_string();
                let mut terminal = Terminal::start(place, &["call", "shell.exec", &args], &[]);
                terminal.until("[a]lways: ");
                terminal.types("a\n");
                let (code, shown) = terminal.end();
                assert_eq!(code, 0, "{shown}");
            });
        }
    });
    let rules = place.run(["policy", "rules", "--json"]).exits(0).json();
    let mut found: Vec<&str> = rules
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["rule"].as_str().unwrap())
        .collect();
    found.sort_unstable();
    let expected: Vec<String> = (0..CROWD)
        .map(|n| format!("shell.exec(touch made-{n})"))
        .collect();
    assert_eq!(found, expected);
    for n in 0..CROWD {
        let args = json!({"command": format!("touch made-{n}")});
        assert_eq!(verdict(&place.call("shell.exec", &args, &[])), "ok", "{n}");
    }
}

#[test]
fn calls_results_and_trust_of_many_processes() {
    let place = Place::new();
    place.file(
        "haft.yaml",
        "tools: {rules: {allow: ['shell.exec(seq *)', file.write]}}\n",
    );
    place.run(["trust", "--yes"]).exits(0);
    place.file("shared.txt", "start\n");
    thread::scope(|scope| {
        for n in 0..CROWD {
            let place = &place;
            scope.spawn(move || {
                let from = n * 100_000;
                let command = format!("seq {from} {}", from + 60_000);
                let outcome = place.call("shell.exec", &json!({ "command": command }), &[]);
                assert_eq!(verdict(&outcome), "ok", "{outcome}");
                let handle = outcome["meta"]["handle"].as_str().unwrap();
                let needle = (from + 31_234).to_string();
                let read = json!({"handle": handle, "regex": format!("^{needle}$"), "context": 0});
                assert!(text(&place.call("result.read", &read, &[])).contains(&needle));
                let content = format!("{n}").repeat(100_000);
                let write = json!({"path": "shared.txt", "content": content});
                let args = place.file(&format!("args-{n}.json"), write.to_string());
                let ran = place.run([
                    "call",
                    "file.write",
                    &format!("@{}", args.display()),
                    "--json",
                ]);
                assert_eq!(verdict(&ran.json()), "ok", "{ran:?}");
            });
        }
    });
    let shared = place.read("shared.txt");
    assert_eq!(shared.len(), 100_000, "written whole by one of them");
    assert!(shared.bytes().all(|byte| byte == shared.as_bytes()[0]));
    let trust = std::fs::read(place.home.join("trust.json")).unwrap();
    serde_json::from_slice::<Value>(&trust).unwrap();
    for dir in [&place.home, &place.workspace] {
        let left = std::fs::read_dir(dir).unwrap().filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            (name.ends_with(".new") || name.ends_with(".broken") || name.starts_with(".tmp"))
                .then_some(name)
        });
        assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new());
    }
}

#[test]
fn trust_and_revoke_at_once() {
    let place = Place::new();
    let folders: Vec<_> = (0..CROWD)
        .map(|n| {
            place.file(
                &format!("project-{n}/haft.yaml"),
                "tools: {autonomy: autonomous}\n",
            );
            place.workspace.join(format!("project-{n}"))
        })
        .collect();
    thread::scope(|scope| {
        for folder in &folders {
            let place = &place;
            scope.spawn(move || {
                place
                    .run(["trust", "--yes", "--workspace", folder.to_str().unwrap()])
                    .exits(0);
            });
        }
    });
    for folder in &folders {
        let ran = place.run(["trust", "--yes", "--workspace", folder.to_str().unwrap()]);
        ran.exits(0).says("already trusted");
    }
}
