//! What is told about tools, and what `doctor` and `--version` say.

use std::process::Command;

use serde_json::{Value, json};

use crate::place::Place;
use crate::pty::Terminal;

const TOOLS: [&str; 7] = [
    "file.read",
    "file.write",
    "file.edit",
    "file.list",
    "result.read",
    "shell.exec",
    "system.info",
];

#[test]
fn tools_are_listed_for_programs_and_for_people() {
    let place = Place::new();
    let tools = place.run(["tools", "--json"]).exits(0).json();
    let mut names = Vec::new();
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        names.push(name);
        // Tools about tools have the names of the documents, without their module's.
        let module = name.split_once('.').map_or("meta", |(module, _)| module);
        assert_eq!(tool["module"], module);
        assert!(tool["description"].as_str().unwrap().len() > 10, "{name}");
        assert_eq!(tool["input_schema"]["type"], "object", "{name}");
        assert_eq!(
            tool["input_schema"]["additionalProperties"], false,
            "{name}"
        );
        assert_eq!(tool["api_name"], name.replace('.', "__"));
        for key in [
            "title",
            "risk",
            "repeat",
            "capabilities",
            "aliases",
            "examples",
            "verdict",
        ] {
            assert!(tool.get(key).is_some(), "{name} lacks {key}");
        }
        for (parameter, schema) in tool["input_schema"]["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string(), "{name} {parameter}");
        }
    }
    for name in TOOLS {
        assert!(names.contains(&name), "{name} is not listed");
    }

    let ran = place.run(["tools"]);
    ran.exits(0);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(
        lines.len(),
        1 + names.len(),
        "one line a tool when piped: {}",
        ran.out
    );
    for name in names {
        assert!(lines.iter().any(|line| line.starts_with(name)), "{name}");
    }
}

#[test]
fn a_tool_that_is_not_available_is_not_listed_as_allowed() {
    let place = Place::with_config("isolation: {level: air-gapped}");
    let ran = place.run(["tools"]);
    let line = |name: &str| {
        let mut lines = ran.out.lines();
        let line = lines.find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let app = line("call_app");
    assert!(app.starts_with("call_app unavailable "), "{app}");
    assert!(app.ends_with("[no app is configured]"), "{app}");
    assert!(line("file.read").contains(" unavailable "), "{}", ran.out);
    assert!(line("system.info").contains(" allow "), "{}", ran.out);
    place
        .run(["tools", "show", "call_app"])
        .exits(0)
        .says("no app is configured");
}

#[test]
fn one_tool_is_shown_by_any_of_its_names() {
    let place = Place::new();
    for name in ["shell.exec", "Bash", "shell__exec", "SHELL.EXEC"] {
        let ran = place.run(["tools", "show", name]);
        ran.exits(0)
            .says("shell.exec")
            .says("command")
            .says("required")
            .says("Bash");
        let shown = place.run(["tools", "show", name, "--json"]).exits(0).json();
        assert_eq!(shown["name"], "shell.exec");
    }
    place
        .run(["tools", "show", "file.raed"])
        .exits(1)
        .says("file.read");
}

#[test]
fn schemas_of_a_module() {
    let place = Place::new();
    for module in ["file", "filesystem"] {
        let schemas = place.run(["tools", "schema", module]).exits(0).json();
        let names: Vec<&str> = schemas
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|one| one["name"].as_str())
            .collect();
        for name in ["file.read", "file.write", "file.edit", "file.list"] {
            assert!(names.contains(&name), "{name}");
        }
        assert!(
            names.iter().all(|name| name.starts_with("file.")),
            "{names:?}"
        );
        assert!(schemas[0]["input_schema"]["properties"]["path"].is_object());
    }
    place
        .run(["tools", "schema", "fiel"])
        .exits(1)
        .says("file")
        .says("shell");
}

/// What policy denies is not offered.
#[test]
fn the_list_is_what_this_caller_may_use() {
    let place = Place::new();
    let listed = |profile: &str| -> Vec<String> {
        let tools = place
            .run(["tools", "--json", "--profile", profile])
            .exits(0)
            .json();
        let names = tools.as_array().unwrap().iter();
        names
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(listed("full").contains(&"shell.exec".to_owned()));
    assert!(!listed("coding").contains(&"shell.exec".to_owned()));
    assert!(!listed("minimal").contains(&"file.write".to_owned()));
    for name in listed("minimal") {
        let explained = place.run(["policy", "explain", &name, "--profile", "minimal", "--json"]);
        assert_ne!(explained.exits(0).json()["verdict"], "deny", "{name}");
    }
}

#[test]
fn doctor_tells_what_is_in_force() {
    let place = Place::new();
    let config = place.home.join("config.yaml");
    place
        .run(["doctor"])
        .exits(0)
        .says("defaults are in force")
        .says("profile full")
        .says("autonomy standard")
        .says("quarantined  none");
    place.config("tools:\n  policy: coding\n  autonomy: supervised\n  deny: [system.info]\n  hooks: {confirm: [file.edit]}\n  rules:\n    allow: ['shell.exec(git status *)']\n    ask: ['file.read(**/.env)']\n    deny: ['file.write(/etc/**)']\n");
    place.file("haft.yaml", "tools: {deny: [file.list]}\n");
    let ran = place.run(["doctor"]);
    ran.exits(0)
        .says(config.to_str().unwrap())
        .says("not trusted")
        .says("profile coding")
        .says("autonomy supervised")
        .says("deny system.info")
        .says("file.edit")
        .says("shell.exec(git status *)")
        .says("file.read(**/.env)")
        .says("file.write(/etc/**)")
        .says("deny file.list")
        .says("process yes")
        .says("network no")
        .says("nobody");
    let report = place.run(["doctor", "--json"]).exits(0).json();
    assert_eq!(report["quarantined"], json!([]));
    assert!(report["tools"].as_u64().unwrap() >= 7);
    assert_eq!(report["config"][0]["path"], config.to_str().unwrap());
    assert_eq!(report["config"][1]["trusted"], false);
    let rules: Vec<&str> = report["rules"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|hit| hit["rule"].as_str())
        .collect();
    assert!(rules.contains(&"file.write(/etc/**)"), "{rules:?}");
}

#[test]
fn version_names_the_commit() {
    let place = Place::new();
    let ran = place.run(["--version"]);
    let version = ran.exits(0).out.trim().to_owned();
    let commit = version
        .strip_prefix(&format!("haft {} (", env!("CARGO_PKG_VERSION")))
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or_else(|| panic!("{version}"));
    let head = Command::new("git")
        .args(["rev-parse", "HEAD"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    // Without a repository, as in a source archive, there is no commit to name.
    match head.ok().filter(|output| output.status.success()) {
        Some(output) => {
            let head = String::from_utf8(output.stdout).unwrap();
            let named = commit.split(['-', '+', ' ']).next().unwrap();
            assert!(
                named.len() >= 7 && head.starts_with(named),
                "{commit} is not {head}"
            );
        }
        None => assert!(!commit.is_empty()),
    }
}

#[test]
fn colours_are_for_terminals_only() {
    let place = Place::new();
    let escape = '\u{1b}';
    let explain = ["policy", "explain", "shell.exec", "--profile", "coding"];
    let commands: [&[&str]; 4] = [
        &explain,
        &["doctor"],
        &["tools", "show", "file.read"],
        &["call", "nope"],
    ];
    for args in commands {
        let ran = place.run(args);
        assert!(
            !ran.out.contains(escape) && !ran.err.contains(escape),
            "{ran:?}"
        );
        let (_, shown) = Terminal::start(&place, args, &[]).end();
        assert!(shown.contains(escape), "{args:?}: {shown}");
        let (_, shown) = Terminal::start(&place, args, &[("NO_COLOR", "1")]).end();
        assert!(!shown.contains(escape), "{args:?} with NO_COLOR: {shown:?}");
    }
}

/// Some terminals say that they are 0 columns wide; `script` makes one of those.
#[test]
fn a_terminal_without_a_width_gets_readable_tables() {
    let place = Place::new();
    let (code, shown) = Terminal::start(&place, &["tools"], &[("NO_COLOR", "1")]).end();
    assert_eq!(code, 0);
    assert!(
        shown.contains("Read a file: text with line numbers"),
        "{shown}"
    );
}

/// A file may hold what would repaint a terminal; a pipe gets it as it is.
#[test]
fn control_characters_reach_pipes_and_not_terminals() {
    let place = Place::new();
    place.file("evil.txt", "a\u{1b}[2Jb\u{202e}c\n");
    let args = ["call", "file.read", r#"{"path":"evil.txt"}"#];
    let (_, shown) = Terminal::start(&place, &args, &[]).end();
    assert!(
        !shown.contains("\u{1b}[2J") && !shown.contains('\u{202e}'),
        "{shown:?}"
    );
    assert!(place.run(args).out.contains("\u{1b}[2J"));
}

#[test]
fn json_is_plain_on_a_terminal_too() {
    let place = Place::new();
    let (code, shown) = Terminal::start(&place, &["tools", "--json"], &[]).end();
    assert_eq!(code, 0);
    let tools: Value = serde_json::from_str(&shown).unwrap();
    assert!(tools.as_array().unwrap().len() >= 7);
}
