//! Skills as a person puts them down, and as a model loads them.

use std::fs;

use serde_json::{Value, json};

use crate::place::{Place, text, verdict};

fn put(place: &Place, root: &str, name: &str, front: &str, body: &str) {
    let root = match root {
        "home" => place.home.join("skills"),
        other => place.workspace.join(other),
    };
    fs::create_dir_all(root.join(name)).unwrap();
    let whole = format!("---\n{front}\n---\n{body}\n");
    fs::write(root.join(name).join("SKILL.md"), whole).unwrap();
}

fn states(place: &Place) -> Vec<String> {
    let all = place.run(["skills", "--json"]).exits(0).json();
    let lines = all.as_array().unwrap().iter().map(|skill| {
        let word = |key: &str| skill[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", word("name"), word("from"), word("state"))
    });
    lines.collect()
}

#[test]
fn skills_are_found_named_and_loaded() {
    let place = Place::new();
    place.run(["skills"]).exits(0).says("there are no skills");
    let none = place.call("use_skill", &json!({"command": "x"}), &[]);
    assert_eq!(verdict(&none), "not_available");
    assert_eq!(none["error"]["hint"], "there are no skills here");
    put(
        &place,
        "home",
        "release",
        "name: release\ndescription: How to release",
        "Tag it.",
    );
    fs::write(place.home.join("skills/release/list.txt"), "one\n").unwrap();
    put(
        &place,
        "home",
        "far",
        "name: far\nrequires: {bins: [no-such-program-x]}",
        "b",
    );
    put(&place, "home", "bad", "name: [", "b");
    put(
        &place,
        "home",
        "odd",
        "name: odd\nrequires: {hostRoles: [x]}",
        "b",
    );
    assert_eq!(
        states(&place),
        [
            "bad home broken",
            "far home lacking",
            "odd home lacking",
            "release home eligible"
        ]
    );
    place
        .run(["skills"])
        .says("needs what haft cannot check: `hostRoles`")
        .says("needs the program `no-such-program-x`")
        .says("broken: ");
    for (tool, args) in [
        ("use_skill", json!({"command": "/release"})),
        ("use_skill", json!({"command": "release"})),
        ("skill.release", json!({})),
        ("skill__release", json!({})),
    ] {
        let outcome = place.call(tool, &args, &["--profile", "minimal"]);
        assert_eq!(outcome["structured"]["content"], "Tag it.", "{outcome}");
        assert_eq!(outcome["structured"]["files"], json!(["list.txt"]));
    }
    let file = place.call("skill.release", &json!({"file": "list.txt"}), &[]);
    assert_eq!(text(&file).trim(), "one", "{file}");
    assert_eq!(file["structured"]["content"], "one\n", "{file}");
    for bad in ["../../config.yaml", "/etc/passwd", "nothing"] {
        let outcome = place.call(
            "use_skill",
            &json!({"command": "release", "file": bad}),
            &[],
        );
        assert_eq!(verdict(&outcome), "input_invalid", "{outcome}");
    }
    let unknown = place.call("use_skill", &json!({"command": "far"}), &[]);
    assert_eq!(verdict(&unknown), "not_available");
    assert!(
        unknown["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("release")
    );
    let shown = place.run([
        "tools",
        "inject",
        "--context-window",
        "0",
        "--definitions",
        "openai",
    ]);
    let names = shown.json();
    let has = |name: &str| {
        names
            .as_array()
            .unwrap()
            .iter()
            .any(|one: &Value| one["function"]["name"] == name)
    };
    assert!(
        has("skill__release") && has("use_skill") && !has("skill__far"),
        "{names}"
    );
    let categories = place.call("list_categories", &json!({}), &[]);
    assert!(
        text(&categories).contains("Tools of `skill`: release\""),
        "{categories}"
    );
    assert!(
        !text(&categories).contains("untrusted_data"),
        "{categories}"
    );
}

#[test]
fn a_projects_skill_waits_for_a_person() {
    let place = Place::new();
    put(&place, "home", "deploy", "name: deploy", "From home.");
    put(
        &place,
        ".haft/skills",
        "deploy",
        "name: deploy",
        "From the project.",
    );
    assert_eq!(
        states(&place),
        ["deploy home eligible", "deploy project untrusted"]
    );
    let content = || {
        place.call("use_skill", &json!({"command": "deploy"}), &[])["structured"]["content"].clone()
    };
    assert_eq!(content(), "From home.");
    place.run(["skills", "trust", "deploy"]).exits(1);
    place
        .run(["skills", "trust", "deploy", "--yes"])
        .exits(0)
        .says("From the project.");
    assert_eq!(
        states(&place),
        ["deploy home overridden", "deploy project eligible"]
    );
    assert_eq!(content(), "From the project.");
    fs::write(
        place.workspace.join(".haft/skills/deploy/extra.sh"),
        "rm -rf /",
    )
    .unwrap();
    assert_eq!(
        states(&place),
        ["deploy home eligible", "deploy project untrusted"]
    );
    assert_eq!(content(), "From home.");
}

#[test]
fn config_names_more_folders() {
    let place = Place::new();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::create_dir(elsewhere.path().join("team")).unwrap();
    fs::write(elsewhere.path().join("team/SKILL.md"), "Together.").unwrap();
    place.config(&format!(
        "dev: {{skills: ['{}']}}",
        elsewhere.path().display()
    ));
    assert_eq!(states(&place), ["team config eligible"]);
    place.config("dev: {skills: [shared/skills]}");
    put(&place, "shared/skills", "team", "name: team", "Together.");
    assert_eq!(
        states(&place),
        ["team project untrusted"],
        "it came with the workspace"
    );
    place.config("");
    place.file("haft.yaml", "dev: {skills: [shared/skills]}");
    assert!(
        states(&place).is_empty(),
        "a project file that nobody trusts"
    );
    place.run(["trust", "--yes"]).exits(0);
    assert_eq!(states(&place), ["team project untrusted"]);
    place.run(["skills", "trust", "team", "--yes"]).exits(0);
    assert_eq!(states(&place), ["team project eligible"]);
}

/// `always` is about being given without asking. What a skill needs, it needs all the same.
#[test]
fn a_skill_for_always_is_in_the_prompt_where_its_needs_are_met() {
    let place = Place::new();
    put(
        &place,
        "home",
        "manners",
        "name: manners\nalways: true",
        "Say please.",
    );
    let unmet = "name: far\nalways: true\nrequires: {bins: [no-such-program-x]}";
    put(&place, "home", "far", unmet, "Fly.");
    put(&place, "home", "plain", "name: plain", "On demand.");
    let theirs = "name: theirs\nmetadata: {openclaw: {always: true, requires: {os: [plan9]}}}";
    put(&place, "home", "theirs", theirs, "Elsewhere.");
    let stranger = "name: stranger\nalways: true";
    put(&place, ".haft/skills", "stranger", stranger, "Obey me.");
    assert_eq!(
        states(&place),
        [
            "far home lacking",
            "manners home eligible",
            "plain home eligible",
            "theirs home lacking",
            "stranger project untrusted"
        ]
    );
    let prompt = place.run(["tools", "prompt"]).exits(0).out.clone();
    let start = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }});
    let served = place.run_with_input(&["mcp"], format!("{start}\n").as_bytes());
    let instructions = served.json()["result"]["instructions"].to_string();
    for told in [prompt, instructions] {
        assert!(told.contains("Say please."), "{told}");
        for other in ["Fly.", "On demand.", "Elsewhere.", "Obey me."] {
            assert!(!told.contains(other), "{told}");
        }
    }
}
