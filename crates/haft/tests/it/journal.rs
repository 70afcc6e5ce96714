//! The record of calls, as a person meets it.

use std::fs;

use serde_json::{Value, json};

use crate::place::{Place, verdict, wait_for};

fn lines(place: &Place, flags: &[&str]) -> Vec<Value> {
    let mut args = vec!["journal", "--json"];
    args.extend(flags);
    let ran = place.run(args);
    ran.exits(0);
    ran.out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_kind_of_end_is_written_down() {
    let place = Place::with_config("tools: {rules: {deny: ['file.write(**/secret*)']}}");
    place
        .run(["journal"])
        .exits(0)
        .says("nothing has been called yet");
    assert!(
        !place.home.join("haft.db").exists(),
        "looking makes nothing"
    );
    place.call("file.read", &json!({"path": "README.md"}), &[]);
    place.call(
        "file.write",
        &json!({"path": "a", "content": "x"}),
        &["--yes"],
    );
    place.call(
        "file.write",
        &json!({"path": "secret", "content": "x"}),
        &["--yes"],
    );
    place.call(
        "file.write",
        &json!({"path": "b", "content": "x"}),
        &["--dry-run"],
    );
    place.call("file.write", &json!({"path": "b", "content": "x"}), &[]);
    place.call("file.read", &json!({"path": "gone"}), &[]);
    place.call("no.such.tool", &json!({}), &[]);
    place.call("file.read", &json!({"pat": 1}), &[]);
    place.call("shell.exec", &json!({"command": "exit 3"}), &["--yes"]);
    let found: Vec<String> = lines(&place, &[])
        .iter()
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {}",
                text("tool"),
                text("state"),
                text("verdict"),
                text("answer")
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "file.read ok allow -",
            "file.write ok ask yes",
            "file.write denied deny -",
            "file.write dry ask -",
            "file.write denied ask nobody",
            "file.read failed allow -",
            "no.such.tool failed - -",
            "file.read failed - -",
            "shell.exec failed ask yes",
        ]
    );
    place
        .run(["journal", "verify"])
        .exits(0)
        .says("are as they were written");
    let only = lines(
        &place,
        &["--tool", "file.*", "--limit", "2", "--since", "1h"],
    );
    assert_eq!(only.len(), 2);
    assert!(only.iter().all(|line| line["tool"] == "file.read"));
    let first = lines(&place, &[])[0].clone();
    let id = first["call_id"].as_str().unwrap();
    assert_eq!(
        place.run(["journal", "show", id]).json()["args"]["path"],
        "README.md"
    );
    assert_eq!(
        place.run(["journal", "show", "1"]).json()["call_id"],
        first["call_id"]
    );
    place
        .run(["journal", "show", "nobody"])
        .exits(1)
        .says("no such call");
    place
        .run(["journal", "--since", "whenever"])
        .exits(2)
        .says("not a time");
    let stats = place.run(["stats", "--json"]).json();
    assert_eq!(
        (stats["calls"].as_u64(), stats["denied"].as_u64()),
        (Some(9), Some(2))
    );
    assert!(stats["tokens"].is_null());
    place.run(["stats"]).exits(0).says("file.write");
}

/// The answer is shown before the books are closed, so whoever has gone by then must not keep the
/// end of a call from being written down.
#[test]
fn a_call_whose_reader_is_gone_is_written_to_its_end() {
    for flags in [&[][..], &["--json"]] {
        let place = Place::new();
        let mut haft = place.haft();
        haft.args(["call", "shell.exec", "--set", "command=seq 100000", "--yes"])
            .args(flags)
            .stdout(std::process::Stdio::piped());
        let mut running = haft.spawn().unwrap();
        drop(running.stdout.take());
        running.wait().unwrap();
        let found = lines(&place, &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["state"], "ok", "{found:?}");
    }
}

#[test]
fn secrets_are_not_written_down() {
    let place = Place::new();
    let token = "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R";
    let args = json!({"path": "a", "content": format!("token {token}")});
    place.call("file.write", &args, &["--yes"]);
    place.call(
        "shell.exec",
        &json!({"command": format!("echo {token}")}),
        &["--yes"],
    );
    for name in ["haft.db", "haft.db-wal"] {
        let bytes = std::fs::read(place.home.join(name)).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(token), "{name}");
    }
    let lines = lines(&place, &[]);
    assert_eq!(lines[0]["masked_args"], 1);
    assert_eq!(
        lines[1]["hidden"], true,
        "policy would not see the command as it was"
    );
}

/// What makes a word a secret is often the one before it, and parts of a command are written down
/// alone as well.
#[test]
fn a_secret_is_written_down_nowhere_in_its_record() {
    let place = Place::new();
    let commands = [
        "mysql --password=Zk39xQpLm2w -e 1",
        "curl -u bob:Hunter2Zq9xLmP http://127.0.0.1:9/",
        "cat --token Vv77xQpLm2wAbC99",
    ];
    for command in commands {
        let call = json!({ "command": command });
        place.call("shell.exec", &call, &["--yes"]);
    }
    place.call("ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R", &json!({}), &[]);
    let told = place.run(["journal", "--json"]);
    told.exits(0);
    assert_eq!(told.out.lines().count(), 4);
    for secret in [
        "Zk39xQpLm2w",
        "Hunter2Zq9xLmP",
        "Vv77xQpLm2wAbC99",
        "ghp_0a",
    ] {
        assert!(!told.out.contains(secret), "{secret}: {}", told.out);
    }
    assert!(told.out.contains("mysql"), "the rest stays: {}", told.out);
}

#[test]
fn calls_of_many_processes_make_one_journal() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let calls: Value = (0..5)
                    .map(|n| json!({"name": "system.info", "id": format!("c{n}"), "args": {}}))
                    .collect();
                place.batch(&calls, &[]);
            });
        }
    });
    assert_eq!(lines(&place, &[]).len(), 30);
    place.run(["journal", "verify"]).exits(0).says("30 records");
}

#[test]
fn a_journal_that_was_cut_stops_effects_until_the_owner_has_looked() {
    let place = Place::new();
    place.call("system.info", &json!({}), &[]);
    place.call("system.info", &json!({}), &[]);
    let copy = place.beside("copy.db");
    place
        .run(["backup", copy.to_str().unwrap()])
        .exits(0)
        .says("proven");
    place.call("system.info", &json!({}), &[]);
    place
        .run(["restore", copy.to_str().unwrap()])
        .exits(0)
        .says("older than what was signed");
    place.run(["journal", "verify"]).exits(1).says("record 3");
    let refused = place.call(
        "file.write",
        &json!({"path": "x", "content": ""}),
        &["--yes"],
    );
    assert_eq!(verdict(&refused), "execution_failed");
    assert!(!place.workspace.join("x").exists(), "nothing was done");
    let read = place.run(["call", "system.info"]);
    read.exits(0)
        .says("calls could not be written down: the store is damaged");
    place
        .run(["journal", "accept"])
        .exits(0)
        .says("still proven");
    let written = place.call(
        "file.write",
        &json!({"path": "x", "content": ""}),
        &["--yes"],
    );
    assert_eq!(verdict(&written), "ok");
    place
        .run(["journal", "verify"])
        .exits(0)
        .says("accepted by the owner");
}

/// A record in the middle: nothing at the end of the journal shows it.
#[test]
fn a_changed_record_stops_effects_once_anybody_has_seen_it() {
    let place = Place::new();
    for _ in 0..3 {
        place.call("system.info", &json!({}), &[]);
    }
    let args = json!({"path": "x", "content": ""});
    place
        .run(["journal", "accept"])
        .exits(1)
        .says("nothing is wrong with the journal");
    let db = rusqlite::Connection::open(place.home.join("haft.db")).unwrap();
    db.execute_batch("UPDATE journal SET state = 'failed' WHERE seq = 2")
        .unwrap();
    place.run(["stats"]).exits(1).says("record 2");
    let refused = place.call("file.write", &args, &["--yes"]);
    assert_eq!(verdict(&refused), "execution_failed", "{refused}");
    assert!(refused.to_string().contains("haft journal accept"));
    assert!(!place.workspace.join("x").exists(), "nothing was done");
    place.run(["journal", "accept"]).exits(0).says("not proven");
    let written = place.call("file.write", &args, &["--yes"]);
    assert_eq!(verdict(&written), "ok", "{written}");
    place.run(["stats"]).exits(0);
    place.run(["journal", "verify"]).exits(0);
}

#[test]
fn a_copy_says_what_is_not_in_it_and_goes_into_an_empty_home() {
    let place = Place::new();
    let note = json!({"text": "the gate code changes on Mondays"});
    place.call("memory.store", &note, &[]);
    let copy = place.beside("copy.db");
    let copy = copy.to_str().unwrap();
    place
        .run(["backup", copy])
        .exits(0)
        .says("not in it")
        .says("journal.key");
    let other = Place::new();
    other.run(["restore", copy]).exits(0).says("is not proven");
    let args = json!({"path": "x", "content": ""});
    let written = other.call("file.write", &args, &["--yes"]);
    assert_eq!(verdict(&written), "ok", "{written}");
    other.run(["journal", "verify"]).exits(0).says("not proven");
    other.run(["memory", "list"]).exits(0).says("gate code");
    // Twice over: what was there is kept each time.
    for kept in ["before-restore`", "before-restore-2`"] {
        let again = other.run(["restore", "--unproven", copy]);
        again.exits(0).says(kept).says("has not signed the copy");
    }
    other
        .run(["restore", copy])
        .exits(1)
        .says("not signed with the key of this home")
        .says("--unproven");
    other.run(["journal", "verify"]).exits(0).says("not proven");
}

#[test]
fn a_call_whose_process_was_killed_waits_for_a_person() {
    let place = Place::new();
    let mark = place.workspace.join("started");
    let mut child = place
        .haft()
        .args(["call", "shell.exec", "--yes", "--set"])
        .arg(format!("command=touch {}; sleep 600", mark.display()))
        .spawn()
        .unwrap();
    wait_for("the command runs", || mark.exists().then_some(()));
    assert_eq!(lines(&place, &[])[0]["state"], "running");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(lines(&place, &[])[0]["state"], "uncertain");
    place
        .run(["journal", "settle"])
        .exits(0)
        .says("a person decides");
    place
        .run(["journal", "settle", "1", "--happened"])
        .exits(0)
        .says("settled");
    assert_eq!(lines(&place, &[])[0]["state"], "ok");
    place
        .run(["journal", "settle", "1", "--did-not"])
        .exits(1)
        .says("no such uncertain call");
    place
        .run(["journal", "settle"])
        .says("no call is uncertain");
}

#[test]
fn a_journal_is_followed_while_calls_are_made() {
    use std::io::{BufRead, BufReader};
    let place = Place::new();
    let mut child = place
        .haft()
        .args(["journal", "--follow", "--json"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    place.call("file.read", &json!({"path": "README.md"}), &[]);
    assert_eq!(next()["tool"], "file.read");
    let (go, command) = (
        place.workspace.join("go"),
        "until [ -e go ]; do sleep 0.01; done",
    );
    let call = json!({"command": command, "workdir": place.workspace}).to_string();
    let mut running = place
        .haft()
        .args(["call", "shell.exec", "--yes", &call])
        .spawn()
        .unwrap();
    let begun = next();
    assert_eq!(begun["state"], "running");
    fs::write(go, "").unwrap();
    let ended = next();
    assert_eq!(ended["seq"], begun["seq"]);
    assert_eq!(ended["state"], "ok", "{ended}");
    running.wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
}

/// An agent sees what it did, and of others what its isolation lets it see.
#[test]
fn an_agent_reads_its_own_record_as_far_as_isolation_lets_it() {
    let place = Place::new();
    place.file("a", "one");
    let made = |session: &str| {
        let read = json!({"path": "a"});
        let outcome = place.call("file.read", &read, &["--session", session]);
        outcome["call_id"].as_str().unwrap().to_owned()
    };
    let (mine, theirs) = (made("mine"), made("theirs"));
    let ask = |tool: &str, args: Value| place.call(tool, &args, &["--session", "mine"]);
    let ids = |outcome: &Value| -> Vec<String> {
        let calls = outcome["structured"]["calls"].as_array().unwrap();
        let reads = calls.iter().filter(|call| call["tool"] == "file.read");
        reads
            .map(|call| call["call_id"].as_str().unwrap().to_owned())
            .collect()
    };
    for level in ["shared", "scoped", "sandboxed", "air-gapped"] {
        place.config(&format!("isolation: {{level: {level}}}\n"));
        let own = ask("journal.list", json!({}));
        let other = ask("journal.list", json!({"session": "theirs"}));
        let shown = ask("journal.show", json!({"call": mine}));
        let hidden = ask("journal.show", json!({"call": theirs}));
        if level == "air-gapped" {
            for outcome in [own, other, shown, hidden] {
                assert_eq!(verdict(&outcome), "not_available", "{outcome}");
            }
            continue;
        }
        assert_eq!(ids(&own), [mine.as_str()], "{level}");
        assert_eq!(shown["structured"]["args"]["path"], "a", "{shown}");
        assert_eq!(verdict(&hidden), "not_available", "{hidden}");
        match level {
            "shared" => assert_eq!(ids(&other), [theirs.as_str()]),
            _ => assert_eq!(verdict(&other), "denied", "{other}"),
        }
    }
}

/// A token may stand where a name is meant: it is found by it, and is in no file.
#[test]
fn a_secret_that_is_a_name_is_in_no_record() {
    let place = Place::new();
    let token = "ghp_tHbA92mlAzSXtrF6t8OKtu3yZRhab9dp7uw0";
    let read = json!({"path": "README.md"});
    place.call("file.read", &read, &["--session", token]);
    place.call("file.read", &json!({"path": "README.md", token: 1}), &[]);
    place.call("no.such", &json!({"deep": [{token: {token: "x"}}]}), &[]);
    let write = json!({"path": "new", "content": "x"});
    let keyed = ["--yes", "--session", "s", "--key", token];
    for told in ["", "done before"] {
        let outcome = place.call("file.write", &write, &keyed);
        assert_eq!(outcome["ok"], true, "{outcome}");
        assert!(outcome.to_string().contains(told), "{outcome}");
    }
    let found = place.run(["journal", "--json", "--session", token]);
    assert_eq!(found.exits(0).out.lines().count(), 1, "{found:?}");
    place.run(["replay", token]).exits(0);
    for entry in fs::read_dir(&place.home).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&token[4..]), "{}", path.display());
    }
}
