//! The shell corpus, with the one policy that all its rows are written for.

use serde_json::{Value, json};

use super::{compile, judged, line, tool};
use crate::{Verdict, Who};

const CASES: &str = include_str!("../../tests/data/shell-cases.jsonl");

#[test]
fn the_corpus_is_judged_as_labelled() {
    let allow = [
        "git status *",
        "git diff *",
        "git log *",
        "ls *",
        "cat *",
        "echo *",
        "pwd *",
        "grep *",
        "head *",
        "wc *",
        "npm test *",
        "cargo test *",
    ];
    let deny = ["rm *", "curl *", "wget *", "sudo *", "dd *", "mkfs *"];
    let rules = |texts: &[&str]| -> Vec<String> {
        texts
            .iter()
            .map(|text| format!("shell.exec({text})"))
            .collect()
    };
    let policy = compile(json!({
        "tools": {
            "autonomy": "autonomous",
            "rules": {"allow": rules(&allow), "deny": rules(&deny)},
        }
    }))
    .unwrap();
    let bound = policy.bind(&tool("shell.exec"), &Who::default());

    let mut wrong = Vec::new();
    let (mut benign, mut allowed, mut deny, mut denied) = (0, 0, 0, 0);
    for row in CASES.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let text = row["cmd"].as_str().unwrap();
        let judgement = judged(&bound, &line(text));
        let verdict = judgement.verdict;
        let mut complain = || {
            let start: String = text.chars().take(60).collect();
            wrong.push(format!(
                "{} {} {verdict} {start:?}: {}",
                row["id"], row["kind"], judgement.reason
            ));
        };
        match row["kind"].as_str().unwrap() {
            "benign" => {
                benign += 1;
                allowed += usize::from(verdict == Verdict::Allow);
                if verdict != Verdict::Allow {
                    complain();
                }
            }
            "deny" => {
                deny += 1;
                denied += usize::from(verdict == Verdict::Deny);
                if verdict != Verdict::Deny {
                    complain();
                }
            }
            "attack" => assert_ne!(verdict, Verdict::Allow, "{text}"),
            "tricky" => assert_ne!(verdict, Verdict::Deny, "{text}"),
            other => panic!("unknown kind: {other}"),
        }
    }
    assert!(
        allowed == benign && denied == deny,
        "{allowed} of {benign} benign allowed, {denied} of {deny} denied\n{}",
        wrong.join("\n")
    );
}
