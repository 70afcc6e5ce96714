//! A `haft.yaml` that came with a clone: it can only narrow until a person trusts these bytes.

use serde_json::json;

use crate::place::{Place, verdict};
use crate::pty::Terminal;

const WIDER: &str =
    "tools:\n  autonomy: autonomous\n  rules:\n    allow: ['shell.exec(touch *)', file.write]\n";

fn touch(place: &Place) -> String {
    verdict(&place.call("shell.exec", &json!({"command": "touch made"}), &[]))
}

#[test]
fn untrusted_it_narrows_and_never_widens() {
    let place = Place::with_config("tools: {policy: coding}\n");
    place.file("haft.yaml", "tools: {policy: full, autonomy: autonomous, deny: [file.list], rules: {allow: [shell.exec, file.write]}}\nfiles: {roots: [/]}\nruntime: {result_budget: 600}\nisolation: {envVars: [SECRET_TOKEN]}\n");
    let check = |tool: &str, args: serde_json::Value, expected: &str| {
        let outcome = place.call(tool, &args, &[]);
        assert_eq!(verdict(&outcome), expected, "{outcome}");
    };
    check("shell.exec", json!({"command": "true"}), "denied");
    check("file.write", json!({"path": "a", "content": "b"}), "denied");
    check("file.list", json!({}), "denied");
    check("file.read", json!({"path": "README.md"}), "ok");
    assert_eq!(
        place.call("file.read", &json!({"path": "/etc/passwd"}), &["--yes"])["ok"],
        false
    );
    place.file("long", "word word\n".repeat(500));
    let long = place.call("file.read", &json!({"path": "long"}), &[]);
    assert!(
        crate::place::text(&long).chars().count() <= 600,
        "a smaller budget counts"
    );
    place
        .run(["tools"])
        .exits(0)
        .says("haft trust")
        .says("not trusted");
    place
        .run(["doctor"])
        .exits(0)
        .says("haft.yaml (not trusted: can only narrow)")
        .says("file.list");
    let doctor = place.run(["doctor"]);
    assert!(!doctor.out.contains("autonomous"), "{}", doctor.out);
    assert!(!doctor.out.contains("shell.exec"), "{}", doctor.out);
    place.run(["config", "check"]).exits(0).says("not trusted");
    let shown = place.run(["config", "show"]);
    shown.exits(0).says("file.list");
    assert!(!shown.out.contains("shell.exec"), "{}", shown.out);
}

#[test]
fn trusted_it_counts_until_one_byte_changes() {
    let place = Place::new();
    place.file("haft.yaml", WIDER);
    assert_eq!(touch(&place), "denied");
    place
        .run(["trust", "--yes"])
        .exits(0)
        .says("shell.exec(touch *)")
        .says("trusted");
    place
        .run(["trust", "--yes"])
        .exits(0)
        .says("already trusted");
    assert_eq!(touch(&place), "ok");
    let ran = place.run(["call", "system.info"]);
    assert!(!ran.err.contains("trust"), "{ran:?}");

    place.file("haft.yaml", format!("{WIDER}#"));
    assert_eq!(touch(&place), "denied");
    place
        .run(["call", "system.info"])
        .exits(0)
        .says("has changed since it was trusted");
    place.file("haft.yaml", WIDER);
    assert_eq!(touch(&place), "ok", "the trusted bytes are trusted again");

    place
        .run(["trust", "--revoke"])
        .exits(0)
        .says("no longer trusted");
    assert_eq!(touch(&place), "denied");
    place
        .run(["trust", "--revoke"])
        .exits(0)
        .says("not trusted");
}

/// The same bytes in another folder are another file.
#[test]
fn trust_is_for_one_workspace() {
    let place = Place::new();
    place.file("haft.yaml", WIDER);
    place.run(["trust", "--yes"]).exits(0);
    let other = place.beside("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("haft.yaml"), WIDER).unwrap();
    let flags = ["--workspace", other.to_str().unwrap()];
    let outcome = place.call("shell.exec", &json!({"command": "touch made"}), &flags);
    assert_eq!(verdict(&outcome), "denied");
    place
        .run([&["trust", "--yes"][..], &flags].concat())
        .exits(0);
    let outcome = place.call("shell.exec", &json!({"command": "touch made"}), &flags);
    assert_eq!(verdict(&outcome), "ok");
}

#[test]
fn a_person_is_shown_the_file_and_asked() {
    let place = Place::new();
    place.file("haft.yaml", WIDER);
    place.run(["trust"]).exits(1).says("--yes");
    for (answer, code, after) in [("n\n", 1, "denied"), ("y\n", 0, "ok")] {
        let mut terminal = Terminal::start(&place, &["trust"], &[]);
        let shown = terminal.until("trust this file as it stands? [y]es, [n]o: ");
        assert!(shown.contains("shell.exec(touch *)"), "{shown}");
        terminal.types(answer);
        let (ended, shown) = terminal.end();
        assert_eq!(ended, code, "{shown}");
        assert_eq!(touch(&place), after);
    }
}

#[test]
fn a_broken_file_cannot_be_trusted_and_stops_everything() {
    let place = Place::new();
    place.file("haft.yaml", "tools:\n  polcy: full\n");
    place
        .run(["trust", "--yes"])
        .exits(1)
        .says("haft.yaml:2")
        .says("`policy`");
    place
        .run(["call", "system.info"])
        .exits(1)
        .says("haft.yaml:2");
}

/// A record that cannot be read trusts nothing and breaks nothing.
#[test]
fn a_broken_record_trusts_nothing() {
    let place = Place::new();
    place.file("haft.yaml", WIDER);
    place.run(["trust", "--yes"]).exits(0);
    std::fs::write(place.home.join("trust.json"), "{broken").unwrap();
    assert_eq!(touch(&place), "denied");
    place
        .run(["call", "system.info"])
        .exits(0)
        .says("trust.json");
    place.run(["trust", "--yes"]).exits(0);
    assert_eq!(touch(&place), "ok");
}
