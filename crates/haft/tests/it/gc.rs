//! What haft keeps for itself stays within limits, and what is needed is never removed.

use std::fs;

use serde_json::{Value, json};

use crate::place::Place;

fn part<'a>(report: &'a Value, what: &str) -> &'a Value {
    let parts = report["parts"].as_array().unwrap();
    parts.iter().find(|part| part["what"] == what).unwrap()
}

fn gc(place: &Place, flags: &[&str]) -> Value {
    let mut args = vec!["gc", "--json"];
    args.extend(flags);
    let ran = place.run(args);
    ran.exits(0);
    serde_json::from_str(&ran.out).unwrap()
}

/// A text far beyond the budget, so that it stays behind a handle.
fn long_result(place: &Place) -> String {
    place.file("long.txt", "0123456789\n".repeat(2_000));
    let outcome = place.call(
        "file.read",
        &json!({"path": "long.txt"}),
        &["--budget", "500"],
    );
    outcome["meta"]["handle"].as_str().unwrap().to_owned()
}

fn read_again(place: &Place, handle: &str) -> Value {
    place.call(
        "result.read",
        &json!({"handle": handle, "lines": "1-3"}),
        &[],
    )
}

#[test]
fn nothing_yet() {
    let place = Place::new();
    place.run(["gc"]).exits(0).says("nothing is kept yet");
    assert!(!place.home.join("haft.db").exists());
}

#[test]
fn what_is_known_of_servers_goes_with_them() {
    const MOODY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/moody.py");
    let place = Place::new();
    let config = |servers: &[&str]| {
        let server = json!({"command": "python3", "args": [MOODY, "plain"]});
        let servers = servers
            .iter()
            .map(|name| ((*name).to_owned(), server.clone()));
        let servers: serde_json::Map<String, Value> = servers.collect();
        place.config(&json!({"mcp": {"servers": servers}}).to_string());
    };
    config(&["a", "b"]);
    let project = json!({"mcpServers": {"c": {"command": "python3", "args": [MOODY, "plain"]}}});
    place.file(".mcp.json", project.to_string());
    place.run(["trust", "--yes"]).exits(0);
    for name in ["a", "b", "c"] {
        place.run(["mcp", "test", name]).exits(0);
    }
    let known = |flags: &[&str]| {
        let report = gc(&place, flags);
        let part = part(&report, "what MCP servers offer");
        (part["count"].clone(), part["goes"].clone())
    };
    assert_eq!(known(&[]), (json!(3), json!(0)));
    config(&["a"]);
    // What waits for trust may say anything, so nothing goes that could be there.
    place.file(".mcp.json", format!("{project} "));
    assert_eq!(known(&[]), (json!(3), json!(0)));
    place.run(["trust", "--yes"]).exits(0);
    assert_eq!(known(&["--dry-run"]), (json!(3), json!(1)));
    assert_eq!(known(&[]), (json!(3), json!(1)));
    assert_eq!(known(&[]), (json!(2), json!(0)));
    // Seen from elsewhere, the server of this workspace is still configured here.
    let elsewhere = tempfile::tempdir().unwrap();
    let report = |flags: &[&str]| {
        let mut command = place.haft();
        command.current_dir(elsewhere.path());
        let ran = crate::place::finish(command.args(["gc", "--json"]).args(flags));
        let report: Value = serde_json::from_str(&ran.exits(0).out).unwrap();
        part(&report, "what MCP servers offer")["goes"].clone()
    };
    assert_eq!(report(&[]), 0);
    fs::remove_file(place.workspace.join(".mcp.json")).unwrap();
    assert_eq!(report(&[]), 1);
}

#[test]
fn a_result_lies_among_the_blobs_and_is_read_in_the_next_process() {
    let place = Place::new();
    let handle = long_result(&place);
    let left = |folder: &str| {
        let folders = fs::read_dir(place.home.join(folder)).unwrap().flatten();
        folders
            .flat_map(|folder| fs::read_dir(folder.path()).unwrap().flatten())
            .count()
    };
    assert_eq!((left("results"), left("blobs")), (0, 1));
    assert_eq!(read_again(&place, &handle)["ok"], true);
    let report = gc(&place, &[]);
    assert_eq!(part(&report, "results")["count"], 1);
    assert_eq!(part(&report, "results")["goes"], 0);
    assert_eq!(read_again(&place, &handle)["ok"], true, "it is in use");
}

/// A home of an older haft has them as files.
#[test]
fn results_of_an_older_haft_are_taken_over() {
    let place = Place::new();
    let handle = long_result(&place);
    let folder = |name: &str| fs::read_dir(place.home.join(name)).unwrap().flatten();
    let shelf = folder("blobs").next().unwrap().path();
    let blob = fs::read_dir(&shelf).unwrap().flatten().next().unwrap();
    let session = rusqlite::Connection::open(place.home.join("haft.db")).unwrap();
    let owner: String = session
        .query_row("SELECT owner FROM blob_refs", [], |row| row.get(0))
        .unwrap();
    session.execute("DELETE FROM blob_refs", []).unwrap();
    let old = place.home.join(owner.replace("result/", "results/"));
    fs::create_dir_all(old.parent().unwrap()).unwrap();
    fs::rename(blob.path(), &old).unwrap();
    assert_eq!(read_again(&place, &handle)["ok"], true, "where it lay");
    assert_eq!(part(&gc(&place, &[]), "results")["count"], 1);
    assert!(!old.exists());
    assert_eq!(read_again(&place, &handle)["ok"], true, "where it lies now");
}

#[test]
fn limits_hold_and_the_journal_still_proves_itself() {
    let place = Place::new();
    let handle = long_result(&place);
    for _ in 0..20 {
        place.call("file.read", &json!({"path": "README.md"}), &[]);
    }
    place.config("{journal: {keep_bytes: 10000}, results: {keep_bytes: 1}}");
    let dry = gc(&place, &["--dry-run"]);
    assert_eq!(part(&dry, "results")["goes"], 1);
    let beyond = part(&dry, "journal records")["goes"].as_u64().unwrap();
    assert!((10..21).contains(&beyond), "{dry}");
    assert_eq!(read_again(&place, &handle)["ok"], true, "a dry run");
    let report = gc(&place, &[]);
    assert_eq!(part(&report, "results")["goes"], 1);
    assert!(part(&report, "journal records")["goes"].as_u64().unwrap() >= beyond);
    assert_eq!(
        read_again(&place, &handle)["error"]["code"],
        "not_available"
    );
    let ran = place.run(["journal", "verify"]);
    ran.exits(0);
    assert!(ran.err.contains("removed by `haft gc`"), "{}", ran.err);
    place
        .run(["gc"])
        .exits(0)
        .says("changes to undo")
        .says("in the database");
}

#[test]
fn several_at_once_do_no_harm() {
    let place = Place::with_config("{journal: {keep_bytes: 4000}}");
    let handle = long_result(&place);
    std::thread::scope(|scope| {
        for who in 0..4 {
            let place = &place;
            scope.spawn(move || {
                for _ in 0..3 {
                    match who % 2 {
                        0 => place.run(["gc"]).exits(0),
                        _ => place
                            .run(["call", "file.read", r#"{"path": "long.txt"}"#])
                            .exits(0),
                    };
                }
            });
        }
    });
    place.run(["journal", "verify"]).exits(0);
    assert_eq!(read_again(&place, &handle)["ok"], true);
}
