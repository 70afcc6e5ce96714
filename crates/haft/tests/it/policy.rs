//! Profiles, hooks, levels of autonomy and rules, through the command line.

use serde_json::{Value, json};

use crate::place::{Place, verdict};

/// What policy says to a call: the verdict, from `policy explain`.
fn explained(place: &Place, tool: &str, args: Option<&Value>, flags: &[&str]) -> String {
    let args = args.map(Value::to_string);
    let mut line = vec!["policy", "explain", tool];
    line.extend(args.as_deref());
    line.push("--json");
    line.extend(flags);
    let explained = place.run(line).exits(0).json();
    assert!(!explained["reason"].as_str().unwrap().is_empty());
    for rule in explained["rules"].as_array().unwrap() {
        assert!(rule["rule"].is_string() && rule["from"].is_string() && rule["effect"].is_string());
    }
    explained["verdict"].as_str().unwrap().to_owned()
}

fn arguments(tool: &str) -> Value {
    match tool {
        "file.read" => json!({"path": "README.md"}),
        "file.write" => json!({"path": "out", "content": "x"}),
        "file.edit" => json!({"path": "README.md", "search": "a", "replace": "b"}),
        "shell.exec" => json!({"command": "true"}),
        "result.read" => json!({"handle": "r_none"}),
        _ => json!({}),
    }
}

/// One row a tool: what each of the columns says, and the call does as `explain` said.
#[track_caller]
fn check_table(place: &Place, columns: &[&[&str]], rows: &[(&str, &str)]) {
    for (tool, expected) in rows {
        let args = arguments(tool);
        let said: Vec<String> = columns
            .iter()
            .map(|flags| explained(place, tool, Some(&args), flags))
            .collect();
        assert_eq!(said.join(" "), *expected, "{tool}");
        for (flags, said) in columns.iter().zip(&said) {
            let outcome = place.call(tool, &args, &[*flags, &["--dry-run"]].concat());
            let would = outcome["meta"]["would"]
                .as_str()
                .unwrap_or("deny")
                .to_owned();
            let would = if would == "run without asking" {
                "allow"
            } else {
                would.split(':').next().unwrap()
            };
            assert_eq!(would, said, "{tool} {flags:?}: {outcome}");
            if said == "deny" {
                assert_eq!(verdict(&outcome), "denied", "{tool} {flags:?}");
            }
        }
    }
}

#[test]
fn profiles_and_tools() {
    check_table(
        &Place::new(),
        &[
            &["--profile", "minimal"],
            &["--profile", "messaging"],
            &["--profile", "coding"],
            &["--profile", "full"],
            &[],
        ],
        &[
            ("file.read", "deny deny allow allow allow"),
            ("file.list", "deny deny allow allow allow"),
            ("file.write", "deny deny ask ask ask"),
            ("file.edit", "deny deny ask ask ask"),
            ("shell.exec", "deny deny deny ask ask"),
            ("system.info", "allow allow allow allow allow"),
            ("result.read", "allow allow allow allow allow"),
        ],
    );
}

#[test]
fn levels_of_autonomy() {
    check_table(
        &Place::new(),
        &[
            &["--autonomy", "supervised"],
            &["--autonomy", "conservative"],
            &["--autonomy", "standard"],
            &["--autonomy", "guided"],
            &["--autonomy", "autonomous"],
        ],
        &[
            ("file.read", "allow allow allow allow allow"),
            ("file.list", "allow allow allow allow allow"),
            ("file.write", "ask ask ask ask allow"),
            ("file.edit", "ask ask ask ask allow"),
            ("shell.exec", "ask ask ask ask ask"),
            ("system.info", "allow allow allow allow allow"),
        ],
    );
}

#[test]
fn hooks_confirm() {
    let place = Place::with_config(
        "tools: {autonomy: autonomous, hooks: {confirm: ['file.*', system.info], silent: [file.read]}}\n",
    );
    check_table(
        &place,
        &[&[]],
        &[
            ("file.read", "ask"),
            ("file.write", "ask"),
            ("system.info", "ask"),
            ("result.read", "allow"),
        ],
    );
    let decision = place
        .run(["policy", "explain", "file.read", "--json"])
        .json()["decision"]
        .clone();
    assert_eq!(decision["action"], "confirm");
    assert_eq!(decision["level"], "autonomous");
    // Standard keeps its questions although a hook says silent.
    let place = Place::with_config("tools: {hooks: {silent: ['*']}}\n");
    check_table(
        &place,
        &[&[]],
        &[("file.write", "ask"), ("file.read", "allow")],
    );
    let decision = place
        .run(["policy", "explain", "file.write", "--json"])
        .json()["decision"]
        .clone();
    assert_eq!(decision["action"], "confirm");
    assert_eq!(decision["overridden"], true);
}

#[test]
fn own_profiles_groups_agents_and_providers() {
    let place = Place::with_config(
        "tools:
  policy: reader
  profiles:
    reader: {allow: ['group:reading', system.info]}
    writer: {allow: ['group:fs'], deny: [file.edit]}
  groups:
    reading: [file.read, file.list]
agents:
  scribe: {toolPolicy: writer}
  shy: {toolPolicy: {deny: [file.list]}}
  bold: {toolPolicy: {allow: [file.write]}, autonomy: autonomous}
providers:
  local: {allow: [file.read]}
  other: {deny: [system.info]}
",
    );
    check_table(
        &place,
        &[
            &[],
            &["--agent", "scribe"],
            &["--agent", "shy"],
            &["--agent", "bold"],
            &["--provider", "local"],
            &["--provider", "other"],
            &["--agent", "bold", "--provider", "local"],
            &["--agent", "nobody-special"],
        ],
        &[
            (
                "file.read",
                "allow allow allow allow allow allow allow allow",
            ),
            ("file.list", "allow allow deny allow deny allow deny allow"),
            ("file.write", "deny ask deny allow deny deny deny deny"),
            ("file.edit", "deny deny deny deny deny deny deny deny"),
            ("system.info", "allow deny allow allow deny deny deny allow"),
            ("shell.exec", "deny deny deny deny deny deny deny deny"),
        ],
    );
    for (flag, slip, meant) in [
        ("--agent", "scrib", "scribe"),
        ("--provider", "Local", "local"),
    ] {
        place
            .run(["policy", "explain", "file.read", flag, slip])
            .exits(2)
            .says(&format!("did you mean `{meant}`?"));
    }
}

#[test]
fn a_denied_command_is_denied_in_other_spellings() {
    let place = Place::with_config(
        "tools:
  rules:
    allow: ['shell.exec(git *)', 'shell.exec(ls *)']
    deny: ['shell.exec(git push *)', 'file.write(kept)']
",
    );
    place.file("kept/b", "b");
    for (line, expected) in [
        ("git push origin", "deny"),
        ("git p?sh origin", "deny"),
        ("git [p]ush origin", "deny"),
        ("git --no-pager push origin", "deny"),
        ("git -c a=b push", "deny"),
        ("git s*", "ask"),
        ("git log push", "allow"),
        ("echo x > kept/a", "deny"),
    ] {
        let args = json!({"command": line}).to_string();
        let explained = place.run(["policy", "explain", "shell.exec", &args, "--json"]);
        assert_eq!(explained.json()["verdict"], expected, "{line}");
    }
}

#[test]
fn rules_for_commands() {
    let place = Place::with_config(
        "tools:
  rules:
    allow: ['shell.exec(git status *)', 'shell.exec(ls *)', 'shell.exec(rm *)']
    ask: ['shell.exec(ls secret)']
    deny: ['shell.exec(rm -rf *)', 'shell.exec(curl *)']
",
    );
    for (line, expected) in [
        ("git status", "allow"),
        ("git status --short", "allow"),
        ("git push", "ask"),
        ("git -c core.pager=x status", "ask"),
        ("gitstatus", "ask"),
        ("git statusx", "ask"),
        ("ls", "allow"),
        ("ls && git status", "allow"),
        ("ls; whoami", "ask"),
        ("ls | wc", "ask"),
        ("ls secret", "ask"),
        ("ls $(whoami)", "ask"),
        ("ls `whoami`", "ask"),
        ("ls > out", "ask"),
        ("ls & whoami", "ask"),
        ("rm a", "allow"),
        ("rm -rf a", "deny"),
        ("ls && rm -rf a", "deny"),
        ("sudo rm -rf a", "deny"),
        ("bash -c 'rm -rf a'", "deny"),
        ("echo $(curl x)", "deny"),
        ("/usr/bin/curl x", "deny"),
        ("whoami", "ask"),
    ] {
        let said = explained(&place, "shell.exec", Some(&json!({ "command": line })), &[]);
        assert_eq!(said, expected, "{line}");
    }
    let ran = place.call("bash", &json!({"command": "ls"}), &[]);
    assert_eq!(verdict(&ran), "ok", "an allow rule needs nobody: {ran}");
}

#[test]
fn rules_for_files() {
    let place = Place::with_config(
        "tools:
  rules:
    allow: ['file.write(src/**)', 'file.write(.env)']
    ask: ['file.read(**/*.key)', 'file.write(src/locked/*)']
    deny: ['file.write(src/never/**)', 'file.read(hidden/**)']
",
    );
    place.file("src/never/a", "a");
    place.file("x/y", "");
    let write = |path: &str| json!({"path": path, "content": ""});
    let read = |path: &str| json!({ "path": path });
    for (tool, args, expected) in [
        ("file.write", write("src/a"), "allow"),
        ("file.write", write("src/b/c"), "allow"),
        ("file.write", write("other"), "ask"),
        ("file.write", write("src/locked/a"), "ask"),
        ("file.write", write("src/never/a"), "deny"),
        ("file.write", write("src/../other"), "ask"),
        ("file.write", write("x/../src/never/a"), "deny"),
        (
            "file.edit",
            json!({"path": "src/never/a", "search": "a", "replace": "b"}),
            "deny",
        ),
        ("file.read", read("a.key"), "ask"),
        ("file.read", read("src/never/a"), "allow"),
        ("file.read", read("hidden/a"), "deny"),
        ("file.list", read("hidden"), "deny"),
        ("file.read", read("other"), "allow"),
    ] {
        let said = explained(&place, tool, Some(&args), &[]);
        assert_eq!(said, expected, "{tool} {args}");
    }
}

/// A tool with allow patterns of which none matches is asked, also when autonomous.
#[test]
fn allow_patterns_make_the_rest_ask() {
    let place = Place::with_config(
        "tools: {autonomy: autonomous, rules: {allow: ['file.write(src/**)']}}\n",
    );
    let write = |path: &str| json!({"path": path, "content": ""});
    assert_eq!(
        explained(&place, "file.write", Some(&write("src/a")), &[]),
        "allow"
    );
    assert_eq!(
        explained(&place, "file.write", Some(&write("other")), &[]),
        "ask"
    );
}

#[test]
fn an_explanation_names_every_rule_that_led_to_it() {
    let place = Place::with_config(
        "tools: {deny: [shell.exec], rules: {deny: ['shell.exec(rm *)', shell.*]}}\n",
    );
    let ran = place.run([
        "policy",
        "explain",
        "shell.exec",
        r#"{"command":"rm x"}"#,
        "--json",
    ]);
    let explained = ran.exits(0).json();
    let rules = explained["rules"].to_string();
    for rule in ["tools: deny shell.exec", "shell.*"] {
        assert!(rules.contains(rule), "{rule}: {rules}");
    }
    assert!(rules.contains("config.yaml"), "{rules}");
    let ran = place.run(["policy", "explain", "Bash"]);
    ran.exits(0).says("shell.exec: refused").says("config.yaml");
    Place::new()
        .run(["policy", "explain", "shel.exec"])
        .exits(1)
        .says("shell.exec");
}

#[test]
fn module_constraints() {
    let place = Place::with_config(
        "tools: {modules: {filesystem: {constraints: {allowed_actions: [read, write], allowed_paths: ['src/**']}}, shell: {constraints: {blocked_actions: [exec]}}}}\n",
    );
    let check = |tool: &str, args: Value, expected: &str| {
        assert_eq!(
            explained(&place, tool, Some(&args), &[]),
            expected,
            "{tool} {args}"
        );
    };
    check("file.read", json!({"path": "src/a"}), "allow");
    check("file.read", json!({"path": "README.md"}), "deny");
    check("file.list", json!({}), "deny");
    check("shell.exec", json!({"command": "true"}), "deny");
    let tools = place.run(["tools"]);
    assert!(
        !tools.out.contains("\nshell.exec ") && !tools.out.contains("\nfile.list "),
        "{}",
        tools.out
    );
}

#[test]
fn a_place_outside_the_workspace_is_explained_as_a_deny() {
    let place = Place::new();
    let args = r#"{"path":"/etc/passwd","content":"x"}"#;
    let ran = place.run(["policy", "explain", "file.write", args, "--json"]);
    let told = ran.exits(0).json();
    assert_eq!(told["verdict"], "deny", "{told}");
    assert_eq!(told["rules"][0]["rule"], "workspace", "{told}");
    assert!(told["reason"].to_string().contains("/etc/passwd"), "{told}");
}
