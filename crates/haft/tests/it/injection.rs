//! `haft tools inject` and the config keys behind it.

use serde_json::{Value, json};

use crate::place::{Place, verdict};

fn inject(place: &Place, window: &str) -> Value {
    let ran = place.run(["tools", "inject", "--context-window", window, "--json"]);
    ran.exits(0);
    ran.json()
}

#[test]
fn the_decision_and_its_numbers_are_shown() {
    let place = Place::new();
    let small = inject(&place, "8000");
    let mut keys: Vec<&String> = small.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(
        keys,
        ["budget", "compact_tokens", "mode", "tool_tokens", "tools"]
    );
    assert_eq!(small["budget"], 1_600);
    assert_eq!(
        small["compact_tokens"],
        small["tools"].as_u64().unwrap() * 30
    );
    assert_eq!(small["mode"], "compact_direct", "{small}");
    assert_eq!(inject(&place, "1000000")["mode"], "direct");
    assert_eq!(inject(&place, "0")["mode"], "discovery");
    place
        .run(["tools", "inject"])
        .exits(0)
        .says("compact_direct");
    place
        .run(["tools", "inject", "--context-window", "many"])
        .exits(2);
}

#[test]
fn config_forces_the_mode_and_keeps_modules_direct() {
    let place = Place::with_config(
        "runtime: {tool_injection: discovery, direct_modules: [filesystem, nothing]}",
    );
    assert_eq!(inject(&place, "1000000")["mode"], "discovery");
    let ran = place.run(["tools", "inject", "--definitions", "openai"]);
    ran.says("no tools in the module `nothing`");
    let names: Vec<String> = ran
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.contains(&"file__read".to_owned()), "{names:?}");
    assert!(!names.contains(&"git__status".to_owned()), "{names:?}");
    let wrong = place.call("git.diff", &json!({"nonsense": 1}), &[]);
    assert_eq!(verdict(&wrong), "input_invalid");
    let hint = wrong["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("schema of `git.diff`: {"), "{hint}");
    let bad = Place::with_config("runtime: {tool_injection: everything}");
    bad.run(["tools"]).exits(1).says("compact_direct");
}

#[test]
fn a_project_file_that_nobody_trusts_does_not_choose() {
    let place = Place::new();
    place.file(
        "haft.yaml",
        "runtime: {tool_injection: discovery, direct_modules: [git]}",
    );
    assert_eq!(inject(&place, "1000000")["mode"], "direct");
    place
        .run(["tools", "inject"])
        .says("`runtime.tool_injection` in")
        .says("`runtime.direct_modules` in");
}

/// Who has set memory up wants it used, however few tools are shown.
#[test]
fn memory_that_is_set_up_is_shown_in_every_mode() {
    let names = |config: &str| -> Vec<String> {
        let place = Place::with_config(config);
        let ran = place.run(["tools", "inject", "--definitions", "openai"]);
        let tools = ran.json();
        let tools = tools.as_array().unwrap().iter();
        tools
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let search = "memory__search".to_owned();
    let discovery = "runtime: {tool_injection: discovery}";
    assert!(!names(discovery).contains(&search));
    let with = format!("{discovery}\ntools: {{modules: {{memory: {{}}}}}}");
    assert!(names(&with).contains(&search));
}
