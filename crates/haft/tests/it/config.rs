//! Config files as a person gets them wrong, and as they are laid over each other.

use serde_json::json;

use crate::place::{Place, verdict};

/// What every command says about a broken owner's config.
#[track_caller]
fn check_broken(yaml: &str, expected: &[&str]) {
    let place = Place::with_config(yaml);
    for args in [
        &["config", "check"][..],
        &["config", "show"],
        &["call", "file.read", r#"{"path":"README.md"}"#],
        &["tools"],
        &["doctor"],
    ] {
        let ran = place.run(args);
        ran.exits(1).says("config.yaml");
        for text in expected {
            ran.says(text);
        }
        assert!(
            !ran.out.contains("a workspace"),
            "a broken policy runs nothing: {ran:?}"
        );
    }
}

#[test]
fn mistakes_are_named_with_file_line_and_the_nearest_key() {
    check_broken(
        "tools:\n  polcy: coding\n",
        &["config.yaml:2", "unknown key `polcy`", "`policy`"],
    );
    check_broken(
        "tols: {}\n",
        &["config.yaml:1", "unknown key `tols`", "`tools`"],
    );
    check_broken(
        "runtime:\n  timeout_ms: 5\n  result_bugdet: 7\n",
        &["config.yaml:3", "`result_budget`"],
    );
    check_broken(
        "tools:\n  rules:\n    alow: []\n",
        &["config.yaml:3", "`allow`"],
    );
    check_broken(
        "agents:\n  a:\n    toolpolicy: full\n",
        &["config.yaml:3", "`toolPolicy`"],
    );
}

#[test]
fn wrong_types_are_named_with_file_and_line() {
    check_broken(
        "tools: 5\n",
        &["config.yaml:1", "`tools`", "expected a map"],
    );
    check_broken(
        "tools:\n  deny: file.read\n",
        &["config.yaml:2", "`tools.deny`", "expected a list"],
    );
    check_broken(
        "runtime:\n  timeout_ms: soon\n",
        &["config.yaml:2", "`runtime.timeout_ms`", "whole number"],
    );
    check_broken(
        "tools:\n  policy: [coding]\n",
        &["config.yaml:2", "expected text"],
    );
    check_broken("- a\n", &["config.yaml:1"]);
    check_broken("tools:\n  autonomy: wild\n", &["config.yaml:2", "`wild`"]);
    check_broken("runtime:\n  timeout_ms: -1\n", &["config.yaml:2"]);
}

#[test]
fn what_is_no_yaml_and_what_is_no_policy() {
    check_broken("tools: {policy: coding\n", &["config.yaml:"]);
    check_broken("tools:\n\tpolicy: coding\n", &["config.yaml:2"]);
    for (yaml, expected) in [
        ("tools: {policy: codng}\n", &["codng", "coding"][..]),
        (
            "tools: {rules: {deny: ['file.write(/[a)']}}\n",
            &["file.write(/[a)"],
        ),
        (
            "tools: {rules: {deny: ['file.write(/etc']}}\n",
            &["file.write(/etc"],
        ),
        ("tools: {deny: ['group:fss']}\n", &["group:fss", "group:fs"]),
    ] {
        let place = Place::with_config(yaml);
        for args in [
            &["config", "check"][..],
            &["call", "system.info"],
            &["tools"],
            &["doctor"],
        ] {
            let ran = place.run(args);
            ran.exits(1).says("config.yaml");
            expected.iter().for_each(|text| {
                ran.says(text);
            });
        }
    }
}

#[test]
fn a_name_of_no_tool_is_told_with_the_nearest_one() {
    let place =
        Place::with_config("tools: {deny: [shel.exec], rules: {deny: ['file.wriet(/etc/**)']}}\n");
    for args in [&["config", "check"][..], &["doctor"]] {
        let ran = place.run(args);
        ran.says("`shel.exec` under `tools.deny`")
            .says("did you mean `shell.exec`?")
            .says("did you mean `file.write`?");
    }
}

#[test]
fn keys_of_later_capabilities_are_too_early_and_not_unknown() {
    for (yaml, key) in [
        ("setup: []\n", "setup"),
        ("middleware: []\n", "middleware"),
        ("credential: {}\n", "credential"),
        ("runtime: {watchers: true}\n", "runtime.watchers"),
        ("runtime: {scheduler: {}}\n", "runtime.scheduler"),
        ("tools: {channels: {}}\n", "tools.channels"),
    ] {
        check_broken(
            yaml,
            &[&format!("`{key}` is not available yet"), "config.yaml:1"],
        );
    }
}

#[test]
fn module_names_of_the_documents_resolve() {
    let place = Place::with_config(
        "tools: {modules: {filesystem: {constraints: {blocked_actions: [list]}}}}\n",
    );
    assert_eq!(verdict(&place.call("file.list", &json!({}), &[])), "denied");
    check_broken(
        "tools: {modules: {filesytem: {}}}\n",
        &["filesytem", "file"],
    );
    check_broken(
        "tools: {modules: {file: {constraints: {allowed_pahts: []}}}}\n",
        &["allowed_pahts", "`allowed_paths`"],
    );
}

#[test]
fn the_project_is_over_the_owner_and_flags_are_over_both() {
    let place = Place::with_config("tools: {policy: minimal}\nruntime: {result_budget: 5000}\n");
    place.file("haft.yaml", "tools: {policy: full, rules: {allow: ['shell.exec(echo *)']}}\nruntime: {result_budget: 9000}\n");
    place.run(["trust", "--yes"]).exits(0);
    let shown = place.run(["config", "show", "--json"]).exits(0).json();
    assert_eq!(shown["tools"]["policy"], "full");
    assert_eq!(shown["runtime"]["result_budget"], 9000);
    let echo = json!({"command": "echo hi"});
    assert_eq!(verdict(&place.call("shell.exec", &echo, &[])), "ok");
    assert_eq!(
        verdict(&place.call("shell.exec", &echo, &["--profile", "minimal"])),
        "denied"
    );
    place.file("long", "word word\n".repeat(5000));
    let outcome = place.call("file.read", &json!({"path": "long"}), &["--budget", "700"]);
    assert!(crate::place::text(&outcome).len() <= 710);
}

#[test]
fn paths_show_and_schema() {
    let place = Place::new();
    let ran = place.run(["config", "path"]);
    let (owner, project) = (
        place.home.join("config.yaml"),
        place.workspace.join("haft.yaml"),
    );
    ran.exits(0)
        .says(owner.to_str().unwrap())
        .says(project.to_str().unwrap())
        .says("not there");
    place
        .run(["config", "check"])
        .exits(0)
        .says("defaults are in force");
    place.config("tools: {policy: coding}\n");
    place.run(["config", "check"]).exits(0).says("good");
    let ran = place.run(["config", "show"]);
    ran.exits(0).says("policy: coding");

    // What is shown is a config that haft reads.
    let again = Place::with_config(&ran.out);
    let json = |place: &Place| place.run(["config", "show", "--json"]).exits(0).json();
    assert_eq!(json(&again), json(&place));

    let schema = place.run(["config", "schema"]).exits(0).json();
    assert!(schema["$schema"].is_string());
    assert!(schema["properties"]["tools"].is_object());
    assert!(schema["properties"]["runtime"].is_object());
}

#[test]
fn without_a_config_changing_asks_and_reading_does_not() {
    let place = Place::new();
    for (tool, args, expected) in [
        ("file.read", json!({"path": "README.md"}), "ok"),
        ("file.list", json!({}), "ok"),
        ("system.info", json!({}), "ok"),
        ("file.write", json!({"path": "a", "content": "b"}), "denied"),
        (
            "file.edit",
            json!({"path": "README.md", "search": "a", "replace": "b"}),
            "denied",
        ),
        ("shell.exec", json!({"command": "true"}), "denied"),
    ] {
        assert_eq!(verdict(&place.call(tool, &args, &[])), expected, "{tool}");
    }
    assert_eq!(place.read("README.md"), "# a workspace\n");
    // Nothing was asked for, nothing was made but the record of it.
    for entry in std::fs::read_dir(&place.home).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            ["haft.db", "journal."]
                .iter()
                .any(|record| name.starts_with(record)),
            "{name}"
        );
    }
}

#[test]
fn a_home_that_others_can_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with_config("tools: {policy: full}\n");
    std::fs::set_permissions(&place.home, std::fs::Permissions::from_mode(0o777)).unwrap();
    place
        .run(["call", "system.info"])
        .exits(1)
        .says("others can write");
}
