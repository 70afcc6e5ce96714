//! Secrets of the owner, and the servers of a project that may use them.

use serde_json::json;

use crate::place::{Place, finish, text};

const TELLING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/telling.py");
const VALUE: &str = "plover xyzzy plugh";

#[test]
fn a_server_gets_what_a_secret_stands_for_and_nobody_else_sees_it() {
    let place = Place::with_config(&format!(
        "mcp:\n  servers:\n    t:\n      command: python3\n      args: [{TELLING}]\n      env:\n        \
         SESAME: secret:API\n        WHERE: ${{NOWHERE:-at home}}\n        TOKEN: written out\n"
    ));
    place
        .run(["mcp", "test", "t"])
        .exits(1)
        .says("there is no secret `API`");
    place
        .run_with_input(&["secret", "set", "API"], format!("{VALUE}\n").as_bytes())
        .exits(0);
    place.run(["mcp", "test", "t"]).exits(0);
    let told = |name: &str| {
        let outcome = place.call("mcp.t.variable", &json!({"name": name}), &["--yes"]);
        text(&outcome)
    };
    assert!(
        told("SESAME").contains("[***] 18 characters"),
        "{}",
        told("SESAME")
    );
    assert!(told("WHERE").contains("[at home]"));
    let listed = place.run(["secret", "list"]);
    assert_eq!(listed.exits(0).out, "API\n");
    for line in [
        &["mcp", "list", "--json"][..],
        &["config", "show"],
        &["journal", "--json"],
    ] {
        let ran = place.run(line);
        assert!(
            !ran.out.contains(VALUE) && !ran.out.contains("written out"),
            "{ran:?}"
        );
    }
    place.run(["secret", "remove", "API"]).exits(0);
    place
        .run(["secret", "remove", "API"])
        .exits(1)
        .says("no such secret");
    place.run(["mcp", "test", "t"]).exits(1);
}

/// What a server is given it may say again, on its standard error or with its last words.
#[test]
fn no_command_about_servers_prints_what_they_were_given() {
    const MOODY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/moody.py");
    const OPEN: &str = "handed-on-4711-by-name";
    let place = Place::new();
    place
        .run_with_input(&["secret", "set", "API"], VALUE.as_bytes())
        .exits(0);
    for (name, setting, value) in [
        ("kept", "SAID=secret:API", VALUE),
        ("within", "SAID=so ${secret:API}", VALUE),
        ("handed", "SAID=${HANDED}", OPEN),
        (
            "written",
            "SAID_KEY=a1b2c3-written-out",
            "a1b2c3-written-out",
        ),
    ] {
        let variable = setting.split('=').next().unwrap();
        for temper in ["complains", "dies"] {
            let check = |words: &[&str]| {
                let ran = finish(place.haft().env("HANDED", OPEN).args(words));
                let said = format!("{}{}", ran.out, ran.err);
                assert!(!said.contains(value), "{name} {words:?}: {said}");
                said
            };
            let add = [
                "mcp", "add", "--yes", "--env", setting, name, "python3", MOODY,
            ];
            let said = check(&[&add[..], &[temper, variable]].concat());
            assert!(said.contains("I was told"), "{said}");
            assert!(check(&["mcp", "test", name]).contains("I was told"));
            check(&["mcp", "list"]);
            check(&["mcp", "list", "--json"]);
            place.run(["mcp", "remove", name]).exits(0);
        }
    }
}

#[test]
fn what_is_no_secret_is_refused() {
    let place = Place::new();
    let set = |name: &str, value: &[u8]| place.run_with_input(&["secret", "set", name], value);
    set("A B", b"x").exits(1).says("not a name");
    set("A", b"").exits(2).says("no value");
    set("A", b"\n").exits(2).says("no value");
    set("A", b"\xff").exits(2).says("not UTF-8");
    set("A", &[b'x'; 65_537]).exits(2).says("larger");
    assert!(!place.home.join("secrets.json").exists());
}

#[test]
fn servers_of_a_project_wait_for_trust() {
    let place = Place::new();
    let file = json!({"mcpServers": {"Telling": {"command": "python3", "args": [TELLING]}}});
    place.file(".mcp.json", file.to_string());
    place
        .run(["mcp", "test", "telling"])
        .exits(1)
        .says("no such MCP server");
    place
        .run(["tools"])
        .exits(0)
        .says("it is not trusted: look at it");
    place
        .run(["trust"])
        .exits(1)
        .says("its servers are left out");
    place
        .run(["trust", "--yes"])
        .exits(0)
        .says("trusted: .mcp.json");
    place
        .run(["mcp", "test", "telling"])
        .exits(0)
        .says("1 tools");
    place
        .run(["mcp", "list"])
        .exits(0)
        .says("ready (.mcp.json)");
    place.file(".mcp.json", format!("{file} "));
    place
        .run(["tools"])
        .exits(0)
        .says("it has changed since it was trusted");
    place.run(["mcp", "test", "telling"]).exits(1);
    // One bad entry is left out alone.
    let two = json!({"mcpServers": {"bad": {"command": 7}, "Telling": {"command": "python3", "args": [TELLING]}}});
    place.file(".mcp.json", two.to_string());
    place
        .run(["trust", "--yes"])
        .exits(0)
        .says("`bad` is left out: not what such an entry holds");
    place
        .run(["tools"])
        .exits(0)
        .says("of `.mcp.json` `bad` is left out");
    place.run(["mcp", "test", "telling"]).exits(0);
    place.file(".mcp.json", "{");
    place.run(["trust", "--yes"]).exits(1).says(".mcp.json");
}
