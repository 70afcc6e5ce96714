//! Recorded decisions under a draft, compared with what haft really says under that draft.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Place, finish};

const CALLS: usize = 10_000;

const LIVE: &str = "
isolation: {level: shared}
tools:
  rules:
    deny: ['shell.exec(wget *)']
";

/// One rule more.
const DRAFT: &str = "
isolation: {level: shared}
tools:
  rules:
    deny: ['shell.exec(wget *)', 'file.read(secret/**)']
";

/// Calls of many kinds; none of those that could change anything is allowed.
fn session() -> Vec<Value> {
    let call = |n: usize| match n % 10 {
        0 => json!({"name": "file.read", "args": {"path": "README.md"}}),
        1 => json!({"name": "file.read", "args": {"path": format!("secret/{}.txt", n % 7)}}),
        2 => json!({"name": "file.write", "args":
            {"path": format!("notes/{}.md", n % 20), "content": "x"}}),
        3 => json!({"name": "shell.exec", "args":
            {"command": format!("npm test --w{}", n % 5)}}),
        4 => json!({"name": "shell.exec", "args":
            {"command": format!("npm test && rm -rf build{}", n % 3)}}),
        5 => json!({"name": "shell.exec", "args": {"command": "wget http://localhost/x"}}),
        6 => json!({"name": "file.read", "args": {"path": "gone"}}),
        7 => json!({"name": "shell.exec", "args":
            {"command": "npm run publish --token ghp_x7Fq29LmZp04RtYw81VbNc35HsKd62JgAe"}}),
        8 => json!({"name": "file.list", "args": {"path": "secret"}}),
        _ => json!({"name": "shell.exec", "args":
            {"command": format!("npm run task --n{}", n % 7)}}),
    };
    (0..CALLS).map(call).collect()
}

/// Make the calls in a home: the id that each got, and what policy said to it.
fn live(place: &Place, home: &Path, calls: &[Value]) -> Vec<(String, String)> {
    let file = place.beside("calls.json");
    fs::write(&file, serde_json::to_vec(calls).unwrap()).unwrap();
    let input = fs::File::open(&file).unwrap();
    let mut batch = place.haft();
    batch
        .args(["batch", "--json", "--session", "long"])
        .env("HAFT_HOME", home);
    let outcomes = finish(batch.stdin(input)).json();
    let mut journal = place.haft();
    journal
        .args(["journal", "--json", "--limit", "20000"])
        .env("HAFT_HOME", home);
    let ran = finish(&mut journal);
    let verdicts: BTreeMap<String, String> = ran
        .exits(0)
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap_or("-").to_owned();
            (text("call_id"), text("verdict"))
        })
        .collect();
    let outcomes = outcomes.as_array().unwrap().iter();
    outcomes
        .map(|outcome| outcome["call_id"].as_str().unwrap().to_owned())
        .map(|id| {
            let verdict = verdicts[&id].clone();
            (id, verdict)
        })
        .collect()
}

fn backtest(place: &Place, draft: &str) -> Value {
    let file = place.beside("draft.yaml");
    fs::write(&file, draft).unwrap();
    let file = file.to_str().unwrap();
    place
        .run(["policy", "backtest", "--json", "--policy", file])
        .exits(0)
        .json()
}

/// Calls that are said to change, with what they would be; those nobody can tell apart.
fn told(report: &Value) -> (BTreeMap<String, String>, BTreeSet<String>) {
    let mut changes = BTreeMap::new();
    let mut unknown = BTreeSet::new();
    for change in report["changes"].as_array().unwrap() {
        let id = change["call_id"].as_str().unwrap().to_owned();
        match change["now"].as_str().unwrap() {
            "unknown" => drop(unknown.insert(id)),
            now => drop(changes.insert(id, now.to_owned())),
        }
    }
    (changes, unknown)
}

#[test]
fn ten_thousand_calls_agree_with_live_evaluation_and_one_rule_changes_what_it_must() {
    let place = Place::with_config(LIVE);
    for n in 0..7 {
        place.file(&format!("secret/{n}.txt"), "x");
    }
    let calls = session();
    let was = live(&place, &place.home, &calls);
    assert_eq!(was.len(), CALLS);
    let masked: BTreeSet<String> = (0..CALLS)
        .filter(|n| n % 10 == 7)
        .map(|n| was[n].0.clone())
        .collect();

    // The same policy, computed anew in a fresh process: nothing changes.
    let report = backtest(&place, LIVE);
    assert_eq!(report["calls"], CALLS);
    let (changes, unknown) = told(&report);
    assert_eq!(changes, BTreeMap::new());
    assert_eq!(unknown, masked);

    // The draft, against a haft that really runs under it.
    let other = place.beside("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("config.yaml"), DRAFT).unwrap();
    let now = live(&place, &other, &calls);
    let expected: BTreeMap<String, String> = was
        .iter()
        .zip(&now)
        .filter(|((id, was), (_, now))| was != now && !masked.contains(id))
        .map(|((id, _), (_, now))| (id.clone(), now.clone()))
        .collect();
    assert!(expected.len() >= CALLS / 10, "the rule binds something");
    let report = backtest(&place, DRAFT);
    let (changes, unknown) = told(&report);
    assert_eq!(changes, expected);
    assert_eq!(unknown, masked);

    let taking_away: BTreeSet<&str> = (0..CALLS)
        .filter(|n| matches!(n % 10, 4 | 5))
        .map(|n| was[n].0.as_str())
        .collect();
    proposals(&place, &report, &taking_away);
}

#[test]
fn a_rule_of_the_draft_is_said_to_be_the_drafts() {
    let place = Place::with_config(LIVE);
    place.file("secret/x", "x");
    place.call("file.read", &json!({"path": "secret/x"}), &[]);
    let report = backtest(&place, DRAFT);
    let reason = report["changes"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("draft.yaml"), "{reason}");
    assert!(!reason.contains("config.yaml"), "{reason}");
}

/// Few rules spare most questions, and none lets through what takes something away.
fn proposals(place: &Place, report: &Value, taking_away: &BTreeSet<&str>) {
    let questions = report["questions"].as_u64().unwrap();
    let proposals = report["proposals"].as_array().unwrap();
    let spared: u64 = proposals
        .iter()
        .map(|one| one["questions"].as_u64().unwrap())
        .sum();
    assert!(proposals.len() <= 3, "{proposals:?}");
    // A third of the questions is about removing.
    assert!(spared * 100 >= questions * 60, "{spared} of {questions}");
    let rules: Vec<&str> = proposals
        .iter()
        .map(|one| one["rule"].as_str().unwrap())
        .collect();
    let allow = json!(rules).to_string();
    let with = DRAFT.replace("  rules:\n", &format!("  rules:\n    allow: {allow}\n"));
    let after = backtest(place, &with);
    let (changes, _) = told(&after);
    for (id, now) in &changes {
        assert!(now != "allow" || !taking_away.contains(id.as_str()), "{id}");
    }
    assert_eq!(after["questions"].as_u64().unwrap(), questions - spared);
}

/// One file is as gone as a whole folder; what was asked about it is never taken for a nuisance.
#[test]
fn no_rule_is_proposed_that_deletes() {
    let place = Place::with_config(LIVE);
    let mut calls = Vec::new();
    for n in 0..8 {
        let path = format!("notes/{n}.md");
        place.file(&path, "x");
        calls.push(json!({"name": "file.delete", "args": {"path": path}}));
        let patch = format!("--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n");
        calls.push(json!({"name": "file.patch", "args": {"patch": patch}}));
        let args = json!({"from": path, "to": "notes/8.md", "overwrite": true});
        calls.push(json!({"name": "file.move", "args": args}));
        let args = json!({"path": format!("new/{n}.md"), "content": "x"});
        calls.push(json!({"name": "file.write", "args": args}));
    }
    let was = live(&place, &place.home, &calls);
    let asked = was.iter().filter(|(_, verdict)| verdict == "ask").count();
    assert_eq!(asked, calls.len(), "{was:?}");
    let report = backtest(&place, LIVE);
    let proposals = report["proposals"].as_array().unwrap();
    let rules: Vec<&str> = proposals
        .iter()
        .map(|one| one["rule"].as_str().unwrap())
        .collect();
    assert!(!rules.is_empty(), "writing is not deleting");
    assert!(
        rules.iter().all(|rule| rule.starts_with("file.write(")),
        "{rules:?}"
    );
}

#[test]
fn a_draft_that_is_none_is_refused_and_an_empty_journal_has_nothing_to_say() {
    let place = Place::new();
    let missing = place.run(["policy", "backtest", "--policy", "no.yaml"]);
    missing.exits(1).says("no.yaml");
    let file = place.file("draft.yaml", "tools: {rules: {denny: []}}");
    let wrong = place.run(["policy", "backtest", "--policy", file.to_str().unwrap()]);
    wrong.exits(1).says("did you mean `deny`");
    place.file("draft.yaml", "tools: {rules: {deny: [\"file.write(x\"]}}");
    let broken = place.run(["policy", "backtest", "--policy", file.to_str().unwrap()]);
    broken.exits(1).says("draft.yaml:1:24");
    place.file("draft.yaml", "tools: {policy: coding}");
    let empty = place.run(["policy", "backtest", "--policy", file.to_str().unwrap()]);
    empty.exits(0).says("0 calls judged again");
}
