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
